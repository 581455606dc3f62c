#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Keys are made, shown and changed; after a change nothing is signed until the new key is there, and everything verifies.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
key=$stage/record.pem

fingerprint() {
        tests/record/ssh-fingerprint "$1"
}

restart() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" || true
        stage_daemon trn-0
}

expect 0 "a key is made" assayctl keys create "$key"
has "$(fingerprint "$key.pub")"
[ "$(stat -c %a "$key")" = 600 ] || bad "others may read the key"
expect 64 "and never over another" assayctl keys create "$key"
has "File exists"
expect 0 "one of the other algorithm" assayctl keys create "$stage/p256.pem" --algorithm ecdsa-p256 --json
query ".keyId == \"$(fingerprint "$stage/p256.pem.pub")\" and .algorithm == \"ecdsa-p256\""
expect 64 "there is no third" assayctl keys create "$stage/rsa.pem" --algorithm rsa
expect 64 "no origin has a blank" assayctl keys create "$stage/log.pem" --origin "stage.example/lo g"
has "an origin without white space"
expect 0 "a log's key has a vkey" assayctl keys create "$stage/log.pem" --origin stage.example/log
has "log stage.example/log+"
expect 64 "which P-256 has not" assayctl keys create "$stage/other.pem" --algorithm ecdsa-p256 --origin stage.example/log
[ ! -e "$stage/other.pem" ] || bad "it was made all the same"
expect 0 "a file is shown" assayctl keys show "$stage/p256.pem.pub"
has "$(cat "$stage/p256.pem.pub")"
expect 64 "what is no key is not" assayctl keys show /dev/null

stage_daemon trn-0
expect 0 "so is the daemon's" assayctl keys show
has "$(fingerprint "$key.pub")"
expect 1 "a scan under the first key" assayctl --quiet scan trn-0 --plan quick

assayctl scan trn-0 --plan quick --no-wait >"$out"
expect 2 "no change under a scan" assayctl keys rotate --key "$key"
has "not finished"
stage_await "the end of the scan" bash -c "! '$1/cli/assayctl' --bus '$bus' scans --json | grep -qE 'queued|running|signing'"

expect 64 "only of the daemon's own key" assayctl keys rotate --key "$stage/p256.pem"
has "assayd signs with"
expect 64 "what is left of a change has its algorithm" assayctl keys rotate --key "$key" --algorithm ecdsa-p256
has "finish it without --algorithm"
rm "$key.new" "$key.new.pub"
old=$(fingerprint "$key.pub")
expect 0 "the change" assayctl keys rotate --key "$key" --algorithm ecdsa-p256
has "restart assayd"
new=$(fingerprint "$key.pub")
[ "$old" != "$new" ] || bad "the same key"
if [ -e "$key.new" ] || [ -e "$key.new.pub" ]; then bad "something is left over"; fi
[ "$(fingerprint "$key.$(tr '/+' '_-' <<<"${old#*:}").pub")" = "$old" ] || bad "the old public half is gone"
expect 2 "no scan until the restart" assayctl scan trn-0 --plan quick
has "restart assayd"
expect 3 "which status says" assayctl status
has "signing     nothing: Record "
has " changed the key to $new: put it in its place and restart assayd"
expect 64 "nor another change" assayctl keys rotate --key "$key"
has "restart it"
expect 2 "nor to a third key" assayctl keys rotate --to "$stage/log.pem"
expect 64 "still less to a key that nobody has" assayctl keys rotate --to "$stage/log.pem.pub"

restart
expect 0 "the daemon has the new key" assayctl keys show --json
query ".keyId == \"$new\" and .algorithm == \"ecdsa-p256\""
expect 1 "and signs" assayctl --quiet scan trn-0 --plan quick
expect 1 "what stands is verified" assayctl gate trn-0 --plan quick
size=$(assayctl records --json | jq length)
for ((i = 0; i < size; i++)); do
        assayctl --quiet verify "$i" >/dev/null 2>&1 || [ $? -le 2 ] || bad "record $i does not verify"
done
assayctl export 0 "$size" >"$stage/records.jsonl"
cat "$key".*.pub "$key.pub" >"$stage/keys.pem"
assayctl --quiet verify "$stage/records.jsonl" --key "$stage/keys.pem" >/dev/null 2>"$err" || [ $? -le 2 ] || bad "the export does not verify"
jq -r .payload "$stage/records.jsonl" | base64 -d 2>/dev/null | jq -r 'select(.predicateType | endswith("key-rotation:v1")) | .predicate.keyid + " " + .predicate.replaces.keyid' >"$out"
has "$new $old"

expect 0 "a checkpoint covers the last record, or soon does" assayctl export $((size - 1)) --format proof
assayctl verify $((size - 1)) >"$out" 2>"$err" || [ $? -le 2 ] || bad "the last record does not verify"
has "proven by"
expect 0 "the whole log holds" assayctl audit
has "key rotations 1"

# A key of another place: nothing is moved.
expect 0 "to a key that is elsewhere" assayctl keys rotate --to "$stage/p256.pem"
expect 0 "twice is once" assayctl keys rotate --to "$stage/p256.pem"
kill "$stage_daemon_pid"
wait "$stage_daemon_pid" || true
expect 3 "the old key opens the log no more" "$1/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$key" --state-dir "$stage"
has "--finish $(fingerprint "$stage/p256.pem.pub")"
cp "$stage/p256.pem" "$key"
stage_daemon trn-0
expect 0 "but the named one does" assayctl keys show
has "$(fingerprint "$stage/p256.pem.pub")"
expect 64 "no key comes back" assayctl keys rotate --to "$key"
done_expecting
