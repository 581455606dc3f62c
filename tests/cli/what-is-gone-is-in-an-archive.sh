#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A station that keeps envelopes for a day moves older ones into archives; then whatever is missing from its log without a record that says so is
# told, in each form in which others have the log, and in the database. usage: … BUILD-FOLDER MAKE-OLD-LOG
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/cli/old-station "$@"
cat >"$stage/assayd.yaml" <<YAML
origin: stage.example/assayd
producer: https://stage.example/stations/1
keep_days: 1
targets:
  - {device: "sim:$stage/sim.socket", servers: [us0-0]}
YAML
covered() { assayctl --json audit | jq -e '.checkpoint.size == .size'; }
row() { grep -Eq -- "$1( |\$)" "$out" || bad "no row '$1'"; }

# A file of somebody else's stands where the first archive would.
mkdir "$stage/archive"
echo precious >"$stage/archive/records-000000000000.intoto.jsonl"
stage_daemon us0-0
expect 0 "what is there is not replaced" stage_await "a complaint" grep "Failed to move old envelopes into $stage/archive, trying again tomorrow: File exists" "$stage/assayd.log"
expect 0 "and nothing is dropped" assayctl audit --strict
has "601, verified 601"
stop
rm "$stage/archive/records-000000000000.intoto.jsonl"

# Two archives are full: 512 records, of which each scan's broken chip and its server stay, and what no record tells of may go.
stage_daemon us0-0
expect 0 "it says what it moved" stage_await "it" grep "Moved the envelopes of [0-9]* records older than 1 day into $stage/archive; their hashes stay" "$stage/assayd.log"
n=$(sed -n 's/.*Moved the envelopes of \([0-9]*\) records.*/\1/p' "$stage/assayd.log")
[ "$n" -gt 400 ] || bad "no more than $n"
ls "$stage/archive" | xargs >"$stage/names"
[ "$(cat "$stage/names")" = "records-000000000000.intoto.jsonl records-000000000256.intoto.jsonl" ] || bad "other archives: $(cat "$stage/names")"
stage_await "a checkpoint of all records" covered
expect 0 "its log holds" assayctl audit --strict
has ": holds"
has "verified $((604 - n)), pruned $n"
expect 0 "as JSON" assayctl audit --json
query ".verdict == \"holds\" and .pruned == $n and .withheld == 0 and .findings == []"
expect 0 "the archives have the rest" assayctl audit --archive "$stage/archive" --strict
has "604, verified 604"
expect 0 "an auditor who comes back sees that it has grown" assayctl audit --state "$stage/auditor" --archive "$stage/archive"
expect 0 "with and without archives" assayctl audit --state "$stage/auditor"
has "has grown out of the 604 records it had"
expect 64 "no such folder" assayctl audit --archive "$stage/nowhere"

# A reader who asks for one is told where it is; it is proven as ever, and a copy of it verifies.
expect 2 "a record that was dropped" assayctl verify 1
has "it was pruned, and is in the archive records-000000000000.intoto.jsonl: verify a copy of it, line 2 (sed -n), with --proof, which export 1 --format proof writes"
expect 2 "is not explained" assayctl explain 300
has "it was pruned, and is in the archive records-000000000256.intoto.jsonl"
expect 0 "but the line of its archive verifies" assayctl verify <(sed -n 2p "$stage/archive/records-000000000000.intoto.jsonl")
has "us0-2/chip0"
expect 0 "with its proof" assayctl export 1 --format proof
expect 0 "bundles leave it out and say so" assayctl export 0 100 --format bundle --output "$stage/bundles.jsonl"
has "records are pruned and left out; of the first: it was pruned, and is in the archive records-000000000000.intoto.jsonl"
expect 64 "and make no log" assayctl audit "$stage/bundles.jsonl"
expect 0 "the last record tells of an archive" assayctl records 603
has "archive:v1"
expect 0 "in a line" assayctl explain 603
has "records 256-511 archived, "

