#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# assayd is killed at random moments while scans are started and run, and begins again: no record that anyone was told of is lost, every
# scan that began comes to an end, and the log holds together. usage: … BUILD-FOLDER [KILLS]
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
kills=${2:-4}
RANDOM=${ASSAY_SEED:-$$}
echo "ASSAY_SEED=${ASSAY_SEED:-$$}"
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
stage_daemon trn-0
"$1/cli/assayctl" --bus "$bus" watch --json >"$stage/told" 2>/dev/null &
watcher=$!

for kill in $(seq "$kills"); do
        for _ in 1 2 3; do assayctl scan trn-0/chip7 --plan quick --no-wait >/dev/null 2>&1 || true; done
        sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
        kill -9 "$stage_daemon_pid"
        wait "$stage_daemon_pid" 2>/dev/null || true
        kill "$watcher" 2>/dev/null || true
        stage_daemon trn-0
        "$1/cli/assayctl" --bus "$bus" watch --json >>"$stage/told" 2>/dev/null &
        watcher=$!
done

ended() {
        [ "$(assayctl scans --json | jq '[.[] | select(.state != "finished")] | length')" = 0 ]
}
stage_await "the end of all scans" ended
expect 1 "and a scan works as ever" assayctl --quiet scan trn-0/chip7 --plan quick
kill "$watcher" 2>/dev/null || true

expect 0 "the log is whole" assayctl export 0 1000000 --output "$stage/records"
jq -r '.payload | @base64d | fromjson | .predicate | "\(.log.index)"' "$stage/records" | cmp - <(seq 0 $(($(wc -l <"$stage/records") - 1))) ||
        bad "indices have gaps"
jq -Rr 'fromjson? | .sequence | tonumber' "$stage/told" | sort -nu >"$stage/indices"
[ -s "$stage/indices" ] || bad "nobody was told of any record"
[ "$(tail -n 1 "$stage/indices")" -lt "$(wc -l <"$stage/records")" ] || bad "a record that was told of is not there"
expect 0 "and so an auditor says" assayctl audit
has ": holds"
done_expecting
