#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A chip passes, then fails, and an old copy of the log is put back, which knows of the pass alone. Somebody decides to go on with it: then the pass counts
# no more, until a newer scan says how the chip is. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect
stage_open "$1"

mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
printf 'scenario: sound\nseed: 3\ntopology: {servers: 1}\n' >"$stage/sound.yaml"
export ASSAY_PLANS=$stage/plans
stage_bus
stage_sim sim "$stage/sound.yaml"
stage_daemon trn-0

simulator() {
        "$stage_build/sim/assay-sim" "$1" --socket "$stage/sim.socket" "${@:2}"
}
stop() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" || bad "the daemon did not end well"
}

simulator inject '{at: trn-0/chip5/core2/gpsimd, kind: sr-off}' >/dev/null
expect 1 "a server of which one chip fails" assayctl --quiet scan trn-0 --plan quick
expect 0 "a sound chip of it passes" assayctl gate trn-0/chip3
expect 0 "status tells of no loss" assayctl status --json
query '.lost == ""'
kept=$(jq .records "$out")
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("VACUUM INTO ?", sys.argv[2:])' "$stage/records.db" "$stage/old.db"
simulator inject '{at: trn-0/chip3/core2/gpsimd, kind: sr-off}' >/dev/null
expect 1 "the sound chip breaks" assayctl --quiet scan trn-0/chip3 --plan quick
expect 1 "… and fails" assayctl gate trn-0/chip3
stop

rm -f "$stage/records.db-wal" "$stage/records.db-shm"
cp "$stage/old.db" "$stage/records.db"
lost="records $kept-$(($(sed -n 2p "$stage/records.db.anchor") - 1)) are lost"
decide() {
        timeout 20 "$stage_build/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$stage/record.pem" --log-key "$stage/log.pem" --state-dir "$stage" \
                --continue-log "the disk was lost"
}
expect 0 "somebody decides to go on with the old copy" decide
stage_daemon trn-0
for part in trn-0/chip3 trn-0/chip4; do
        expect 2 "what passed is unknown: $part" assayctl gate "$part"
        has "UNKNOWN: $part: $lost, and may take back what passed before. Next: assayctl scan trn-0"
        expect 2 "… under its plan, too" assayctl verdict "$part" --plan quick
        has "$lost"
done
expect 1 "what failed stands" assayctl gate trn-0/chip5
expect 1 "… of the server as well" assayctl gate trn-0
has "trn-0: chip5 rounding"
has "15 unknown; between chips: 1 unknown"
expect 0 "the list tells no pass" assayctl targets --json
query '.[0].verdict == "FAILED"'
expect 0 "status tells what is lost" assayctl status
has "lost        $lost, so no pass before record $kept counts"
expect 0 "… to programs, too" assayctl status --json
query '.lost | startswith("records ")'

expect 0 "a chip that is scanned again" assayctl --quiet scan trn-0/chip4 --plan quick
expect 0 "… passes" assayctl gate trn-0/chip4
expect 2 "… and no other one" assayctl gate trn-0/chip3
simulator heal all >/dev/null
expect 0 "once all are mended and scanned" assayctl --quiet scan trn-0 --plan quick
expect 0 "… all pass" assayctl gate trn-0
done_expecting
