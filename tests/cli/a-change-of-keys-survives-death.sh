#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `assayctl keys rotate` is killed at each of its steps. Run again it finishes, whether or not the daemon was restarted meanwhile; where that
# refuses its key it says what to type. usage: … BUILD-FOLDER DIE-AT
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
die_at=$stage/die-at.so
ln -s "$2" "$die_at" # LD_PRELOAD ends a path at a space
stage_bus
key=$stage/record.pem
"$1/cli/assayctl" --quiet keys create "$key" >/dev/null
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

stop() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" 2>/dev/null || true
}

start() {
        stage_daemon trn-0
}

# What the journal would say of a key that was changed; empty: the daemon's key is the right one.
refusal() {
        timeout 20 "$1/daemon/assayd" --config "$stage/assayd.yaml" --bus unix:path=/nonexistent --key "$key" --state-dir "$stage" 2>&1 |
                sed -n 's/.*keys rotate --finish \(SHA256:[^` ]*\).*/\1/p'
}

refused=0
for restarts in no yes; do
        start
        [ "$restarts" = yes ] && stride=1 || stride=${KEYS_STRIDE:-3}
        for ((n = 1; ; n += stride)); do
                status=0
                before=$(tests/record/ssh-fingerprint "$key.pub")
                DIE_AT=$n LD_PRELOAD=$die_at "$1/cli/assayctl" --bus "$bus" --quiet keys rotate --key "$key" >"$out" 2>"$err" || status=$?
                [ "$status" = 0 ] || [ "$status" = 137 ] || bad "step $n: it ended with $status"
                if [ "$restarts" = yes ]; then
                        stop
                        due=$(refusal "$1" || true)
                        if [ -n "$due" ]; then
                                refused=$((refused + 1))
                                expect 0 "step $n: what the daemon says finishes it" assayctl --quiet keys rotate --key "$key" --finish "$due"
                        fi
                        start
                fi
                # Where all is in its place already, that would be another change.
                [ "$restarts" = yes ] || [ "$(tests/record/ssh-fingerprint "$key.pub")" != "$before" ] ||
                        expect 0 "step $n: once more finishes it" assayctl --quiet keys rotate --key "$key"
                [ "$restarts" = yes ] || { stop && start; }
                now=$(tests/record/ssh-fingerprint "$key.pub")
                expect 0 "step $n: the daemon signs with the key that is there" assayctl keys show "--json"
                [ "$(jq -r .keyId "$out")" = "$(jq -r .keyId < <(assayctl keys show "$key" --json))" ] || bad "step $n: another key"
                [ "$restarts" = yes ] || [ "$now" != "$before" ] || bad "step $n: the key is the old one"
                [ "$status" = 137 ] || break
        done
        [ "$n" -ge 8 ] || bad "only $n steps"
        expect 0 "afterwards it works as ever" assayctl --quiet keys rotate --key "$key"
        stop
        [ ! -e "$key.new" ] || bad "something is left over"
done
[ "$refused" -ge 2 ] || bad "the daemon refused its key $refused times only"

start
size=$(assayctl records --json | jq length)
for ((i = 0; i < size; i++)); do
        assayctl --quiet verify "$i" >/dev/null 2>&1 || [ $? -le 2 ] || bad "record $i does not verify"
done
done_expecting
