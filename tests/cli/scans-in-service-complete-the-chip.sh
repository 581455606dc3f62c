#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Scans in service, one after another, beside jobs that come and go: they leave live data alone, go on where the last one
# stopped whatever becomes of the daemon, and complete the chip. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/service.yaml" <<YAML
scenario: jobs on some chips
seed: 11
topology: {servers: 1}
occupied: [trn-0/chip1]
in-use:
  - {at: trn-0/chip2/hbm3, rows: "0:0-511,1:1024-9000"}
faults:
  - {at: trn-0/chip3/hbm2/ch3/pc1/sid1/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}
YAML
stage_sim sim "$stage/service.yaml"
# Eight slices of each of three SIDs; a scan has the time of seven.
mkdir "$stage/plans"
cat >"$stage/plans/slow.yaml" <<YAML
plan: slow
summary: memory, a few regions at a time
stage: INFLEET
rotation: 86400
steps:
  - check: hbm
    parameters: {slices: 8, seconds: 0.32}
coverage:
  hbm_regions_tested: 1
YAML
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_daemon trn-0

use() { "$1/sim/assay-sim" use --socket "$stage/sim.socket" "${@:2}"; }
coverage() { expect "$1" "$2" assayctl --json coverage "trn-0/chip$3" --plan slow; }
# All scans have ended, or were given up.
settled() {
        local _
        for _ in $(seq 200); do [ "$(assayctl --json scans | jq '[.[] | select(.state != "finished")] | length')" = 0 ] && break; sleep 0.05; done
}
kill_daemon() {
        kill -9 "$stage_daemon_pid"
        wait "$stage_daemon_pid" 2>/dev/null || true
}

expect 2 "without a record nothing is known" assayctl coverage trn-0/chip0 --plan slow
has "no record of plan slow"
expect 64 "nor of what does not exist" assayctl coverage trn-0/chip16 --plan slow

expect 0 "the first scan" assayctl scan trn-0 --plan slow
has "Tested region by region: hbm, by now 2 to 7 of 24 regions of a chip. Which, and when: assayctl coverage trn-0"
coverage 0 "tells what it tested" 0
query '.[0].partition == "sid 3 row 16384/8" and .[0].position == 7 and (.[0].regions | length) == 24'
query '[.[0].regions[] | select(.verdict == "PASSED") | .region] == [0,1,2,3,4,5,6]'
query '.[0].regions[8].where == "sid1 row0-2047" and .[0].regions[8].verdict == "UNTESTED"'
# Beside rows in use a third of a second reads those of two SIDs: what is free in the third is the next scan's.
coverage 0 "and what it left alone" 1
query '[.[0].regions[] | select(.verdict == "PASSED") | .region] == [7,15] and .[0].position == 23 and ([.[0].regions[] | select(.occupied)] | length) == 21'
expect 0 "the gate says how little that is" assayctl gate trn-0/chip0 --plan slow
has "1 test passed, hbm: 7 of 24 regions since"

kill_daemon
stage_daemon trn-0
coverage 0 "a killed daemon forgets nothing" 0
query '.[0].position == 7'
expect 1 "the next scan goes on and finds what lies there" assayctl scan trn-0 --plan slow
has "hbm-cell"
has "trn-0/chip3"
coverage 0 "behind the last" 0
query '[.[0].regions[] | select(.verdict == "PASSED") | .region] == [range(14)] and .[0].position == 14'
coverage 1 "a region that failed is told" 3
query '.[0].regions[10].verdict == "FAILED" and ([.[0].regions[] | select(.verdict == "FAILED")] | length) == 1'

# Killed while a scan runs: what was not committed was not tested.
assayctl scan trn-0 --plan slow --no-wait >/dev/null
kill_daemon
stage_daemon trn-0
settled
coverage 0 "a scan that was cut off is finished or leaves no trace" 0
query '.[0].position == 14 or .[0].position == 21'
query '.[0].position as $p | [.[0].regions[] | select(.verdict == "PASSED") | .region] == [range($p)]'

expect 1 "a region that failed is tested again first" assayctl scan trn-0 --plan slow
has "hbm-cell"
expect 1 "and while a job has it, the failure stands" bash -c '"$0" use --socket "$1" "{at: trn-0/chip3, rows: \"1:4000-5000\"}" &&
        "$2" --bus "$3" --no-pager scan trn-0 --plan slow' "$1/sim/assay-sim" "$stage/sim.socket" "$1/cli/assayctl" "$bus"
