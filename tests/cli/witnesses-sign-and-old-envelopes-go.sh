#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the log of a running daemon takes and gives away: signatures of witnesses, made here with openssl alone, and old envelopes, whose
# proofs stay. The log is of a station that has been up for days.
# usage: … BUILD-FOLDER MAKE-OLD-LOG
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/cli/old-station "$@"

start() { stage_daemon us0-0; }
call() { # METHOD ARGUMENT…
        dbus-send --bus="$bus" --print-reply=literal --dest=org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager."$1" "${@:2}"
}
size() {
        dbus-send --bus="$bus" --print-reply=literal --dest=org.assay.Assay1 /org/assay/Assay1 org.freedesktop.DBus.Properties.Get \
                string:org.assay.Assay1.Manager string:LogSize | awk '{ print $NF }'
}
settled() { call GetCheckpoint uint64:0 | grep -qx "$(size)"; } # else a newer one comes at any moment
text() { sed -e '1s/^ *//'; } # of a string that is printed so
# Bytes of a witness's key: type and public key; its ID; its signature of FILE at SEC.
public() { printf '\004'; openssl pkey -in "$stage/w1.pem" -pubout -outform DER | tail -c 32; }
id() { { printf 'example.com/w1\n'; public; } | sha256sum | cut -c 1-8; }
bytes() { python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))' "$1"; }
cosignature() { # FILE SEC
        { printf 'cosignature/v1\ntime %d\n' "$2"; cat "$1"; } >"$stage/message"
        openssl pkeyutl -sign -inkey "$stage/w1.pem" -rawin -in "$stage/message" -out "$stage/signature"
        printf '— example.com/w1 %s\n' "$({ bytes "$(id)"; bytes "$(printf %016x "$2")"; cat "$stage/signature"; } | base64 -w 0)"
}

openssl genpkey -algorithm ed25519 -out "$stage/w1.pem"
cat >"$stage/assayd.yaml" <<YAML
origin: stage.example/assayd
producer: https://stage.example/stations/1
witnesses: ["example.com/w1+$(id)+$(public | base64 -w 0)"]
keep_days: 0
targets:
  - {device: "sim:$stage/sim.socket", servers: [us0-0]}
YAML
start
stage_await "a checkpoint of all records" settled
call GetCheckpoint uint64:0 | text >"$stage/note"
head -n 3 "$stage/note" >"$stage/text"

expect 0 "a witness signs" call AddCosignatures string:"$(cat "$stage/text"; echo; cosignature "$stage/text" 1800000000)"$'\n' uint64:0
expect 0 "and is told with the checkpoint" call GetCheckpoint uint64:0
[ "$(grep -c '^— ' "$out")" = 2 ] || bad "there are not two signatures"
has "$(cosignature "$stage/text" 1800000000)"
expect 0 "and with the proof" call GetProof uint64:0 uint64:0
has "— example.com/w1 "
expect 1 "what fits no text is refused" call AddCosignatures string:"$(cat "$stage/text"; echo; cosignature "$stage/note" 1800000000)"$'\n' uint64:0
has "the signature of a witness does not fit"
sed 2s/.*/77/ "$stage/text" >"$stage/other"
expect 1 "a checkpoint that the log never gave is refused" call AddCosignatures string:"$(cat "$stage/other"; echo; cosignature "$stage/other" 1800000000)"$'\n' uint64:0
has "no such checkpoint"
expect 1 "a call without a note is refused" call AddCosignatures string:"" uint64:0
expect 1 "so is a flag that there is not" call AddCosignatures string:"" uint64:1
stop

# Which is in force from the next start on.
sed -i 's/keep_days: .*/keep_days: 1/' "$stage/assayd.yaml"
start
expect 0 "the daemon says what it dropped" stage_await "it" grep "Moved the envelopes of [0-9]* records older than 1 day into $stage/archive" "$stage/assayd.log"
expect 0 "an export says that they were" assayctl export 0 256 --format jsonl
n=$(grep -c '^{"pruned":.*"archive":"records-000000000000.intoto.jsonl"}}$' "$out")
[ "$(wc -l <"$out")" = 256 ] && [ "$n" -gt 200 ] || bad "it has $(wc -l <"$out") lines, $n of them marks"
expect 0 "they are not listed" assayctl records 0 256
has "$n records are pruned"
[ "$(awk '$1 ~ /^[0-9]+$/' "$out" | wc -l)" = $((256 - n)) ] || bad "it lists others"
expect 0 "a record that was dropped is still proven" call GetProof uint64:0 uint64:0
expect 0 "against the checkpoint that the witness signed" call GetProof uint64:0 uint64:0
has "— example.com/w1 "
stop
[ "$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM record WHERE idx < 256 AND coalesce(envelope, keyid, signature, payload) IS NULL").fetchone()[0])' "$stage/records.db")" = "$n" ] ||
        bad "another record was dropped"
start
expect 0 "and the log goes on" assayctl targets

# The key of the log signs elsewhere: at another station that was made from a copy of this one.
sed 2,3d "$stage/text" >"$stage/forged"
printf '9999\n%s\n' "$(printf 0123456789abcdef0123456789abcdef | base64 -w 0)" >>"$stage/forged"
log_id=$(grep -a "^— stage.example" "$stage/note" | cut -d " " -f 3 | base64 -d | head -c 4 | od -An -tx1 | tr -d ' ')
openssl pkeyutl -sign -inkey "$stage/log.pem" -rawin -in "$stage/forged" -out "$stage/signature"
line="— stage.example/assayd $({ bytes "$log_id"; cat "$stage/signature"; } | base64 -w 0)"
expect 1 "a checkpoint of another log under the same key is an alarm" call AddCosignatures string:"$(cat "$stage/forged"; echo; echo "$line")"$'\n' uint64:0
has "Nothing is signed any more"
grep -q "The log $stage/records.db is not sound, nothing is signed" "$stage/assayd.log" || bad "no alarm"
expect 2 "nothing is scanned any more" assayctl scan us0-0 --plan preflight
unsound="he log is not sound, nothing is signed: assayctl status says why"
has "$unsound"
expect 1 "nor is a cosignature kept" call AddCosignatures string:"$(cat "$stage/note")"$'\n' uint64:0
has "$unsound"
for part in us0-0 us0-0/chip9; do
        expect 2 "what nobody has scanned is not told as that" assayctl gate $part --plan production
        has "the log is not sound (assayctl status), so no pass in it counts: "
done
expect 0 "nothing is listed as passed" assayctl targets --chips
has "the log is not sound, so no pass in it counts: assayctl status says why"
! grep -qw PASSED "$out" || bad "something is"
expect 0 "the records hold, and the rest is said" assayctl audit
has "the log is not sound, so no pass in it counts: assayctl status says why"
kill "$stage_daemon_pid"
expect 3 "and so the daemon ends" wait "$stage_daemon_pid"
expect 3 "nor after a start" timeout 20 "$1/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$stage/record.pem" --log-key "$stage/log.pem" \
        --state-dir "$stage"
has "this is an old copy"

done_expecting
