#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Records and the log in the forms that other programs read; those programs themselves stand in tests/interop. usage: … BUILD-FOLDER
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
size_of() { sed -n 2p "$1/checkpoint"; }
log_size() { assayctl --json records 0 1000 | jq length; }

assayctl watch --format cloudevents >"$stage/live" 2>/dev/null &
stage_pids+=($!)
sleep 0.3
expect 1 "a scan" assayctl scan trn-0 --plan quick
# The daemon's own sign of life comes first: what was signed before somebody watched is not told.
first=$(jq -rs '.[0].sequence | tonumber' "$stage/live")

expect 0 "a bundle as soon as a record is there" assayctl export 2 --format bundle --output "$stage/one.sigstore.json"
expect 1 "which is a record and its proof to verify" assayctl verify "$stage/one.sigstore.json" --key "$stage/record.pub.pem"
expect 0 "bundles of several records, one on each line" assayctl export 0 100 --format bundle
[ "$(wc -l <"$out")" = 19 ] || bad "not one bundle for each record"
jq -es 'all(.verificationMaterial.publicKey.hint == .dsseEnvelope.signatures[0].keyid) and
        (map(.verificationMaterial.tlogEntries[0].logIndex) == (map(.dsseEnvelope.payload | @base64d | fromjson | .predicate.log.index | tostring)))' "$out" >/dev/null ||
        bad "bundles are of other records"
expect 0 "a proof alone" assayctl export 2 --format proof --output "$stage/2.tlog-proof"
[ "$(sed -n 1,2p "$stage/2.tlog-proof")" = "$(printf 'c2sp.org/tlog-proof@v1\nindex 2')" ] || bad "no such proof"
expect 64 "is of one record" assayctl export 2 2 --format proof
expect 64 "that there is" assayctl export 1000 --format proof
expect 0 "the root that Sigstore's verifiers trust" assayctl export --format trusted-root
query '.tlogs[0].baseUrl == "https://stage.example/assayd" and (.tlogs[0].publicKey.validFor.start | endswith("Z"))'
expect 0 "events of what was signed" assayctl export "$first" 100 --format cloudevents
stage_await "what watch tells live" cmp "$out" "$stage/live" || bad "not what watch told live"
expect 64 "a form that nobody knows" assayctl export 2 --format xml
expect 64 "a form that watch does not have" assayctl watch --format bundle
expect 64 "one record of what is whole" assayctl export 2 --format tiles --output "$stage/tiles"
expect 64 "records without saying which" assayctl export --format jsonl
expect 64 "tiles to a terminal" assayctl export --format tiles

expect 0 "the log as tiles" assayctl export --format tiles --output "$stage/tiles"
[ "$(size_of "$stage/tiles")" = 19 ] || bad "not all records"
cmp "$stage/tiles/records.intoto.jsonl" <(assayctl export 0 100) || bad "not the records of the log"
[ "$(sha256sum <"$stage/tiles/tile/0/000.p/19")" != "$(sha256sum </dev/null)" ] || bad "a tile without hashes"
expect 0 "a scan more" assayctl scan trn-0/chip1 --plan quick
expect 0 "extends what is there, as soon as the records are there" assayctl export --format tiles --output "$stage/tiles"
[ "$(size_of "$stage/tiles")" = 22 ] || bad "not the new records"
cmp "$stage/tiles/records.intoto.jsonl" <(assayctl export 0 100) || bad "not the records of the log, extended"
[ -s "$stage/tiles/tile/0/000.p/19" ] || bad "who has the older checkpoint misses its tile"
cp -r "$stage/tiles" "$stage/rotten"
sed -i '3s/payload/pAyload/' "$stage/rotten/records.intoto.jsonl"
cp -r "$stage/rotten" "$stage/rotten.before"
expect 3 "a line that has rotted since ends it" assayctl export --format tiles --output "$stage/rotten"
has "a line of records.intoto.jsonl there is not that record of this log"
diff -r "$stage/rotten.before" "$stage/rotten" || bad "the folder has changed"

# What a record is about.
subject_of() { assayctl --json verify "$1" | jq -r '.statement.subject[0].digest.sha256'; }
for index in 1 2 18; do
        expect 0 "the identity that record $index is about" assayctl export "$index" --format identity --output "$stage/identity"
        [ "$(sha256sum "$stage/identity" | cut -d ' ' -f 1)" = "$(subject_of "$index")" ] || bad "another digest"