has "hbm-region-failed"
"$1/sim/assay-sim" heal all --socket "$stage/sim.socket" >/dev/null
use "$1" '{at: trn-0/chip3, rows: none}'
expect 0 "when it passes, the chip does" assayctl scan trn-0 --plan slow
coverage 0 "and one with rows in use everywhere is complete too" 1
query '[.[0].regions[] | select(.verdict == "PASSED") | .region] == [7,15,23]'
coverage 0 "all of an idle chip was tested" 0
query '[.[0].regions[] | select(.verdict != "PASSED")] == []'
coverage 0 "and of one with a job all but its live data" 2
query '[.[0].regions[] | select(.verdict == "UNTESTED") | .region] == [0,8,9,10,11,12] and all(.[0].regions[]; .occupied == (.verdict == "UNTESTED"))'

# The job ends, another begins elsewhere.
use "$1" '{at: trn-0/chip2, rows: "2:0-16383"}'
expect 0 "what is free now is tested now" assayctl scan trn-0/chip2 --plan slow
expect 0 "by and by" assayctl scan trn-0/chip2 --plan slow
expect 0 "by and by" assayctl scan trn-0/chip2 --plan slow
coverage 0 "until the chip is complete" 2
query '[.[0].regions[] | select(.verdict != "PASSED")] == [] and ([.[0].regions[] | select(.occupied)] | length) == 8'

expect 0 "a chip in words" assayctl coverage trn-0/chip2 --plan slow
has "sid2 row0-"
has "PASSED"
expect 0 "a server in a line per chip" assayctl coverage trn-0 --plan slow
[ "$(grep -c '^trn-0/chip' "$out")" = 16 ] || bad "not 16 lines"
expect 0 "the jobs noticed nothing" use "$1"
! grep -v ' 0 accesses overwritten$' "$out" || bad "somebody wrote into live data"

# What another plan found is not cleared by looking elsewhere.
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip5/hbm0/ch0/pc0/sid2/bg0/ba0/row16000/col1/bit1, kind: stuck-at, value: 0}' >/dev/null
printf 'plan: whole\nsummary: all memory\nstage: PREFLIGHT\nsteps:\n  - check: hbm\ncoverage:\n  hbm_bytes_tested: 1\n' >"$stage/plans/whole.yaml"
expect 1 "a fault is found by a plan that looks at all memory" assayctl scan trn-0/chip5 --plan whole
expect 0 "and not by a slice that lies elsewhere" assayctl scan trn-0/chip5 --plan infleet
expect 1 "the chip is broken all the same" assayctl gate trn-0/chip5
has "hbm-cell"
expect 1 "and so is its server" assayctl gate trn-0
expect 0 "the plan in service says what it saw" assayctl gate trn-0/chip5 --plan infleet
"$1/sim/assay-sim" heal trn-0/chip5 --socket "$stage/sim.socket" >/dev/null
expect 0 "the plan that found it clears it" assayctl scan trn-0/chip5 --plan whole
expect 0 "and then the chip is fit" assayctl gate trn-0/chip5

# A part beside live data that has lost what a test left there is broken, whichever regions the next scans ask.
expect 0 "all of a chip is sound" assayctl scan trn-0/chip6 --plan whole
expect 0 "a job begins" use "$1" '{at: trn-0/chip6, rows: "0:0-8191"}'
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip6/hbm0/ch3/pc1/sid1/bg2/ba1, kind: bank-dead}' >/dev/null
for _ in 1 2 3; do assayctl scan trn-0/chip6 --plan infleet >/dev/null 2>&1 || break; done
for i in 1 2 3; do
        expect 1 "a bank that died stands, scan $i" assayctl scan trn-0/chip6 --plan infleet
        has "hbm-region-altered"
        expect 1 "for the hook, too" assayctl gate trn-0/chip6