# In files: lines alone, and tiles.
expect 0 "lines" assayctl export 0 9999 --output "$stage/log.jsonl"
expect 0 "tiles" assayctl export --format tiles --output "$stage/tiles"
audit() { assayctl audit "$@"; }
expect 2 "marks make no tree" audit "$stage/log.jsonl" --checkpoint "$stage/tiles/checkpoint"
row "checkpoint-unknown +0-510"
expect 2 "beside a batch of others they are no forgery" assayctl verify "$stage/log.jsonl"
has "it was pruned, and is in the archive records-000000000000.intoto.jsonl"
expect 0 "archives do" audit "$stage/log.jsonl" --checkpoint "$stage/tiles/checkpoint" --archive "$stage/archive" --strict
has "604, verified 604"
expect 0 "tiles hold" audit "$stage/tiles" --strict
has "pruned $n"
expect 0 "so they do with archives" audit "$stage/tiles" --archive "$stage/archive" --strict
has "604, verified 604"
changed() { # COMMAND…: a copy of the tiles with other lines
        rm -rf "$stage/changed"
        cp -r "$stage/tiles" "$stage/changed"
        "$@" "$stage/tiles/records.intoto.jsonl" >"$stage/changed/records.intoto.jsonl"
}
changed grep -v '^{"pruned"'
expect 0 "a mark is as good as nothing" audit "$stage/changed" --strict
has "pruned $n"
python3 - "$stage/tiles/records.intoto.jsonl" >"$stage/failed" <<'PYTHON'
import base64, json, sys
for index, line in enumerate(open(sys.argv[1])):
    envelope = json.loads(line)
    if "payload" in envelope and json.loads(base64.b64decode(envelope["payload"]))["predicate"].get("result") == "FAILED":
        print(index)
PYTHON
first=$(head -n 1 "$stage/failed") # of the failures, which is in an archive's range as well
[ "$first" = 4 ] || bad "the first failure is $first"
changed sed "$((first + 1))d"
expect 2 "a failure that is taken out of an archive's range is withheld" audit "$stage/changed"
row "records-withheld +$first"
has "withheld 1"
expect 0 "unless an archive has it" audit "$stage/changed" --archive "$stage/archive"
changed sed "$(awk '{ print $1 + 1 "d" }' "$stage/failed")"
expect 2 "so are all of them" audit "$stage/changed" --json
query ".withheld == $(wc -l <"$stage/failed") and .pruned == $n and ([.findings[].kind] | unique) == [\"records-withheld\", \"run-unfinished\"]"
changed sed 520,523d
expect 2 "so is what is newer than archives" audit "$stage/changed"
row "records-withheld +519-522"
has "pruned $n, withheld 4"
changed sed '603,$d'
expect 2 "the record that tells of an archive, and all that it told of" audit "$stage/changed"
[ "$(grep -c records-withheld "$out")" -gt 20 ] || bad "not each hole"
expect 2 "of which archives have all but itself" audit "$stage/changed" --archive "$stage/archive"
row "records-withheld +602-603"
has "verified 602, withheld 2"

# Another reader, who has not a line of ours, comes to the same.
if python3 tests/interop/verify.py --help >/dev/null; then
        assayctl keys show >"$stage/keyring"
        expect 0 "tiles hold for him" python3 tests/interop/verify.py --keyring "$stage/keyring" "$stage/tiles"
        has "$n archived, 0 withheld"
        changed sed "$((first + 1))d"
        expect 2 "and lack the failure" python3 tests/interop/verify.py --keyring "$stage/keyring" "$stage/changed"
        has "unknown  $first  withheld: of 1 records there is no more than a hash"
        has "$n archived, 1 withheld"
fi

