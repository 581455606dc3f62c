#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A technician's assay-run on a server that assayd is scanning, and the other way round: the second one says that another scan has the server,
# and no sound chip is called broken by either.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
printf 'scenario: a sound server\nseed: 3\ntopology: {servers: 1}\n' >"$stage/sound.yaml"
stage_sim sim "$stage/sound.yaml"
mkdir "$stage/plans"
cp units/plans/production.yaml "$stage/plans"
printf 'plan: quick\nsummary: what two scans disturb each other by\nstage: PREFLIGHT\nsteps:\n  - check: telemetry\n  - check: hbm\n  - check: sram\n  - check: neuronlink\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon trn-0

# run PARTS OUTPUT [PLAN]: as a technician does.
run() {
        "$stage_build/checks/assay-run" --device "sim:$stage/sim.socket#$1" --plan "${3:-quick}" >"$2"
}

# nothing_failed FILE: a stream without a finding.
nothing_failed() {
        cp "$1" "$out"
        ! grep -q '"type":"FAIL"' "$1" || bad "a finding on a sound server"
}

# hold PARENT: stops the worker of PARENT as soon as it tests, so that it has its claim for as long as it takes.
hold() {
        local until=$((SECONDS + 60))
        until held=$(pgrep -P "$1" assay-run) && pgrep -P "$held" >/dev/null; do
                [ "$SECONDS" -lt "$until" ] || { bad "no worker began to test"; return 1; }
        done
        kill -STOP "$held"
}

assayctl scan trn-0 --plan production >"$stage/scan" 2>&1 &
scan=$!
hold "$stage_daemon_pid"
expect 2 "a scan by hand beside that of assayd" run trn-0 "$stage/by-hand"
nothing_failed "$stage/by-hand"
[ "$(grep -c 'another scan has this server' "$stage/by-hand")" -ge 16 ] || bad "the stream does not say why"
kill -CONT "$held"
expect 0 "that of assayd goes on" wait "$scan"
cp "$stage/scan" "$out"
has "16 PASSED"
expect 0 "and its verdict stands" assayctl gate trn-0

(run trn-0 "$stage/by-hand" production; echo $? >"$stage/status") &
scan=$!
hold "$scan"
expect 2 "a scan of assayd beside one by hand" assayctl scan trn-0 --plan quick
has "another scan has this server"
has "wait, then scan"
! grep -Eq 'FAILED|drain' "$out" || bad "a sound chip failed, or has a job"
expect 0 "the records tell it from work" assayctl export "$(assayctl verdict trn-0/chip15 --json | jq .record)" 1
[ "$(jq -r .payload "$out" | base64 -d | jq -c '[.predicate.steps[] | select(.status) | .reason] | unique')" = '["claimed"]' ] || bad "otherwise"
expect 2 "nobody knows, and that is what is told" assayctl gate trn-0
has "another scan has this server"
kill -CONT "$held"
wait "$scan"
nothing_failed "$stage/by-hand"
[ "$(cat "$stage/status")" = 0 ] || bad "the scan by hand ended with $(cat "$stage/status")"

# Whoever is killed holds nothing.
(run trn-0 "$stage/by-hand" production || true) 2>/dev/null &
scan=$!
hold "$scan"
kill -9 "$held"
expect 0 "a scan right after one that was killed" assayctl scan trn-0 --plan quick
has "16 PASSED"
wait "$scan"

# Chips of one server are scanned side by side: what their links and adapters need of others is left out.
(run trn-0/chip3 "$stage/by-hand" production || true) 2>/dev/null &
scan=$!
hold "$scan"
expect 2 "a chip beside another one" run trn-0/chip5 "$stage/other"
! grep -q 'another scan has this server' "$stage/other" || bad "one chip keeps the other out"
[ "$(jq -r 'select(.testStepArtifact.testStepEnd.status == "COMPLETE") | .sequenceNumber' "$stage/other" | wc -l)" -ge 3 ] || { cp "$stage/other" "$out"; bad "nothing was tested"; }
expect 2 "and not twice" run trn-0/chip3 "$stage/other"
cp "$stage/other" "$out"
has "another scan has this server"
kill -9 "$held"
wait "$scan"
done_expecting
