#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A failure stands until its own test has passed there: a plan that never had that test, has lost it, or tests less of it clears nothing.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<YAML
scenario: a broken element, and a broken cell
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-1/chip3/core5/pe17.93, kind: product-stuck, bit: 9, value: 1}
  - {at: us0-2/chip5/hbm2/ch3/pc1/sid0/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"

# plan NAME STAGE STEPS…: as lines of YAML.
plan() {
        local file=$stage/plans/$1.yaml

        printf 'plan: %s\nsummary: a plan\nstage: %s\nsteps:\n' "$1" "$2" >"$file"
        shift 2
        printf '  - %s\n' "$@" >>"$file"
}
plan arrays PREFLIGHT '{check: identity}' '{check: systolic, parameters: {patterns: structure}}'
plan tiny PREFLIGHT '{check: identity}'
plan burn BURNIN '{check: identity}'
plan memory PREFLIGHT '{check: hbm}'
plan slice PREFLIGHT '{check: hbm, parameters: {slices: 32, seconds: 0.01}}'
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_daemon us0-1 us0-2
assayctl keys show >"$stage/station.keyring"

newest() { assayctl --json records 0 10000 | jq "[.[] | select(.type == \"health:v2\" and .subject == \"$1\") | .index] | max"; }
# refers INDEX: the earlier record, and the failure that stood, that record INDEX refers to.
refers() { assayctl export "$1" | jq -r .payload | base64 -d | jq -c '.predicate | [.earlier, .standing]'; }

element="FAILED: us0-1: chip3 systolic: systolic-pe at core5/pe17.93"
cleared=" (memory; cleared by --plan memory)"
cell="FAILED: us0-2: chip5 hbm: hbm-cell at hbm2/ch3/pc1/sid0/bg2/ba1/row4711/col12/bit77"

expect 0 "memory alone is looked at, for a repair" assayctl scan us0-1/chip7 --plan repair
gates 2 "us0-1/chip7: no whole scan: 'repair' looks at a part alone. Next: assayctl scan us0-1" "which passes no chip that nothing else has scanned" us0-1/chip7
expect 0 "unless it is asked for" assayctl gate us0-1/chip7 --plan repair
expect 0 "or in service" assayctl scan us0-1/chip7 --plan infleet
gates 2 "us0-1/chip7: no whole scan: 'infleet' looks at a part alone" "nor does that" us0-1/chip7
expect 2 "nor the server" assayctl gate us0-1
for unknown in "" --unknown=pass --unknown=fail; do
        expect 64 "a plan that does not exist $unknown" assayctl gate us0-1 --plan preflihgt $unknown
        has "us0-1: no record, and no plan is called 'preflihgt'"
        has "did you mean 'preflight'?"
done
expect 64 "nor of a chip" assayctl gate us0-1/chip3 --plan preflihgt --unknown=pass
has "us0-1/chip3: no record, and no plan is called"
expect 1 "nor for who knows no 64" assayctl gate us0-1 --plan preflihgt --unknown=pass --npd

expect 1 "an element is broken" assayctl scan us0-1 --plan arrays
broken=$(newest us0-1/chip3)
[ "$(refers "$broken")" = '[null,null]' ] || bad "the first record of a chip refers to $(refers "$broken")"
expect 0 "a plan without arrays passes" assayctl scan us0-1 --plan tiny
gates 1 "$element" "which does not clear the element" us0-1
gates 1 "FAILED: us0-1/chip3 systolic: systolic-pe at core5/pe17.93" "nor its chip" us0-1/chip3
expect 0 "targets says it too" assayctl targets
has "FAILED"
expect 0 "one chip is scanned by a deeper plan without arrays" assayctl scan us0-1/chip3 --plan burn
gates 1 "$element" "which does not clear it either" us0-1
plan arrays PREFLIGHT '{check: identity}'
expect 0 "the plan loses its arrays" assayctl scan us0-1 --plan arrays
gates 1 "$element" "and clears nothing by that" us0-1 --plan arrays
expect 1 "which is said" assayctl gate us0-1
has "(arrays; cleared by a plan with its step systolic, which arrays has no longer) rec="
mv "$stage/plans/arrays.yaml" "$stage/arrays.away"
expect 1 "as it is of a plan that has gone" assayctl gate us0-1/chip3
has "(arrays; cleared by --plan arrays, of which there is no file here) rec="
mv "$stage/arrays.away" "$stage/plans/arrays.yaml"
plan arrays PREFLIGHT '{check: identity}' '{check: systolic, name: elements, parameters: {patterns: structure}}'
"$1/sim/assay-sim" heal us0-1/chip3/core5/pe17.93 --socket "$stage/sim.socket"
expect 0 "its test is called otherwise" assayctl scan us0-1 --plan arrays
gates 1 "$element" "and is taken for another one" us0-1
kill -9 "$stage_daemon_pid"
wait "$stage_daemon_pid" 2>/dev/null || true
stage_daemon us0-1 us0-2
gates 1 "$element" "as a daemon that comes back knows" us0-1
plan arrays PREFLIGHT '{check: systolic, parameters: {patterns: structure}}' '{check: identity}'
before=$(newest us0-1/chip3)
expect 0 "until it is there again" assayctl scan us0-1 --plan arrays
proof=$(newest us0-1/chip3)
[ "$(refers "$proof")" = "[$before,$broken]" ] || bad "the proof of the repair refers to $(refers "$proof"), not to $before and $broken"
expect 0 "the record names the failure" assayctl verify "$proof"
has ", after the failure in record $broken"
gates 0 "PASSED: us0-1: 16 chips passed" "and has passed" us0-1
expect 0 "by its name" assayctl gate us0-1
has " plan=arrays"
expect 0 "it is scanned once more" assayctl scan us0-1/chip3 --plan arrays
[ "$(refers "$(newest us0-1/chip3)")" = "[$proof,null]" ] || bad "what was cleared is referred to again"
rm "$stage/plans/arrays.yaml"
expect 0 "which its records still have when its file has gone" assayctl gate us0-1 --plan arrays

expect 1 "a cell is broken" assayctl scan us0-2 --plan memory
expect 0 "a plan of its stage tests one region of 96" assayctl scan us0-2 --plan slice
gates 1 "$cell" "in which the cell is not" us0-2
expect 1 "and who asks is told what clears it" assayctl gate us0-2
has "$cell$cleared rec="
expect 0 "a region more" assayctl scan us0-2 --plan slice
gates 1 "$cell" "nor in that" us0-2
"$1/sim/assay-sim" heal us0-2/chip5/hbm2/ch3/pc1/sid0/bg2/ba1/row4711/col12/bit77 --socket "$stage/sim.socket"
expect 0 "all of the memory is tested" assayctl scan us0-2 --plan memory
gates 0 "PASSED: us0-2: 16 chips passed" "which clears it" us0-2

done_expecting
