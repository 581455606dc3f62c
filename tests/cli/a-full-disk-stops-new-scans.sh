#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The disk of log and evidence fills, before a scan, under one, and before a clean stop: that is said, nothing acknowledged is lost, and room is
# all it takes to go on. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."

# A small file system of its own, which nobody else sees.
if [ -z "${ASSAY_SMALL_DISK:-}" ]; then
        unshare --mount true 2>/dev/null || { echo "skipped: no mount namespaces here"; exit 77; }
        ASSAY_SMALL_DISK=1 exec unshare --mount --propagation private "$0" "$@"
fi

. tests/stage
. tests/cli/expect
stage_open "$1"
stage_state=$stage/state
mkdir "$stage_state" "$stage/plans"
mount -t tmpfs -o size=3m,mode=0700 none "$stage_state" 2>/dev/null || { echo "skipped: cannot mount a small file system"; exit 77; }
trap 'umount --lazy "$stage_state"; stage_close' EXIT

printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
stage_daemon trn-0

fill() {
        cat /dev/zero >"$stage_state/filler" 2>/dev/null || true
}

size() {
        assayctl records --json | jq length
}

expect 1 "a scan while there is room" assayctl --quiet scan trn-0 --plan quick
before=$(size)

fill
expect 2 "a scan on a full disk does not begin" assayctl scan trn-0 --plan quick
has "No space left on device"
[ "$(size)" = "$before" ] || bad "a full disk changed the log from $before to $(size) records"
expect 1 "what was signed before stands" assayctl gate trn-0 --plan quick

rm "$stage_state/filler"
expect 1 "with room a scan works as ever" assayctl --quiet scan trn-0 --plan quick
# All of the log is in the database but a scan of one chip when the disk fills and the daemon is stopped: there is no room to copy that.
stop() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" || bad "a clean stop ended with $?"
}
stop
stage_daemon trn-0
assayctl --quiet scan trn-0/chip1 --plan quick >"$out" 2>"$err" || [ $? = 1 ] || bad "a scan of one chip ended with $?"
last=$(size)
fill
stop
[ -s "$stage_state/records.db-wal" ] || bad "the write-ahead log is gone, which had no room in the database"
rm "$stage_state/filler"
stage_daemon trn-0
[ "$(size)" -ge "$last" ] || bad "a stop on a full disk lost records: $last"
expect 1 "what was signed before stands after a stop on a full disk" assayctl gate trn-0 --plan quick

assayctl scan trn-0 --plan quick --no-wait >/dev/null
fill
sleep 1
kill -9 "$stage_daemon_pid"
rm -f "$stage_state/filler"
stage_daemon trn-0
expect 0 "and after a death on a full disk" assayctl targets
last=$(size)
[ "$last" -gt "$before" ] || bad "records were lost: $last"
# shellcheck disable=SC2046
assayctl --quiet verify $(seq 0 $((last - 1))) >/dev/null 2>"$err" || [ $? -le 2 ] || bad "a record does not verify"
done_expecting
