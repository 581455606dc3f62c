#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A log in files, as it is and with something taken from it; then that of a daemon. usage: … BUILD-FOLDER MAKE-LOG
set -euo pipefail
make_log=$(realpath "$2")
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
log=$stage/log
mkdir "$log"
"$make_log" "$log" 15
jsonl=$log/records.intoto.jsonl
audit() { "$stage_build/cli/assayctl" --no-pager --bus unix:path=/nowhere audit "$@" --key "$log/keyring"; }
# row REGEX: the last command's table has it.
row() { grep -Eq -- "$1( |\$)" "$out" || bad "no row '$1'"; }
# changed COMMAND…: a copy of the folder with other records.
changed() {
        rm -rf "$stage/changed"
        cp -r "$log" "$stage/changed"
        "$@" "$jsonl" >"$stage/changed/records.intoto.jsonl"
}

expect 0 "a log in tiles holds" audit "$log"
has ": holds"
has "270, verified 270"
expect 0 "so do its records with their checkpoint" audit "$jsonl" --checkpoint "$log/checkpoint"
expect 2 "without it their end is not known" audit "$jsonl"
row "checkpoint-unknown +-"
has "there is no checkpoint:"
expect 2 "nor by an empty one" audit "$jsonl" --checkpoint /dev/null
row "checkpoint-unknown +-"
has "the checkpoint is empty:"
expect 2 "as JSON, which names no record either" audit "$jsonl" --json
query '.findings == [{kind: "checkpoint-unknown", weight: "open", first: null, last: null, text: .findings[0].text}]'
expect 0 "as JSON" audit "$log" --json
query '.verdict == "holds" and .size == 270 and .runs == 15 and .findings == [] and (.chips | length) == 16'
query '[.chips[] | select(.chip == "us0-2/chip3")][0] | .FAILED == 15 and .PASSED == 0 and .newest == 256'
expect 0 "how often each chip was scanned" audit "$log" --chips
has "us0-2/chip3  preflight      0      0     15"