done
expect 1 "its regions have failed" assayctl coverage trn-0/chip6 --plan infleet
grep -q "sid1 .* FAILED" "$out" || bad "no region of the SID failed"
assayctl scan trn-0/chip6 --plan infleet --no-wait >/dev/null
kill_daemon
stage_daemon trn-0
settled
expect 1 "a scan that was killed has cleared nothing" assayctl scan trn-0/chip6 --plan infleet
expect 1 "for the hook, too" assayctl gate trn-0/chip6
"$1/sim/assay-sim" heal trn-0/chip6 --socket "$stage/sim.socket" >/dev/null
expect 1 "nor has a repair that nobody tested" assayctl scan trn-0/chip6 --plan infleet
use "$1" '{at: trn-0/chip6, rows: none}'
expect 0 "a test of all regions" bash -c 'for _ in 1 2 3 4 5 6; do "$@"; done >/dev/null; "$@"' - "$1/cli/assayctl" --bus "$bus" --no-pager scan trn-0/chip6 --plan infleet
expect 0 "clears them for the hook, too" assayctl gate trn-0/chip6
expect 0 "and for the regions" assayctl coverage trn-0/chip6 --plan infleet

# The same of a row that differs, which is a warning; and a test of all memory at once clears it, also where a job takes that row before any region is tested.
use "$1" '{at: trn-0/chip6, rows: "0:0-8191"}'
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip6/hbm0/ch3/pc1/sid1/bg2/ba1/row4711, kind: row-dead}' >/dev/null
for _ in $(seq 12); do assayctl scan trn-0/chip6 --plan infleet 2>/dev/null | grep -q hbm-region-unproven && break; done
for i in 1 2 3; do
        expect 0 "a row that differs stands, scan $i" assayctl scan trn-0/chip6 --plan infleet
        has "hbm-region-unproven"
        expect 1 "for a hook that is strict, too" assayctl gate trn-0/chip6 --plan infleet --strict
done
"$1/sim/assay-sim" heal trn-0/chip6 --socket "$stage/sim.socket" >/dev/null
use "$1" '{at: trn-0/chip6, rows: none}'
expect 0 "all memory is tested at once" assayctl scan trn-0/chip6 --plan whole
use "$1" '{at: trn-0/chip6, rows: "1:0-16383"}'
expect 0 "and a job takes the row" assayctl scan trn-0/chip6 --plan infleet --strict
expect 0 "which no hook minds" assayctl gate trn-0/chip6 --plan infleet --strict

# So it is with a region that failed.
use "$1" '{at: trn-0/chip6, rows: none}'
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip6/hbm1/ch3/pc1/sid2/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}' >/dev/null
for _ in $(seq 6); do assayctl scan trn-0/chip6 --plan infleet >/dev/null 2>&1 || break; done
expect 1 "a region fails" assayctl scan trn-0/chip6 --plan infleet
has "hbm-cell"
"$1/sim/assay-sim" heal trn-0/chip6 --socket "$stage/sim.socket" >/dev/null
expect 1 "which stands in the table" assayctl coverage trn-0/chip6 --plan infleet
expect 0 "all memory is tested at once" assayctl scan trn-0/chip6 --plan whole
expect 0 "which clears it for the hook" assayctl gate trn-0/chip6
expect 0 "and in the table" assayctl coverage trn-0/chip6 --plan infleet
has "is cleared by record"
! grep -q FAILED "$out" || bad "a region stands as failed"
expect 0 "for programs, too" assayctl --json coverage trn-0/chip6 --plan infleet
has '"cleared_by"'
expect 1 "but not in one of another chip" bash -c '"$@" | grep -q cleared_by' - "$1/cli/assayctl" --bus "$bus" --no-pager --json coverage trn-0/chip2 --plan slow
use "$1" '{at: trn-0/chip6, rows: "2:0-16383"}'
expect 0 "and for scans in service, though a job takes its rows" assayctl scan trn-0/chip6 --plan infleet
expect 0 "so that the hook has the same answer" assayctl gate trn-0/chip6
use "$1" '{at: trn-0/chip6, rows: none}'

# A cell that only a row of another region disturbs fails where both are tested in one pass, and that is what clears it.
expect 0 "all memory is tested at once" assayctl scan trn-0/chip7 --plan whole
couple() {
        "$1/sim/assay-sim" inject --socket "$stage/sim.socket" \
                '{at: trn-0/chip7/hbm2/ch2/pc1/sid2/bg0/ba0/row11598/col3/bit7, kind: coupling-idempotent, primitive: "<0w1;0/1/->", aggressor: row10000/col3/bit7}' >/dev/null
}
couple "$1"
for _ in $(seq 6); do assayctl scan trn-0/chip7 --plan infleet >/dev/null 2>&1 || break; done
expect 1 "regions that failed in one pass" assayctl gate trn-0/chip7
for i in 1 2 3; do
        expect 1 "stand, scan $i" assayctl scan trn-0/chip7 --plan infleet
        has "hbm-"
        expect 1 "for the hook, too" assayctl gate trn-0/chip7
        expect 1 "and for the regions" assayctl coverage trn-0/chip7 --plan infleet
