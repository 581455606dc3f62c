#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A server, and an UltraServer, is fit if all its chips are and what lies between them: whatever was scanned last, and whoever says so.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<YAML
scenario: two broken chips in one of two servers
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-1/chip3/core5/pe17.93, kind: product-stuck, bit: 9, value: 1}
  - {at: us0-1/chip12/core2/pe1.1, kind: product-stuck, bit: 9, value: 1}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"
for plan in quick deep; do
        cat >"$stage/plans/$plan.yaml" <<YAML
plan: $plan
summary: arrays and adapters
stage: $([ $plan = quick ] && echo PREFLIGHT || echo PRODUCTION)
steps:
  - check: identity
  - check: systolic
    parameters: {patterns: structure}
  - check: efa
coverage: {efa_packets_accounted: 100}
YAML
done
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_daemon us0-0 us0-1
assayctl keys show >"$stage/station.keyring"

gates 2 "us0-0: never scanned. Next: assayctl scan us0-0" "a server that nobody scanned is unknown" us0-0
expect 2 "one chip of it" assayctl scan us0-0/chip2 --plan deep
gates 2 "us0-0: no scan of all its chips tells of what lies between them; 16 more unknown" "which clears no server" us0-0
expect 0 "all of it" assayctl scan us0-0 --plan deep
gates 0 "PASSED: us0-0: 16 chips passed" "which does" us0-0
rec=$(grep -o 'rec=.*' <(assayctl gate us0-0))
expect 2 "a scan of one chip without its adapters cannot tell of these" assayctl scan us0-0/chip2 --plan quick
gates 0 "PASSED: us0-0: 16 chips passed, efa: 1 left out $rec" "and takes no pass away" us0-0
gates 0 "PASSED: us0-0/chip2: " "nor from the chip" us0-0/chip2
gates 0 "PASSED: us0-0: 16 chips passed, efa: 1 left out $rec" "nor under the plan that passed" us0-0 --plan deep
gates 2 "us0-0: no scan of all its chips tells of what lies between them; 16 more unknown" "but what that plan never saw it does not know" us0-0 --plan quick

expect 1 "a server with two broken chips" assayctl scan us0-1 --plan quick
line="FAILED: us0-1: chip3 systolic: systolic-pe at core5/pe17.93; 1 more failed"
gates 1 "$line" "names the first of them" us0-1
gates 1 "FAILED: us0: us0-1/chip3 systolic: systolic-pe at core5/pe17.93; 1 more failed" "and so does its UltraServer" us0
expect 2 "another chip is scanned" assayctl scan us0-1/chip5 --plan quick
gates 1 "$line" "which hides none of them" us0-1
"$1/sim/assay-sim" heal us0-1/chip3/core5/pe17.93 --socket "$stage/sim.socket"
expect 2 "one chip is mended and scanned alone" assayctl scan us0-1/chip3 --plan quick
gates 1 "FAILED: us0-1: chip12 systolic: systolic-pe at core2/pe1.1; 1 unknown" "and the other is named" us0-1
expect 1 "as JSON there is all of it" assayctl gate us0-1 --json
query '.verdict == "FAILED" and .plan == "quick" and .record > 0 and (.sha256 | length) == 64 and .age_sec > 0 and .status == 1 and
       .parts == {"PASSED": 15, "FAILED": 1, "INCONCLUSIVE": 1} and .chips == {"PASSED": 14, "FAILED": 1, "INCONCLUSIVE": 1}'
"$1/sim/assay-sim" heal us0-1/chip12/core2/pe1.1 --socket "$stage/sim.socket"
expect 0 "all of it is scanned" assayctl scan us0-1 --plan quick
gates 0 "PASSED: us0-1: 16 chips passed" "and fit" us0-1
gates 0 "PASSED: us0: 32 chips passed" "as all of the UltraServer is" us0
expect 0 "as JSON likewise" assayctl gate us0 --json
query '.parts == {"PASSED": 34} and .chips == {"PASSED": 32}'
cat >"$stage/plans/between.yaml" <<YAML
plan: between
summary: what lies between chips
stage: PRODUCTION
steps: [{check: identity}, {check: neuronlink}, {check: collective, parameters: {operations: few, sizes: few}}, {check: efa}]
coverage: {neuronlink_ports_tested: 4, collective_bytes_compared: 1000, efa_packets_accounted: 1000}
YAML
expect 0 "all links and adapters of a server" assayctl scan us0-0 --plan between
expect 2 "two chips of it, with one link" assayctl scan us0-0/chip5 us0-0/chip6 --plan between
has "Not tested: efa on us0-0/chip5-6 (14 adapters of the server that were not asked for)"
last=$(grep -o 'assayctl verify [0-9]*' "$out" | grep -o '[0-9]*$')
gates 0 "PASSED: us0-0/chip5: " "take no pass away" us0-0/chip5
gates 0 "PASSED: us0-0: 16 chips passed" "nor from the server" us0-0
expect 0 "and the record of one says what is to be done" assayctl explain $((last - 1))
has "To do: scan whole server"
! grep -q "scan again" "$out" || bad "and something else"
expect 2 "two chips of it, with none" assayctl scan us0-0/chip5 us0-0/chip15 --plan between
gates 0 "PASSED: us0-0/chip5: " "do neither" us0-0/chip5
"$1/sim/assay-sim" inject '{at: us0-0/chip5/nic5, kind: nic-counter-stuck}' --socket "$stage/sim.socket" >/dev/null || bad "no fault"
expect 1 "an adapter that is broken" assayctl scan us0-0 --plan between
"$1/sim/assay-sim" heal us0-0/chip5/nic5 --socket "$stage/sim.socket"
expect 2 "is mended, and tried with one other" assayctl scan us0-0/chip5 us0-0/chip6 --plan between
gates 1 "FAILED: us0-0/chip5 efa: " "which is not all that it failed at" us0-0/chip5
expect 0 "but the whole server is" assayctl scan us0-0 --plan between
gates 0 "PASSED: us0-0/chip5: " "which clears it" us0-0/chip5
kill -9 "$stage_daemon_pid"
wait "$stage_daemon_pid" 2>/dev/null || true
stage_daemon us0-0 us0-1
gates 0 "PASSED: us0: 32 chips passed" "which a daemon that comes back knows" us0
sleep 1.1
expect 2 "one chip is scanned anew" assayctl scan us0-1/chip5 --plan quick
gates 2 "us0-1: record " "each part has its own age" us0-1 --max-age 1s
expect 2 "all of it is needed for what lies between" assayctl gate us0-1/chip6 --max-age 1s

