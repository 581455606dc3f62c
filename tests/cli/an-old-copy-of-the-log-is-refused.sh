#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A daemon goes on from what it published, or not at all: a backup that was put back, a log that went on elsewhere too, another key,
# another log, hashes that were changed. Every start of a daemon is a record, so that nothing needs to be scanned.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus

start() { stage_daemon us0-0; }
stop() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" || bad "the daemon did not end well"
}
database() { # FILE SQL
        python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); print(*[row[0] for row in db.execute(sys.argv[2])]); db.commit()' "$@"
}
records() { database "$1" "SELECT count(*) FROM record"; }
put() { # FILE: in place of the database, without what was beside it
        rm -f "$stage"/records.db "$stage"/records.db-wal "$stage"/records.db-shm
        cp "$1" "$stage/records.db"
}
daemon() { # ARGUMENT…
        timeout 20 "$1/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$stage/record.pem" --state-dir "$stage" "${@:2}"
}
refused() { # TEXT NAME ARGUMENT…: with status 3 and an alarm, and nothing was signed
        local text=$1 name=$2 before
        shift 2
        before=$(records "$stage/records.db")
        expect 3 "$name" daemon "$stage_build" "$@"
        has "nothing is signed"
        has "$text"
        [ "$(records "$stage/records.db")" = "$before" ] || bad "something was signed"
}
own=(--log-key "$stage/log.pem")

start
database "$stage/records.db" "VACUUM INTO '$stage/first.db'"
stop
cp "$stage/records.db.anchor" "$stage/first.anchor"
for _ in 1 2; do start; stop; done
[ "$(records "$stage/records.db")" = 3 ] || bad "a start is no record"
[ "$(sed -n 2p "$stage/records.db.anchor")" = 3 ] || bad "the anchor is of $(sed -n 2p "$stage/records.db.anchor") records"
cp "$stage/records.db" "$stage/newest.db"
cp "$stage/records.db.anchor" "$stage/newest.anchor"

put "$stage/first.db"
refused "this is an old copy" "a backup that was put back is refused" "${own[@]}"
has "checkpoint of 3"
has "Put the newest one back"
[ "$(grep -o 'see [A-Z ]* in assayd(8)' -i "$err")" = "see DECISIONS in assayd(8)" ] || bad "it points elsewhere, or twice"
expect 3 "a note that is blank answers for nothing" daemon "$1" "${own[@]}" --continue-log "  "
has "the note is blank"
refused "there is no log key" "without the log key nothing is told from the rest"
put "$stage/newest.db"
start
stop
[ "$(records "$stage/records.db")" = 4 ] || bad "the newest copy does not go on"
cp "$stage/records.db" "$stage/newest.db"
cp "$stage/records.db.anchor" "$stage/newest.anchor"

# Nor is it without its anchor, for what its key has signed stands beside the key, too.
put "$stage/first.db"
cp "$stage/first.anchor" "$stage/records.db.anchor"
refused "this is an old copy" "a backup with its own anchor is refused" "${own[@]}"

# The same state, gone on elsewhere: the same indices, other records.
rm "$stage"/*.checkpoint
for _ in 1 2 3 4; do start; stop; done
cp "$stage/newest.anchor" "$stage/records.db.anchor"
refused "two copies went on from the same state" "a log that used an index twice is refused" "${own[@]}"

rm "$stage"/*.checkpoint
put "$stage/newest.db"
"$1/daemon/assayd" --make-key "$stage/other.pem" 2>/dev/null
refused "it is not signed by the log" "another log key is refused" --log-key "$stage/other.pem"
expect 1 "the key of the records is no log key" daemon "$1" --log-key "$stage/record.pem"
has "make another one"

database "$stage/records.db" "UPDATE entry SET nodes = zeroblob(64) WHERE idx = 1" >/dev/null
refused "hashes were changed" "a leaf that was changed is refused" "${own[@]}"
put "$stage/newest.db"
database "$stage/records.db" "DELETE FROM checkpoint" >/dev/null
database "$stage/records.db" "UPDATE record SET id = zeroblob(32) WHERE idx = 3" >/dev/null
refused "is stored under another ID" "a record that was changed is refused" "${own[@]}"
put "$stage/newest.db"
echo nonsense >"$stage/records.db.anchor"
refused "holds no checkpoint of this log" "an anchor that is none is refused" "${own[@]}"

rm "$stage/records.db.anchor"
refused "there is no " "a log without its anchor is refused" "${own[@]}"

# Committed and not anchored: what a crash between the two leaves.
cp "$stage/newest.anchor" "$stage/records.db.anchor"
start
stop
[ "$(sed -n 2p "$stage/records.db.anchor")" = 5 ] || bad "an anchor that is behind is an alarm"


# Found out while it runs: an index that somebody else has used.
cat >"$stage/healthy.yaml" <<YAML
scenario: healthy servers
seed: 3
topology: {ultraservers: 1}
YAML
stage_sim sim "$stage/healthy.yaml"
start
expect 0 "a scan passes" assayctl scan us0-0 --plan preflight
expect 0 "and counts" assayctl gate us0-0 --plan preflight
is_read() { assayctl status | grep -q '^read again  all, 20'; }
stage_await "the scrub" is_read
expect 0 "status shows how the log is" assayctl status
has "signing     yes"
database "$stage/records.db" "INSERT INTO record (idx, id) VALUES ((SELECT count(*) FROM record), zeroblob(32))" >/dev/null
expect 2 "no scan starts in a log that somebody else writes" assayctl scan us0-0 --plan preflight
expect 2 "in such a log no pass counts" assayctl gate us0-0 --plan preflight
has "not sound"
expect 3 "status says why nothing is signed" assayctl status
has "signing     nothing: it is not what was written"
expect 0 "which is an alarm" grep "is not sound, nothing is signed: it is not what was written" "$stage/assayd.log"
kill "$stage_daemon_pid"
expect 3 "such a daemon ends with 3" wait "$stage_daemon_pid"
refused "gap" "and so is the next start" "${own[@]}"

done_expecting