done
"$1/sim/assay-sim" heal trn-0/chip7 --socket "$stage/sim.socket" >/dev/null
expect 0 "one pass over them clears them" assayctl scan trn-0/chip7 --plan infleet
expect 0 "for the hook, too" assayctl gate trn-0/chip7
expect 0 "and for the regions" assayctl coverage trn-0/chip7 --plan infleet
couple "$1"
for _ in $(seq 12); do [[ $(assayctl scan trn-0/chip7 --plan infleet 2>/dev/null) == *"fail: hbm-region-failed"* ]] && break; done
expect 1 "they stand again" assayctl gate trn-0/chip7
"$1/sim/assay-sim" heal trn-0/chip7 --socket "$stage/sim.socket" >/dev/null
use "$1" '{at: trn-0/chip7, rows: "2:10000-10000"}'
expect 1 "also while a job has one of them" assayctl scan trn-0/chip7 --plan infleet
has "hbm-region-failed"
use "$1" '{at: trn-0/chip7, rows: none}'
expect 0 "all memory is tested at once" assayctl scan trn-0/chip7 --plan whole
use "$1" '{at: trn-0/chip7, rows: "2:10000-10000"}'
expect 0 "which clears them, too" assayctl scan trn-0/chip7 --plan infleet
expect 0 "so that the hook has the same answer" assayctl gate trn-0/chip7
use "$1" '{at: trn-0/chip7, rows: none}'

# Nor by a repair, which tests memory and no more, and not that as production does.
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip5/core3/sbuf/part40/row12/bit3, kind: stuck-at, value: 1}' >/dev/null
printf 'plan: chip\nsummary: memory on the chip\nstage: PREFLIGHT\nsteps:\n  - check: sram\ncoverage:\n  sram_bytes_tested: 1\n' >"$stage/plans/chip.yaml"
expect 1 "a fault is found that no repair looks for" assayctl scan trn-0/chip5 --plan chip
expect 0 "the repair finds nothing to do" assayctl scan trn-0/chip5 --plan repair
expect 1 "and the chip is broken all the same" assayctl gate trn-0/chip5
has "sram-cell"
"$1/sim/assay-sim" heal trn-0/chip5 --socket "$stage/sim.socket" >/dev/null
expect 0 "until the plan that found it passes" assayctl scan trn-0/chip5 --plan chip
expect 0 "which clears it" assayctl gate trn-0/chip5
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip5/hbm2/ch3/pc1/sid0/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}' >/dev/null
printf 'plan: verify\nsummary: a plan\nstage: PREFLIGHT\nsteps:\n  - check: hbm\n    parameters: {repair: verify, phases: [march]}\n' >"$stage/plans/verify.yaml"
expect 1 "a repair is asked for" assayctl scan trn-0/chip5 --plan repair
asked="To be repaired on trn-0/chip5: 1 memory row. Reset the chip, then scan it again: --plan repair"
has "$asked"
expect 1 "once more before the reset" assayctl scan trn-0/chip5 --plan repair
has "$asked"
expect 1 "which another plan does not ask for" assayctl scan trn-0/chip5 --plan verify
! grep -q "repaired on" "$out" || bad "to be scanned again with that plan"
"$1/sim/assay-sim" reset --socket "$stage/sim.socket" trn-0/chip5
expect 0 "and done by a reset" assayctl scan trn-0/chip5 --plan repair
repaired="Repaired on trn-0/chip5: 1 memory row, proven with the neighbours"
has "$repaired"
expect 0 "each later scan proves it again" assayctl scan trn-0/chip5 --plan verify
! grep -q "Repaired" "$out" || bad "as if that had repaired it"
expect 0 "and shows it where that is looked for" assayctl show "$(assayctl scans --json | jq 'map(.scan) | max')"
has "$repaired"
expect 0 "as explain does" assayctl explain "$(assayctl verdict trn-0/chip5 --json | jq .record)"
has "$repaired"
expect 0 "the repair has found nothing more to do" assayctl scan trn-0/chip5 --plan repair
has "$repaired"
has "hbm_bytes_tested 96 GiB"
has "How many faults of each kind may have escaped it: assayctl plans repair"
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip5/hbm2/ch3/pc1/sid0/bg2/ba2, kind: repair-fails}' \
        '{at: trn-0/chip5/hbm2/ch3/pc1/sid0/bg2/ba2/row99/col12/bit77, kind: stuck-at, value: 1}' >/dev/null
