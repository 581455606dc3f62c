#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A scan finds a broken chip, and the log cannot take it: from then on nobody is told that the chip passed, before and after a restart, and
# room is all that it takes for the failure to stand. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."

# Small file systems of its own, which nobody else sees.
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
mkdir "$stage_state/evidence"
mount -t tmpfs -o size=3m,mode=0700 none "$stage_state/evidence"
trap 'umount --lazy "$stage_state/evidence" "$stage_state"; stage_close' EXIT

printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
printf 'scenario: sound\nseed: 3\ntopology: {servers: 1}\n' >"$stage/sound.yaml"
export ASSAY_PLANS=$stage/plans
stage_bus
stage_sim sim "$stage/sound.yaml"
stage_daemon trn-0

simulator() {
        "$stage_build/sim/assay-sim" "$1" --socket "$stage/sim.socket" "${@:2}"
}

fill() {
        cat /dev/zero >"$1/filler" 2>/dev/null || true
}

is_signing() {
        assayctl targets >"$stage/targets" 2>&1 && grep -q signing "$stage/targets"
}

has_failed() {
        ! assayctl gate trn-0 >"$stage/gate" 2>&1 && grep -q ^FAILED "$stage/gate"
}

# scan_while FOLDER…: a scan that is accepted, and whose worker says nothing before these are full.
scan_while() {
        local scan folder
        kill -STOP "$stage_sim_pid"
        scan=$(assayctl scan trn-0 --plan quick --no-wait)
        for folder; do fill "$folder"; done
        kill -CONT "$stage_sim_pid"
        stage_await "scan $scan, which cannot be recorded," is_signing
}

says() { { assayctl gate trn-0 2>&1 || true; } | grep -F "$1"; }

# is_unknown WORDS: of the server, of the broken chip and of one that is sound. Until the first commit has failed it is unknown for another reason.
is_unknown() {
        local part
        stage_await "that $1" says "$1"
        for part in trn-0 trn-0/chip3 trn-0/chip4; do
                expect 2 "$part is unknown: $1" assayctl gate "$part"
                has "$1"
                expect 2 "… under the plan, too" assayctl verdict "$part" --plan quick
        done
        expect 0 "… and in the list" assayctl targets --json
        query '.[0].verdict == "INCONCLUSIVE"'
}

expect 0 "a sound server" assayctl --quiet scan trn-0 --plan quick
expect 0 "… passes" assayctl gate trn-0
simulator inject '{at: trn-0/chip3/core2/gpsimd, kind: sr-off}' >/dev/null

# The log alone is full. Whoever waits for the scan is told, and does not wait for ever.
scan_while "$stage_state"
is_unknown "the newest scan could not be recorded: No space left on device"
expect 2 "show tells why" assayctl show 2
has "the records of trn-0 could not be committed: No space left on device"
expect 64 "a slip of the plan's name is still one" assayctl gate trn-0 --plan quikc --unknown=pass
kill -9 "$stage_daemon_pid"
stage_daemon trn-0
stage_await "the same scan" is_signing
is_unknown "the newest scan could not be recorded: No space left on device"
rm "$stage_state/filler"
stage_await "the failure" has_failed
expect 1 "and FAILED stands once there is room, without a restart" assayctl gate trn-0/chip3
expect 0 "a sound chip of the server has passed" assayctl gate trn-0/chip4
expect 1 "as show tells" assayctl show 2
expect 0 "the run has one end" assayctl records --json
query '[.[] | select(.result == "FAILED" and .subject == "trn-0")] | length == 1'

# A failure that stands stays one, whatever cannot be recorded.
scan_while "$stage_state"
expect 1 "what failed stays failed meanwhile" assayctl gate trn-0/chip3
expect 2 "… and others are unknown" assayctl gate trn-0/chip4
rm "$stage_state/filler"
stage_await "its end" eval '! is_signing'

# Mended, and broken once more: the evidence is full, too, so that a restart has to test again. Until it has, nothing passes by what was before.
simulator heal all >/dev/null
expect 0 "mended" assayctl --quiet scan trn-0 --plan quick
expect 0 "… it passes" assayctl gate trn-0
simulator inject '{at: trn-0/chip3/core2/gpsimd, kind: sr-off}' >/dev/null
scan_while "$stage_state" "$stage_state/evidence"
is_unknown "the newest scan could not be recorded: No space left on device"
kill -9 "$stage_daemon_pid"
kill -STOP "$stage_sim_pid"
rm "$stage_state/filler" "$stage_state/evidence/filler"
stage_daemon trn-0
is_unknown "the newest scan is not recorded yet: assayd ended before"
kill -CONT "$stage_sim_pid"
stage_await "the failure" has_failed
expect 1 "and FAILED is found again" assayctl gate trn-0/chip3

# Who waits in the terminal leaves.
kill -STOP "$stage_sim_pid"
(sleep 1; fill "$stage_state"; kill -CONT "$stage_sim_pid") &
filling=$!
expect 2 "a scan that is waited for" assayctl scan trn-0 --plan quick
has "the records of trn-0 could not be committed: No space left on device. It is tried again: assayctl show 6"
wait "$filling"
rm "$stage_state/filler"
stage_await "its end" eval '! is_signing'
expect 1 "… has its records in the end" assayctl show 6

assayctl keys show >"$stage/station.keyring"
expect 0 "and the log is whole" assayctl audit --keyring "$stage/station.keyring" --state "$stage/audit"
done_expecting