# Archives.
spoil() { # SED-SCRIPT: a copy of the archives with the first of them changed
        rm -rf "$stage/spoiled"
        cp -r "$stage/archive" "$stage/spoiled"
        sed -i "$1" "$stage/spoiled/records-000000000000.intoto.jsonl"
}
spoil '101s/"payload":"eyJ/"payload":"eyK/'
expect 3 "an archive that was changed" audit "$stage/tiles" --archive "$stage/spoiled"
row "archive-wrong +602"
row "record-refused +100"
for line in '$d' 3d 5p; do
        spoil "$line"
        expect 3 "one that was cut, or lacks a line or has one twice" audit "$stage/tiles" --archive "$stage/spoiled"
        row "archive-wrong +602"
        [ "$(grep -c '^broken' "$out")" = 1 ] || bad "its lines are taken for others"
done
spoil '5s/$/ /'
expect 3 "one that has the same records and is another file" assayctl audit --archive "$stage/spoiled"
row "archive-wrong +602"
rm "$stage/spoiled/records-000000000000.intoto.jsonl"
expect 0 "what one has that is not there counts as pruned" audit "$stage/tiles" --archive "$stage/spoiled"
grep -q "verified 604" "$out" && bad "none is missing"
has "pruned records are not there, or not those that the log tells of"
mkfifo "$stage/spoiled/records-000000000000.intoto.jsonl"
expect 2 "a pipe in the place of one" timeout 60 "$stage_build/cli/assayctl" --bus "$bus" audit "$stage/tiles" --archive "$stage/spoiled"
has "spoiled/records-000000000000.intoto.jsonl: a pipe, device or folder stands there in the place of a file"

# Entries among the tiles: the newest bundle is the one that is whole, and the archives' are left out.
entries=tile/entries/002.p/92
[ -e "$stage/tiles/$entries" ] || bad "no $entries: $(find "$stage/tiles/tile/entries")"
changed cat
printf '\1' | dd of="$stage/changed/$entries" bs=1 seek=900 conv=notrunc status=none
expect 3 "an entry that was altered" audit "$stage/changed"
row "tile-wrong +514"
changed cat
rm "$stage/changed/$entries"
expect 2 "entries that were removed" audit "$stage/changed"
row "tile-missing +512-603"
changed cat
head -c 20000 "$stage/tiles/$entries" >"$stage/changed/$entries"
expect 2 "the end of them cut off" audit "$stage/changed"
has "tile-missing"
changed cat
python3 - "$stage/changed/$entries" <<'PYTHON'
import sys
bundle = open(sys.argv[1], "rb").read()
n = 2 + int.from_bytes(bundle[:2], "big")
m = 2 + int.from_bytes(bundle[n:n + 2], "big")
open(sys.argv[1], "wb").write(bundle[n:n + m] + bundle[:n] + bundle[n + m:])
PYTHON
expect 3 "two of them in each other's place" audit "$stage/changed"
row "tile-wrong +512"
row "tile-wrong +513"
changed cat
printf '\1' | dd of="$stage/changed/tile/1/000.p/2" bs=1 seek=40 conv=notrunc status=none
expect 3 "a hash of a higher tile" audit "$stage/changed"
row "tile-wrong +256-511"

# The first reading may have ended before the envelopes moved, and the next is due in a day: that of the next start counts them.
stop
stage_daemon us0-0
counted() { assayctl status | grep -q "; $n without an envelope by then"; }
stage_await "a reading of a log whose envelopes have moved" counted

# In the database.
stop
change() { # STATEMENT
        python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute(sys.argv[2])' "$stage/records.db" "$1"
}
cp "$stage/records.db" "$stage/whole.db"
for row in $first 550 602; do
        change "UPDATE record SET payload = NULL, keyid = NULL, signature = NULL WHERE idx = $row"
        expect 3 "a log that lacks record $row is refused" timeout 20 "$1/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$stage/record.pem" \
                --log-key "$stage/log.pem" --state-dir "$stage"
        has "record $row has no envelope, and no record says which archive has it"
        grep -qi "put the newest backup back" "$err" || bad "it is not told what to do"
        cp "$stage/whole.db" "$stage/records.db"
done
stage_daemon us0-0
expect 0 "and goes on where it is whole" assayctl audit --strict
has "606, verified $((606 - n)), pruned $n"

done_expecting
