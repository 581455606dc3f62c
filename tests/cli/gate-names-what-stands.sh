#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gate names the finding that stands, and not one beside it that a newer scan has cleared, why it stands, and a plan that clears it; a scan that passes what
# stands FAILED by an earlier one says so.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<YAML
scenario: a broken cable between servers, and a dead column
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-0/chip0/link-z+, kind: cable-broken}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"
printf 'plan: rings\nsummary: links\nstage: PREFLIGHT\nsteps: [{check: neuronlink}, {check: collective, parameters: {operations: few, sizes: few}}]\n' \
        >"$stage/plans/rings.yaml"
printf 'plan: memory\nsummary: memory\nstage: PREFLIGHT\nsteps: [{check: hbm}]\n' >"$stage/plans/memory.yaml"
printf 'plan: mend\nsummary: memory for a repair\nstage: REPAIR\nsteps: [{check: hbm, parameters: {repair: request}}]\n' >"$stage/plans/mend.yaml"
printf 'plan: tiny\nsummary: who it is\nstage: PREFLIGHT\nsteps: [{check: identity}]\n' >"$stage/plans/tiny.yaml"
printf 'plan: deep\nsummary: links\nstage: PRODUCTION\nsteps: [{check: identity}, {check: neuronlink}]\n' >"$stage/plans/deep.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon us0-0 us0-1 us0-2 us0-3
assayctl keys show >"$stage/station.keyring"
inject() {
        "$assay_sim" inject "$@" --socket "$stage/sim.socket" >"$stage/number"
}
heal() {
        "$assay_sim" heal "$@" --socket "$stage/sim.socket"
}
assay_sim=$1/sim/assay-sim

expect 1 "a broken cable" assayctl scan us0 --plan rings
expect 1 "fails the chip at its end" assayctl gate us0-0/chip0
has "FAILED: us0-0/chip0 neuronlink: link-down at link-z+ and 1 more (rings; cleared by --plan rings)"
heal us0-0/chip0/link-z+
inject '{at: us0-2/chip5/link-z+, kind: cable-broken}'
expect 1 "it was repaired, and another one breaks, so that no collective of all servers takes place" assayctl scan us0 --plan rings
for more in "" "--keyring $stage/station.keyring"; do
        # shellcheck disable=SC2086
        expect 1 "the chip stands by what was not looked at again $more" assayctl gate us0-0/chip0 $more
        has "FAILED: us0-0/chip0 collective: collective-hang"
        has "collective: left out since (rings; cleared by --plan rings)"
        ! grep -q "link-down\|more" "$out" || bad "and names the link, which has passed"
done
expect 1 "the server's line names it too" assayctl gate us0-0
has "FAILED: us0-0: chip0 collective: collective-hang"
expect 1 "as the bus does" assayctl verdict us0-0/chip0
has "collective: left out since"
[ "$(dbus-send --bus="$bus" --print-reply --dest=org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager.GetVerdict string:us0-0/chip0 string: uint64:0 uint64:0 |
        grep -c "collective: left out since")" = 1 ] || bad "the daemon says otherwise"

expect 0 "a scan of who the chips are" assayctl scan us0-0 us0-1 --plan tiny
has "32 PASSED"
has "gate: us0-0/chip0 stands FAILED (rings): collective: collective-hang"
heal us0-2/chip5/link-z+
expect 0 "with all cables right" assayctl scan us0 --plan rings
! grep -q "^gate:" "$out" || bad "something stands"
expect 0 "it is cleared" assayctl gate us0

column=us0-1/chip2/hbm0/ch1/pc0/sid0/bg1/ba2/col9/bit3
inject "{at: $column, kind: column-select}" || bad "the column"
expect 1 "a dead column" assayctl scan us0-1/chip2 --plan memory
expect 1 "fails the repair" assayctl scan us0-1/chip2 --plan mend
! grep -q "^gate:" "$out" || bad "what the scan itself has told is told again"
expect 1 "what clears it is the plan that looks at the whole chip" assayctl gate us0-1/chip2
has "(memory; cleared by --plan memory) rec="
heal "$column"
expect 0 "memory mended" assayctl scan us0-1/chip2 --plan memory
expect 0 "that clears both" assayctl gate us0-1/chip2
expect 0 "as the repair's own failure" assayctl gate us0-1/chip2 --plan memory

expect 2 "a chip alone, by a plan that looks deeper than any before" assayctl scan us0-3/chip4 --plan deep
expect 2 "is not known by that" assayctl gate us0-3/chip4
has "INCONCLUSIVE: us0-3/chip4: not tested: neuronlink"
has "plan=deep. Next: assayctl scan us0-3 --plan deep"
expect 2 "device time for a part of the memory" assayctl scan us0-3/chip4 --plan memory --budget 1
has "raise the budget"
! grep -q "scan again" "$out" || bad "which would come to the same"

done_expecting
