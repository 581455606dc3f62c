#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What only flows between servers, or the serial numbers of another server, show of a chip is cleared by no scan without that server;
# what its own server shows is.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<YAML
scenario: an adapter that is too late for those of other servers alone, one that is for all, and a serial number that two servers have
seed: 3
topology: {ultraservers: 1}
faults:
  - {at: us0-1/chip5/nic5, kind: path-delay, nsec: 7000}
  - {at: us0-1/chip9/nic9, kind: path-delay, nsec: 90000}
  - {at: us0-2/chip6, kind: serial-duplicate, server: us0-1, of: 2}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"
printf 'plan: flows\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: identity}, {check: efa}]\n' >"$stage/plans/flows.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon us0-0 us0-1 us0-2 us0-3

# scans STATUS SENTENCE TARGET...
scans() {
        local status=$1 sentence=$2
        shift 2
        expect "$status" "$sentence" assayctl scan "$@" --plan flows
}
# gates STATUS LINE SENTENCE TARGET
gates() {
        expect "$1" "$3" assayctl gate "$4"
        has "$2"
}

scans 1 "all servers" us0
gates 1 "FAILED: us0-1/chip5 efa: efa-slow at nic5 (" "an adapter is late for other servers" us0-1/chip5
gates 1 "FAILED: us0-1/chip9 efa: efa-slow at nic9 (" "another one for all" us0-1/chip9
gates 1 "FAILED: us0-1/chip2 identity: identity-duplicate (" "a chip has the serial of one of another server" us0-1/chip2
gates 1 "FAILED: us0-2/chip6 identity: identity-" "which is told there, too" us0-2/chip6

"$1/sim/assay-sim" heal us0-1/chip9/nic9 --socket "$stage/sim.socket"
scans 0 "its server alone" us0-1
gates 1 "FAILED: us0-1/chip5 efa: efa-slow at nic5, efa: left out since, needs us0-2 (" "shows nothing of the first" us0-1/chip5
gates 1 "FAILED: us0-1/chip2 identity: identity-duplicate, identity: left out since, needs us0-2 (" "nor of the serial" us0-1/chip2
gates 1 "FAILED: us0-1" "so the server stands by what it passed" us0-1
gates 0 "PASSED: us0-1/chip9: 2 tests passed" "it clears what it would have shown" us0-1/chip9

scans 2 "two servers without that of the serial" us0-1 us0-0
gates 1 "FAILED: us0-1/chip2 identity: identity-duplicate, identity: left out since, needs us0-2 (" "show nothing of it" us0-1/chip2
scans 0 "nor does that with others" us0-2 us0-3
gates 1 "identity: left out since, needs us0-1" "so it stands at both ends" us0-2/chip6

"$1/sim/assay-sim" heal all --socket "$stage/sim.socket"
scans 0 "both" us0-1 us0-2
gates 0 "PASSED: us0-1/chip2: 2 tests passed" "clear the serial" us0-1/chip2
gates 0 "PASSED: us0-2/chip6: 2 tests passed" "at both" us0-2/chip6
gates 0 "PASSED: us0-1/chip5: 2 tests passed" "and the adapter" us0-1/chip5
scans 0 "all servers" us0
gates 0 "PASSED: us0: 64 chips passed" "nothing stands" us0

done_expecting