done
assayctl export 4 --format identity --output "$stage/identity"
grep -q '^kind: accelerator$' "$stage/identity" && grep -q '^serial: ' "$stage/identity" || bad "no chip with a serial"
expect 0 "which verify takes as what is asked for" assayctl verify 4 --subject "$stage/identity"
expect 3 "and another record is not about" assayctl verify 5 --subject "$stage/identity"
expect 64 "a sign of life is about no part" assayctl export 0 --format identity
expect 64 "one document for one record" assayctl export 1 2 --format identity
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$stage/stranger.pub.pem"
identity() { dbus-send --bus="$bus" --print-reply --dest=org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager.GetIdentity "string:$1" "uint64:$2"; }
expect 0 "whoever is on the bus may ask for it" identity "$(subject_of 4)" 0
expect 1 "by a whole digest" identity abcd 0
has "InvalidArgs"
expect 1 "of a part that is known" identity "$(printf nothing | sha256sum | cut -d ' ' -f 1)" 0
has "NoSuchRecord"
expect 1 "and with no flags" identity "$(subject_of 4)" 1
has "InvalidArgs"
expect 2 "nothing of a record whose key is not trusted" assayctl export 4 --format identity --key "$stage/stranger.pub.pem"
[ ! -s "$out" ] || bad "it is shown"

# A record whose envelope is no more, as after pruning.
change() { # STATEMENT
        python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute(sys.argv[2])' "$stage/records.db" "$1"
}
change "UPDATE identity SET document = replace(document, 'serial: ', 'serial: 0')"
expect 3 "an identity that was changed" assayctl export 4 --format identity
[ ! -s "$out" ] || bad "it is shown"
change "DELETE FROM identity"
expect 2 "and one that is not there" assayctl export 4 --format identity
change "UPDATE record SET payload = NULL WHERE idx = 5"
expect 2 "and of a record that was pruned" assayctl export 5 --format identity
expect 2 "which nobody has forged" assayctl verify 5
has "it was pruned: verify a copy of it"
expect 0 "bundles leave it out" assayctl export 4 3 --format bundle
has "1 record is pruned"
[ "$(wc -l <"$out")" = 2 ] || bad "not the two that are there"
expect 0 "a line stands in its place" assayctl export 4 3
jq -es 'length == 3 and .[1].pruned.index == 5' "$out" >/dev/null || bad "it is not told"
expect 0 "tiles keep its hash" assayctl export --format tiles --output "$stage/holed"
has "1 record is pruned"
cmp "$stage/holed/tile/0/000.p/22" "$stage/tiles/tile/0/000.p/22" || bad "another tree"
[ ! -e "$stage/holed/tile/entries" ] || bad "a bundle with a gap"
expect 0 "and a folder that has it keeps it" assayctl export --format tiles --output "$stage/tiles"
cmp "$stage/tiles/records.intoto.jsonl" "$stage/holed/records.intoto.jsonl" >/dev/null && bad "it was forgotten"

# A record changed behind the daemon's back: no leaf of this log.
cp -r "$stage/tiles" "$stage/before"
python3 - "$stage/records.db" <<'PY'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    (payload,) = db.execute("SELECT payload FROM record WHERE idx = 20").fetchone()
    at = len(payload) // 2
    db.execute("UPDATE record SET payload = ? WHERE idx = 20", (payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1:],))
PY
expect 3 "a record that the tree does not hold ends an export" assayctl export --format tiles --output "$stage/anew"
has "not the one that the log's tree holds"
[ ! -e "$stage/anew/checkpoint" ] || bad "it was published"
expect 3 "and is no bundle" assayctl export 20 --format bundle --output "$stage/bad.json"
[ ! -e "$stage/bad.json" ] || bad "it was written"
kill "$stage_daemon_pid" && wait "$stage_daemon_pid" || true

# Another log of the same name.
rm "$stage"/records.db* "$stage/log.pem" "$stage/log.pem.pub"
stage_daemon trn-0
expect 0 "the other log has a scan too" assayctl scan trn-0/chip1 --plan quick
expect 3 "a folder of one log takes no other" assayctl export --format tiles --output "$stage/tiles"
has "not one of this log"
diff -r "$stage/before" "$stage/tiles" || bad "the folder has changed"

# Where checkpoints are seldom, what none of them has seen is counted.
kill "$stage_daemon_pid" && wait "$stage_daemon_pid" || true
echo 'checkpoint_sec: 600' >>"$stage/assayd.yaml"
stage_daemon trn-0
expect 0 "a scan under few checkpoints" assayctl scan trn-0/chip1 --plan quick
expect 0 "what is covered" assayctl export --format tiles --output "$stage/late"
[ "$(log_size)" -gt "$(size_of "$stage/late")" ] || bad "there was a checkpoint"
has "assayctl: $(($(log_size) - $(size_of "$stage/late"))) records are newer than the newest checkpoint, and in no tile yet"
done_expecting