expect 1 "another repair is asked for" assayctl scan trn-0/chip5 --plan repair
has "hbm-cell reset chip"
"$1/sim/assay-sim" reset --socket "$stage/sim.socket" trn-0/chip5
expect 1 "and mends nothing" assayctl scan trn-0/chip5 --plan repair
has "hbm-repair-failed replace tray"
has "hbm-cell          replace tray"
"$1/sim/assay-sim" heal all --socket "$stage/sim.socket" >/dev/null
expect 0 "a sound row needs none" assayctl scan trn-0/chip5 --plan repair

# Nor what a deep plan found by one that looks at less.
"$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip5/core3/sbuf/part40/row12/bit3, kind: stuck-at, value: 1}' >/dev/null
sed 's/^plan: chip/plan: deep/; s/PREFLIGHT/PRODUCTION/' "$stage/plans/chip.yaml" >"$stage/plans/deep.yaml"
expect 1 "a fault is found by a plan for the line" assayctl scan trn-0/chip5 --plan deep
expect 0 "and not by one that does not look there" assayctl scan trn-0/chip5 --plan whole
expect 1 "the chip is broken all the same" assayctl gate trn-0/chip5
has "sram-cell"
expect 1 "whatever plan is asked for" assayctl gate trn-0/chip5 --plan whole
"$1/sim/assay-sim" heal trn-0/chip5 --socket "$stage/sim.socket" >/dev/null
expect 0 "until a plan that looks at as much passes" assayctl scan trn-0/chip5 --plan deep
expect 0 "which clears it" assayctl gate trn-0/chip5
expect 0 "for each" assayctl gate trn-0/chip5 --plan whole

# Killed at any moment, again and again: position and tests go together, and no region loses its turn. What was being written then is tested first, so it
# can pass before those in front of it. Nobody is blamed for what a killed scan has left; beside a job it waits for the job to end.
sed 's/^plan: slow/plan: slower/; s/seconds: 0.32/seconds: 0.09/' "$stage/plans/slow.yaml" >"$stage/plans/slower.yaml"
in_turn='.[0].position as $p | [range($p)] - [.[0].regions[] | select(.verdict == "PASSED") | .region] == []'
for delay in 0 0.01 0.02 0.03 0.05 0.08 0.2; do
        assayctl scan trn-0 --plan slower --no-wait >/dev/null
        sleep "$delay"
        kill_daemon
        stage_daemon trn-0
        settled
        assayctl --json coverage trn-0/chip4 --plan slower >"$out" 2>/dev/null || [ $? = 2 ]
        query "length == 0 or ($in_turn)"
        expected=$((expected + 1)) status=0
        assayctl scan trn-0 --plan slower --strict >"$out" 2>"$err" || status=$?
        [ "$status" = 0 ] || [ "$status" = 2 ] || bad "sound chips beside a killed scan: $status"
        ! grep -qE '^(fail|warn):' "$out" "$err" || bad "a sound chip is blamed"
done
use "$1" '{at: trn-0/chip1, rows: none}'
use "$1" '{at: trn-0/chip2, rows: none}'
expect 0 "after seven kills a scan passes" assayctl scan trn-0 --plan slower --strict
expect 0 "and all of them have" assayctl records 0 9999 --json
query '[.[] | select(.plan == "slower" and (.result == "FAILED" or .result == "WARNED"))] == []'
expect 0 "with its position where its tests end" assayctl --json coverage trn-0/chip4 --plan slower
query ".[0].position > 0 and ($in_turn)"

expect 0 "the plan that is shipped" assayctl scan trn-0/chip0 --plan infleet
expect 0 "has its own regions" assayctl --json coverage trn-0/chip0
query '.[0].partition == "sid 3 row 16384/32" and .[0].position > 0'
expect 0 "a server that was scanned in part" true
expect 2 "is not known as a whole" assayctl coverage trn-0
done_expecting
