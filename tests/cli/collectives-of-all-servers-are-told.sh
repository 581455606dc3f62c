#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A slow link between servers hides no chip that stalls, and collectives of an UltraServer that did not take place stand in scan, gate and record; what only
# these show is cleared by no scan of one server.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<YAML
scenario: a link at half its lanes, and a chip that stalls in collectives of all servers
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-1/chip5/link-z+, kind: link-narrowed, width: 8}
  - {at: us0-2/chip7, kind: collective-stall, step: 41}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"
printf 'plan: rings\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: identity}, {check: collective, parameters: {operations: few, sizes: few}}]\n' \
        >"$stage/plans/rings.yaml"
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_daemon us0-0 us0-1 us0-2 us0-3

inject() {
        "$assay_sim" inject "$@" --socket "$stage/sim.socket" >"$stage/number"
}
heal() {
        "$assay_sim" heal "$@" --socket "$stage/sim.socket"
}
assay_sim=$1/sim/assay-sim

# gates STATUS LINE SENTENCE TARGET
gates() {
        expect "$1" "$3" assayctl gate "$4"
        has "$2"
}

# Of the newest record of a chip: how often it tells that measurement of the step.
tells() {
        { assayctl --json verify "$(assayctl verdict "$1" --json | jq .record)" || true; } |
                jq --arg name "$2" '[.statement.predicate.steps[].measurements[]? | select(.name == $name and .value == 1)] | length'
}

expect 1 "a slow link and a stalled chip" assayctl scan us0
has "us0-2/chip7 FAILED  collective-hang"
has "us0-1/chip5 FAILED  collective-slow"
has "collective on 64 chips (in no collective with all others of the UltraServer)"
gates 1 "FAILED: us0-2/chip7 collective: collective-hang" "the stalled chip is told beside the slow link" us0-2/chip7
gates 1 "FAILED: us0: " "and the UltraServer has failed" us0
gates 0 "PASSED: us0-3/chip1: 11 tests passed, collective: 1 left out" "a chip of which nothing is wrong passes, and says what it was not in" us0-3/chip1
gates 0 "PASSED: us0-3: 16 chips passed, collective: 16 left out" "so does its server" us0-3
gates 0 "PASSED: us0-0: 16 chips passed, collective: 16 left out" "and the one that tells of them all, in chips as well" us0-0
[ "$(tells us0-3/chip1 collective_untested_together)" = 1 ] || bad "its record does not tell"
[ "$(tells us0-2/chip7 collective_found_together)" = 1 ] || bad "the record of the stalled chip does not tell what it took to see it"

heal us0-2/chip7
expect 0 "one server is scanned alone" assayctl scan us0-3
has "collective on us0-3/chip0-15 (in no collective with all others of the UltraServer)"
has "Not tested: efa on us0-3 (paths to and from other servers, none of which is scanned together with it)"
expect 0 "explain says it of the server, too" assayctl explain "$({ assayctl verdict us0-3 --json || true; } | jq .record)"
has "Not tested: efa (paths to and from other servers, none of which is scanned together with it)"
gates 0 "collective: 16 left out" "of which collectives with the others are no part" us0-3
gates 0 "neuronlink: 32 left out" "nor are links to them" us0-3
expect 0 "the server of the stalled chip alone" assayctl scan us0-2
gates 1 "FAILED: us0-2/chip7 collective: collective-hang" "which plays nothing that would show it" us0-2/chip7
expect 0 "and so by another plan" assayctl scan us0-2 --plan rings
gates 1 "FAILED: us0-2/chip7 collective: collective-hang" "nor does that" us0-2/chip7
heal us0-1/chip5/link-z+
expect 0 "all servers" assayctl scan us0
gates 0 "PASSED: us0: 64 chips passed rec=" "clear it" us0
gates 0 "PASSED: us0-2/chip7: 11 tests passed, after the failure in record " "and nothing was left out" us0-2/chip7

inject '{at: us0-2/chip7, kind: collective-stall, step: 3}'
expect 1 "a chip stalls in collectives of its own server" assayctl scan us0 --plan rings
gates 1 "FAILED: us0-2/chip7 collective: collective-hang" "which is told" us0-2/chip7
heal us0-2/chip7
expect 0 "that server alone" assayctl scan us0-2 --plan rings
gates 0 "PASSED: us0-2/chip7: 2 tests passed, collective: 1 left out" "clears it" us0-2/chip7

inject '{at: us0-2/chip7, kind: collective-stall, step: 3}'
expect 1 "it stalls again" assayctl scan us0 --plan rings
heal us0-2/chip7
inject '{at: us0-0/chip2, kind: collective-stall, step: 4}'
expect 1 "and when it is well, another chip stops what all are in" assayctl scan us0 --plan rings
gates 0 "PASSED: us0-2/chip7: 2 tests passed, collective: 1 left out" "its own collectives have passed" us0-2/chip7
gates 1 "FAILED: us0-0/chip2" "and the other has failed" us0-0/chip2

kill -9 "$stage_daemon_pid"
wait "$stage_daemon_pid" 2>/dev/null || true
sed -i "s/us0-3\]/us0-3, us0-4]/" "$stage/assayd.yaml"
stage_daemon
expect 64 "five servers that are called as of one UltraServer are no scan of it" assayctl scan us0
has "us0 has 5 servers by their names, and an UltraServer has 4"
expect 0 "one of them can be scanned" assayctl scan us0-3 --plan rings

done_expecting
