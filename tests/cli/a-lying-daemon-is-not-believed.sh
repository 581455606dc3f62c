#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A daemon that says of scans and parts something else than its signed records: what verifies decides, and what is missing has not passed.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n    parameters: {every_format: false}\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon trn-0

sed "s|unix:path=$stage/bus|unix:path=$stage/liars|" "$stage/bus.conf" >"$stage/liars.conf"
dbus-daemon --config-file="$stage/liars.conf" --nofork >"$stage/liars.log" 2>&1 &
stage_pids+=($!)
stage_await "a bus for liars" test -S "$stage/liars"

# liar LIE=WORD…: in the place of the one before.
liar_pid=
liar() {
        [ -z "$liar_pid" ] || { kill "$liar_pid"; wait "$liar_pid" || true; }
        stage_await "the name" liars_name_is_free
        rm -f "$stage/liar.log" # the one before was ready, too
        "$stage_build/tests/cli/lying-daemon" "$bus" "unix:path=$stage/liars" "$@" >"$stage/liar.log" 2>&1 &
        liar_pid=$!
        stage_pids+=("$liar_pid")
        stage_await "the liar" grep -q '^ready' "$stage/liar.log"
}
liars_name_is_free() {
        dbus-send --bus="unix:path=$stage/liars" --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner string:org.assay.Assay1 |
                grep -q 'boolean false'
}
told() { stage_ask "unix:path=$stage/liars" "$@"; }

