#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The record key is on a PKCS#11 token (SoftHSM): the daemon signs with it, tells a wrong PIN and a token that is not there, goes on
# when it is back, and a key in a file can be changed to it. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

for module in /usr/lib/softhsm/libsofthsm2.so /usr/lib64/pkcs11/libsofthsm2.so /usr/lib/pkcs11/libsofthsm2.so; do
        [ ! -e "$module" ] || break
done
if ! [ -e "$module" ] || ! command -v softhsm2-util >/dev/null; then
        echo "skipped: no softhsm2"
        exit 77
fi

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/tokens" "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n    parameters: {every_format: false}\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
export SOFTHSM2_CONF=$stage/softhsm2.conf
printf 'directories.tokendir = %s\nobjectstore.backend = file\n' "$stage/tokens" >"$SOFTHSM2_CONF"
softhsm2-util --init-token --free --label station --so-pin 12345678 --pin 1234 >/dev/null
assayctl --quiet keys create "$stage/first.pem" >/dev/null
assayctl --quiet keys create "$stage/token.pem" --algorithm ecdsa-p256 >/dev/null
softhsm2-util --import "$stage/token.pem" --token station --label record --id 01 --pin 1234 >/dev/null
rm "$stage/token.pem"
(umask 077 && echo 1234 >"$stage/pin" && echo 4321 >"$stage/wrong-pin")
uri="pkcs11:token=station;object=record?module-path=$module"

configure() {
        cat >"$stage/assayd.yaml" <<YAML
origin: stage.example/assayd
producer: https://stage.example/stations/1
heartbeat_sec: 0.2
key: "$1"
targets:
  - {device: "sim:$stage/sim.socket", servers: [trn-0]}
YAML
}

# refused KEY: the daemon ends by itself.
refused() {
        configure "$1"
        "$stage_build/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --state-dir "$stage"
}

start() {
        stage_await "the bus" stage_name_is_free
        configure "$1"
        "$stage_build/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --state-dir "$stage" --run "$stage_build/checks/assay-run" >>"$stage/assayd.log" 2>&1 &
        stage_daemon_pid=$!
        stage_pids+=("$stage_daemon_pid")
        stage_await "the daemon" assayctl targets
}

stop() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" 2>/dev/null || true
}

size() {
        assayctl records --json | jq length
}

grows() {
        local before
        before=$(size)
        stage_await "another record" bash -c "[ \"\$('$stage_build/cli/assayctl' --bus '$bus' --no-pager records --json | jq length)\" -gt $before ]"
}

expect 0 "a token is asked for no PIN to show its key" assayctl keys show "$uri" --json
query '.algorithm == "ecdsa-p256"'
id=$(jq -r .keyId "$out")
expect 64 "and none is typed" assayctl keys show "$uri&pin-value=1234"
expect 64 "nor to the daemon" "$1/daemon/assayd" --config /dev/null --key "$uri&pin-value=1234"

start "$stage/first.pem"
expect 64 "who changes to it must be able to use it" assayctl keys rotate --to "$uri&pin-source=$stage/wrong-pin"
has "the PIN is wrong"
expect 0 "the key in the file names the one on the token" assayctl keys rotate --to "$uri&pin-source=$stage/pin"
stop
expect 3 "a wrong PIN" refused "$uri&pin-source=$stage/wrong-pin"
has "the PIN is wrong"
expect 1 "no such token" refused "pkcs11:token=other;object=record?module-path=$module&pin-source=$stage/pin"
has "there is no such token"
start "$uri&pin-source=$stage/pin"
expect 0 "with the right one it signs" assayctl keys show --json
query ".keyId == \"$id\""
grows || bad "no record"

expect 0 "a scan ends in records that it has signed" assayctl scan trn-0/chip1 --plan quick
verdict=$(assayctl records --json | jq 'map(select(.result == "PASSED")) | last | .index')
expect 0 "of which one passed" assayctl export "$verdict" --output "$stage/record.json"
expect 0 "by the key that anybody may have" assayctl keys show "$uri"
cp "$out" "$stage/token.pub.pem"
expect 0 "whose signature openssl verifies" tests/record/verify-by-hand "$stage/record.json" "$stage/token.pub.pem"
has "type    urn:assay:attestation:health:v2"
has "result  PASSED"
jq -c ".payload = (.payload | @base64d | sub(\"PASSED\"; \"FAILED\") | @base64)" "$stage/record.json" >"$stage/edited.json"
expect 1 "and that of no other" tests/record/verify-by-hand "$stage/edited.json" "$stage/token.pub.pem"

mv "$stage/tokens" "$stage/away"
: >"$stage/assayd.log"
expect 0 "what was signed is there without the token" assayctl records
stage_await "a heartbeat that nobody can sign" grep -q "Failed to commit a heartbeat, trying again" "$stage/assayd.log"
mv "$stage/away" "$stage/tokens"
grows || bad "no record after the token was away"
last=$(size)
for ((i = 0; i < last; i++)); do
        assayctl --quiet verify "$i" >/dev/null 2>&1 || [ $? -le 2 ] || bad "record $i does not verify"
done
done_expecting