# Who says so.
told() { "$stage_build/cli/assayctl" --bus "unix:path=$stage/liars" --no-pager "$@"; }
sed "s#$stage/bus<#$stage/liars<#" "$stage/bus.conf" >"$stage/liars.conf"
dbus-daemon --config-file="$stage/liars.conf" --nofork >"$stage/liars.log" 2>&1 &
stage_pids+=($!)
stage_await "the other bus" test -S "$stage/liars"
liar() {
        [ -z "${liar_pid:-}" ] || { kill "$liar_pid"; wait "$liar_pid" 2>/dev/null || true; }
        "$stage_build/tests/cli/lying-daemon" "$bus" "unix:path=$stage/liars" "$@" >"$stage/liar.log" 2>&1 &
        liar_pid=$!
        stage_pids+=("$liar_pid")
        stage_await "the liar" told targets
}
assayctl records 0 10000 --json >"$stage/records"
passed=$(jq '[.[] | select(.subject == "us0-1" and .result == "PASSED")][-1].index' "$stage/records")
failed=$(jq '[.[] | select(.subject == "us0-1/chip12" and .result == "FAILED")][-1].index' "$stage/records")
alone=$(jq '[.[] | select(.subject == "us0-1" and .result == "INCONCLUSIVE")][-1].index' "$stage/records")
older=$(jq '[.[] | select(.subject == "us0-0/chip7")][-1].index' "$stage/records")
early=$(jq '[.[] | select(.subject == "us0-1/chip9")][0].index' "$stage/records")
liar
expect 0 "who lies about nothing" told gate us0-1
liar hidden=us0-1/chip12
expect 2 "a chip of which nothing is told" told gate us0-1
has "us0-1: chip12: assayd tells nothing of it"
liar hidden=us0-1
expect 2 "or what lies between chips" told gate us0-1
has "us0-1: assayd tells nothing of it"
liar part=us0-1 record="$alone" verdict=PASSED
expect 2 "a scan of one chip for one of all" told gate us0-1
has "no scan of all its chips"
liar part=us0-1/chip12 record="$failed" verdict=PASSED
expect 1 "a failure that is called a pass" told gate us0-1
has "FAILED: us0-1: chip12 systolic"
liar part=us0-1/chip7 record="$older"
expect 3 "the pass of another chip" told gate us0-1
has "us0-1: chip7: record $older is about us0-0/chip7"
liar part=us0-1/chip9 record="$early"
expect 2 "an earlier pass than the one that the roll-up names" told gate us0-1
has "us0-1: chip9: record $early is not its newest"
liar part=us0-1/chip9 verdict=FAILED
expect 2 "worse than its record" told gate us0-1
has "says PASSED, and assayd FAILED"
kill "$stage_sim_pid"
wait "$stage_sim_pid" 2>/dev/null || true
sed '/^faults:/,$d' "$stage/server.yaml" >"$stage/busy.yaml"
echo 'occupied: [us0-1/chip9]' >>"$stage/busy.yaml"
stage_sim sim "$stage/busy.yaml"
expect 2 "a chip that carries work is not known" assayctl scan us0-1 --plan quick
sleep 1.1 # the checkpoint
liar
expect 2 "by who lies about nothing" told gate us0-1
passed=$(jq '[.[] | select(.subject == "us0-1/chip9" and .result == "PASSED")][-1].index' "$stage/records")
liar part=us0-1/chip9 record="$passed" verdict=PASSED
expect 2 "nor by who points at what it was before" told gate us0-1 --keyring "$stage/station.keyring"
has "us0-1: chip9: record $passed is not its newest"
liar part=us0-1 record="$failed"
expect 3 "a chip for its server" told gate us0-1 --keyring "$stage/station.keyring"

done_expecting