sed 5d "$jsonl" >"$stage/gap.jsonl"
expect 3 "a record that is missing" audit "$stage/gap.jsonl" --checkpoint "$log/checkpoint"
has "does not hold"
row "records-missing +4"
changed sed 5d
expect 2 "one that has left its hash alone may be withheld" audit "$stage/changed"
row "records-withheld +4"
changed sed 1,40d
expect 2 "the oldest as well" audit "$stage/changed"
row "records-withheld +0-39"
has "verified 230, withheld 40"
# hide: of each FAILED record no more than the mark that the daemon sets for one that was pruned, or nothing at all.
hide() {
        python3 -c 'import base64, hashlib, json, sys
for index, line in enumerate(open(sys.argv[2])):
    envelope = json.loads(line)
    payload = base64.b64decode(envelope["payload"])
    if json.loads(payload)["predicate"].get("result") != "FAILED":
        print(line, end="")
    elif sys.argv[1] == "mark":
        type = envelope["payloadType"].encode()
        id = hashlib.sha256(b"DSSEv1 %d %s %d %s" % (len(type), type, len(payload), payload)).hexdigest()
        print(json.dumps({"pruned": {"index": index, "sha256": id}}, separators=(",", ":")))' "$@"
}
changed hide mark
expect 2 "each FAILED record called pruned" audit "$stage/changed"
has "withheld 30"
[ "$(grep -c records-withheld "$out")" -ge 15 ] || bad "not all are told"
changed hide nothing
expect 2 "or taken out" audit "$stage/changed"
has "verified 240, withheld 30"
head -n -3 "$jsonl" >"$stage/short.jsonl"
expect 3 "an end that is cut off" audit "$stage/short.jsonl" --checkpoint "$log/checkpoint"
row "records-missing +267-269"
sed '5{h;d};6G' "$jsonl" >"$stage/swapped.jsonl"
expect 3 "records in another order" audit "$stage/swapped.jsonl" --checkpoint "$log/checkpoint"
has "record-misplaced"
changed sed '7s/"payload":"eyJ/"payload":"eyK/'
expect 3 "a record that was changed" audit "$stage/changed"
row "record-refused +6"
changed cat
printf '\1' | dd of="$stage/changed/tile/0/000" bs=1 seek=900 conv=notrunc status=none
expect 3 "a hash that was changed" audit "$stage/changed"
row "leaf-wrong +28"
changed cat
sed -i 2s/270/269/ "$stage/changed/checkpoint"
expect 3 "a checkpoint that was changed" audit "$stage/changed"
has "the log's signature does not fit"
for part in records.intoto.jsonl checkpoint tile/0/000; do
        changed cat
        rm "$stage/changed/$part" && mkfifo "$stage/changed/$part"
        case $part in tile/*) status=2 ;; *) status=64 ;; esac
        expect $status "a pipe in the place of $part" timeout 60 "$stage_build/cli/assayctl" audit "$stage/changed" --key "$log/keyring"
        has "changed/$part: a pipe, device or folder stands there in the place of a file"
done
truncate -s 1300M "$stage/endless"
expect 2 "what nobody has signed is not read without an end" audit "$stage/endless" --checkpoint "$log/checkpoint"
has "goes on and on: given up"
rm "$stage/endless"
expect 0 "records that come through a pipe" audit <(cat "$jsonl") --checkpoint <(cat "$log/checkpoint")
changed head -n 0
expect 2 "hashes alone prove no record" audit "$stage/changed"
has "nothing-checked"
: >"$stage/empty.jsonl"
expect 2 "nothing is not a log that holds" audit "$stage/empty.jsonl"
head -c 3000000 /dev/zero | tr '\0' a >"$stage/long.jsonl"
expect 3 "a line without an end" audit "$stage/long.jsonl"
expect 64 "no such file" audit "$stage/nothing"
mkdir "$stage/bare"
expect 64 "a folder without a log" audit "$stage/bare"
has "no log: it has neither records.intoto.jsonl nor checkpoint nor tile"
cp -r "$log/tile" "$stage/bare"
expect 2 "hashes are part of one" audit "$stage/bare" --checkpoint "$log/checkpoint"
row "nothing-checked +-"
grep -v ^log "$log/keyring" | grep -v ^quorum >"$stage/other.keyring"
expect 2 "a log that the keyring does not name" "$1/cli/assayctl" audit "$log" --key "$stage/other.keyring"
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$stage/other.pub.pem"
expect 2 "keys that nobody knows" "$1/cli/assayctl" audit "$jsonl" --key "$stage/other.pub.pem"
has "unknown 270"

# An auditor who comes back. Either log holds by itself: the same keys wrote two.
mkdir "$stage/fork" && cp "$log/record.key" "$log/log.key" "$stage/fork"
"$make_log" "$stage/fork" 16
expect 0 "a log that is seen for the first time" audit "$log" --state "$stage/seen"
expect 0 "is as it was" audit "$log" --state "$stage/seen"
has "has grown out of the 270 records it had"
expect 0 "another log of the same keys" audit "$stage/fork"
expect 3 "is not that one, grown" audit "$stage/fork" --state "$stage/seen"
row "rewritten +0-269"
expect 0 "which is still known" audit "$log" --state "$stage/seen"

stage_bus
stage_sim sim sim/scenarios/demo.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: host links alone\nstage: PREFLIGHT\nsteps:\n  - check: host-link\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon us0-0
sim() { "$stage_build/sim/assay-sim" "$1" --socket "$stage/sim.socket" "$2" >/dev/null; }
sim inject '{at: us0-0/chip4, kind: host-link-narrowed, width: 4}'
expect 1 "a chip fails" assayctl scan us0-0/chip4 --plan quick
sim heal us0-0/chip4
expect 0 "and passes" assayctl scan us0-0/chip4 --plan quick
expect 0 "the daemon's log holds" assayctl audit --json
query '.verdict == "holds" and .checkpoint.size > 0 and .refused == 0 and .unknown == 0 and .verified == .size and .heartbeats == 1 and .runs == 2'
query '[.findings[].kind] | contains(["passed-after-failed"])'
covered() { assayctl --json audit | jq -e '.checkpoint.size == .size'; }
stage_await "a checkpoint of all records" covered
expect 0 "and so does what it exports" assayctl export --format tiles --output "$stage/tiles"
expect 0 "in tiles" assayctl audit "$stage/tiles" --json
query '.verdict == "holds" and .checkpoint.size == .size'
expect 1 "where something is to be looked at" assayctl audit "$stage/tiles" --strict

expect 0 "an auditor sees it" assayctl audit --state "$stage/auditor"
expect 0 "it grows" assayctl scan us0-0/chip5 --plan quick
stage_await "a checkpoint of all records" covered
expect 0 "and he comes back" assayctl audit --state "$stage/auditor" --json
query '.verdict == "holds" and .seenSize == 7 and .checkpoint.size == 10'
expect 0 "as far as an older checkpoint goes" assayctl audit --checkpoint "$stage/tiles/checkpoint"
has "3 records are newer than the checkpoint, and not audited"
expect 0 "its records in a file" assayctl export 0 10 --output "$stage/newer.jsonl"
expect 2 "and what that does not cover is open" assayctl audit "$stage/newer.jsonl" --checkpoint "$stage/tiles/checkpoint"
row "records-unsigned +7-9"
expect 0 "a copy of what it was holds" assayctl audit "$stage/tiles"
expect 3 "but is an old one to who has seen more" assayctl audit "$stage/tiles" --state "$stage/auditor"
row "rolled-back +7-9"

# Envelopes that are no more, as where they were pruned, or kept back.
prune() {
        python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE record SET payload = NULL WHERE idx IN (%s)" % sys.argv[2])' "$stage/records.db" "$1"
}
prune 0,1,2
expect 2 "envelopes that the database has no more may be withheld" assayctl audit --json
query '.withheld == 3 and .pruned == 0 and .verified == 7 and (.findings | map(.kind) | unique) == ["records-withheld"]'
query '.findings | map(select(.first == 2)) | length == 1 and (.[0].text | contains("it FAILED, as record 3 says"))'
expect 0 "and are exported as such" assayctl export --format tiles --output "$stage/pruned"
expect 2 "in tiles" assayctl audit "$stage/pruned"
has "verified 7, withheld 3"
expect 0 "alone" assayctl export 0 10 --output "$stage/pruned.jsonl"
expect 2 "records make no tree without them" assayctl audit "$stage/pruned.jsonl" --checkpoint "$stage/pruned/checkpoint"
row "checkpoint-unknown +0-2"
prune 5
expect 2 "each hole is told" assayctl audit
row "records-withheld +5"
row "records-withheld +0-1"
row "records-withheld +2"
done_expecting