expect 1 "a server with broken chips" assayctl scan trn-0 --plan quick
expect 0 "a sound chip" assayctl scan trn-0/chip1 --plan quick
loud=$'\e]0;all is well\a\e[2K\xc2\x9b1m'
is_quiet() { ! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$out" "$err" || bad "the terminal is commanded"; }
liar location="$loud"
expect 1 "a broken one, found where a terminal is commanded" told scan trn-0/chip7 --plan quick
has "fail: rounding-mode at ?]0;all is well"
is_quiet
"$stage_build/sim/assay-sim" heal --socket "$stage/sim.socket" trn-0 >/dev/null
expect 0 "the server when it is sound" assayctl scan trn-0 --plan quick
records_of() { assayctl --json show "$1" | jq -c '[.statements[].predicate.log.index]'; }
whole=$(records_of 4 | tr -d '[]')

liar
expect 1 "who lies about nothing: a scan that failed" told show 1
expect 0 "and one that passed" told show 2
[ ! -s "$err" ] || bad "something is complained about"
expect 0 "and one that is asked for" told scan trn-0/chip1 --plan quick

liar Result=PASSED
expect 1 "a scan that failed is called passed" told show 1
has "assayd calls this scan PASSED, and its records say FAILED"
expect 1 "the same as JSON" told --json show 1
query '.result == "FAILED"'
expect 1 "without a word" told --quiet show 3

liar Result=PASSED Records=
expect 2 "passed, and there is no record" told show 1
has "no record that verifies tells of trn-0"
expect 2 "nor of the scan that is asked for" told scan trn-0/chip1 --plan quick
has "tells of trn-0/chip1"
liar Result=PASSED Records=1
expect 2 "passed, and all there is is that it began" told show 1
liar Result=PASSED "Records=$(yes 1 | head -n 32769 | paste -sd,)"
expect 2 "passed, and the records are more than any scan has" told show 1
has "lists 32769 records"
liar Result=PASSED Records=3,20
expect 2 "passed, and the records are of chips that did" told show 1
has "tells of trn-0"
liar Result=PASSED Records=99999
expect 2 "passed, and its record is not in the log" told show 2
has "it is not there"
liar Result=PASSED "Records=${whole%,*,*},${whole##*,}"
expect 2 "passed, but for a chip that its server's record names" told show 4
has "tells of trn-0/chip15"
liar Result=PASSED "Records=$whole"
expect 0 "the same with that one" told show 4

liar Result=PASSED Records=19,20,21 Targets=trn-0/chip1
expect 2 "another chip's records for those of this one" told scan trn-0/chip7 --plan quick
has "tells of trn-0/chip7"
expect 2 "or of the whole server, of which its record cannot tell" told scan trn-0 --plan quick
expect 3 "older ones, which answer no challenge" told scan trn-0/chip1 --plan quick --challenge "$(printf fresh | base64)"
has "it answers no challenge"
liar Result=PASSED Plan=slow
expect 3 "records of another plan" told show 2
has "does not verify: it is of another plan: quick"

liar Result=FAILED
expect 2 "worse than its records: one may be kept back" told show 2
has "assayd calls this scan FAILED, and its records say PASSED"
liar Result=good
expect 2 "a word that is no result" told show 2
liar State=running
expect 2 "what has not ended cannot be told" told show 2
expect 2 "the same as JSON" told --json show 2
query '.state == "running" and .scan == 2'
liar State="$loud" Plan="$loud" LogLevel="$loud"
expect 2 "nor in what words" told show 2
is_quiet
expect 0 "nor how much is logged" told log-level
is_quiet

# How a part stands.
liar
expect 0 "who lies about nothing: a part that is sound" told verdict trn-0/chip1
query_age() { grep -Eq '^trn-0/chip1  PASSED  .*  record [0-9]+, [0-9]+ s ago$' "$out" || bad "another line"; }
query_age
liar verdict=PASSED record=23
for verb in verdict gate; do
        expect 1 "$verb: a failure that is called a pass" told $verb trn-0/chip7
        has rounding-mode
done
liar verdict=PASSED record=20
for verb in verdict gate; do
        expect 3 "$verb: the pass of another part" told $verb trn-0/chip7
        has "record 20 is about trn-0/chip1"
done
liar verdict=PASSED record=18446744073709551615 reason="$loud"
for verb in verdict gate; do
        expect 2 "$verb: a pass of which there is no record, in words for a terminal" told $verb trn-0/chip1
        is_quiet
done
expect 2 "the same as JSON" told --json verdict trn-0/chip1
query '.verdict == "INCONCLUSIVE" and (has("record") | not)'
liar verdict=FAILED reason="$loud"
for verb in verdict gate; do
        expect 2 "$verb: worse than the record, in words for a terminal" told $verb trn-0/chip1
        has "says PASSED, and assayd FAILED"
        is_quiet
done

# A log without an end: leaves for a record that is further away than any.
liar pruned=4503599627370496 leaves=1024
expect 2 "an audit ends, whatever it is fed" timeout 120 "$stage_build/cli/assayctl" --bus "unix:path=$stage/liars" audit
has "goes on and on: given up"

# A daemon that runs on while its package is already a newer one.
liar lacks=KeyChanged
expect 0 "an assayd that is older than a property" told status
has "signing     yes"

# Whose word counts.
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$stage/other.pub.pem"
liar PublicKeys="$(cat "$stage/other.pub.pem")"
read -r index id < <(assayctl records --json | jq -r 'max_by(.index) | "\(.index) \(.id)"')
expect 2 "a record whose key is not known" told verify "$index"
expect 2 "the same by its ID, since a name is no verdict" told verify "$id"
assayctl keys show >"$stage/station.keyring"
expect 2 "by a keyring without the key nothing is verified" assayctl show 2 --keyring "$stage/other.pub.pem"
has "is signed with a key not trusted here, and 2 more like it"
expect 2 "also what failed" assayctl show 3 --keyring "$stage/other.pub.pem"
expect 0 "by that of the station its place in the log is proven, too" assayctl show 2 --keyring "$stage/station.keyring"
expect 0 "also when it has just been signed" assayctl scan trn-0/chip1 --plan quick --keyring "$stage/station.keyring"
"$stage_build/daemon/assayd" --make-key "$stage/strange.pem" 2>/dev/null
assayctl keys show "$stage/strange.pem" --origin strange.example | grep '^log ' >"$stage/strangers.log"
sed -e "/^log /{r $stage/strangers.log" -e 'd}' "$stage/station.keyring" >"$stage/strangers.keyring"
expect 2 "and by one that knows another log it is not" assayctl show 2 --keyring "$stage/strangers.keyring"
expect 1 "but a failure counts without" assayctl show 3 --keyring "$stage/strangers.keyring"
expect 0 "a verdict by it" assayctl verdict trn-0/chip1 --keyring "$stage/station.keyring"
expect 2 "or by another" assayctl verdict trn-0/chip1 --keyring "$stage/other.pub.pem"
has "INCONCLUSIVE  record"
expect 64 "who does not wait verifies nothing" assayctl scan trn-0/chip1 --plan quick --no-wait --keyring "$stage/station.keyring"
done_expecting
