#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# From a scan to a record of which a reader without any daemon knows who witnessed it and when; and what a log that was rolled back or
# rewritten comes to. Over a private bus and sockets. Every start of a daemon is a record: only the first part needs a scan.
# usage: a-record-is-witnessed.sh BUILD-FOLDER
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
call() { dbus-send --bus="$bus" --print-reply=literal --dest=org.assay.Assay1 /org/assay/Assay1 "$@"; }
property() { call org.freedesktop.DBus.Properties.Get string:org.assay.Assay1.Manager string:"$1" | awk '{ print $NF }'; }
size() { property LogSize; }
# Until the newest checkpoint covers all records.
settled() { call org.assay.Assay1.Manager.GetCheckpoint uint64:0 | grep -qx "$(size)"; }
witness() { # NAME: makes one that is to listen on a socket
        mkdir "$stage/$1"
        "$stage_build/daemon/witness/assay-witness" --make-key "$stage/$1/key.pem" 2>/dev/null
        printf '%s\n' "name witness.example/$1" "key $stage/$1/key.pem" "state $stage/$1" "listen unix:$stage/$1/socket" >"$stage/$1/conf"
        "$stage_build/daemon/witness/assay-witness" --config "$stage/$1/conf" --print-vkey >"$stage/$1/vkey"
        echo "witness $1 $(cat "$stage/$1/vkey") unix:$stage/$1/socket" >>"$stage/witnesses"
}
declare -A pids
serve() { # NAME
        "$stage_build/daemon/witness/assay-witness" --config "$stage/$1/conf" 2>"$stage/$1.log" &
        pids[$1]=$!
        stage_pids+=("${pids[$1]}")
        stage_await "witness $1" grep -q ' Ready: ' "$stage/$1.log"
}
end() { # NAME
        kill "${pids[$1]}"
        wait "${pids[$1]}" || bad "witness $1 did not end well"
}
cosign() { assayctl --json cosign --keyring "$stage/witnesses" "$@"; }
keyring() { # QUORUM: what a reader trusts
        cat "$stage/record.pub.pem"
        echo "log $vkey"
        grep '^witness' "$stage/witnesses"
        echo "quorum $1"
}
# hand_cosign NAME SECONDS: hands the newest checkpoint over with a signature of that witness, as of so long ago.
hand_cosign() {
        call org.assay.Assay1.Manager.GetCheckpoint uint64:0 | sed '1s/^ *//' | head -n 3 >"$stage/text"
        python3 - "$stage" "$1" "$2" >"$stage/cosigned" <<'PYTHON'
import sys, time
sys.path.insert(0, 'tests/witness')
from tlog import DASH, Key, b64
stage, name, age = sys.argv[1:]
key, text, when = Key(f'{stage}/{name}/key.pem', f'witness.example/{name}', 4), open(f'{stage}/text').read(), int(time.time()) - int(age)
line = b64(key.id + when.to_bytes(8, 'big') + key.sign(f'cosignature/v1\ntime {when}\n{text}'.encode()))
print(f'{text}\n{DASH} {key.name} {line}')
PYTHON
        call org.assay.Assay1.Manager.AddCosignatures string:"$(cat "$stage/cosigned")"$'\n' uint64:0 >/dev/null
}
# lie NAME: answers as one that holds more than anybody, and whose proof of it is none.
lie() {
        rm -f "$stage/$1/socket"
        python3 - "$stage/$1/socket" <<'PYTHON' &
import http.server, socketserver, sys
class Liar(http.server.BaseHTTPRequestHandler):
    def say(self, code, body):
        self.send_response(code)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def address_string(self): return 'nobody'
    def log_message(self, *_): pass
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.say(409, b'4000000000\n')
    def do_GET(self): self.say(200, b'stage.example/assayd\n4000000000\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n\xe2\x80\x94 stage.example/assayd AAAA\n')
socketserver.UnixStreamServer(sys.argv[1], Liar).serve_forever()
PYTHON
        stage_pids+=($!)
        stage_await "the liar" [ -S "$stage/$1/socket" ]
}
reader() { "$stage_build/cli/assayctl" --bus unix:path=/nowhere --json verify "$stage/record.json" "$@"; }

mkdir "$stage/plans"
cp units/plans/*.yaml "$stage/plans"
printf 'plan: quick\nsummary: host links alone\nstage: PREFLIGHT\nsteps:\n  - check: host-link\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
for name in w1 w2 w3; do witness "$name"; done
expect 1 "a witness makes no folder for its state" "$stage_build/daemon/witness/assay-witness" --config "$stage/w1/conf" --state-dir "$stage/nowhere"
has "A new witness wants that folder made; one that has vouched before has its state elsewhere"
echo "quorum 2" >>"$stage/witnesses"
cat >"$stage/assayd.yaml" <<YAML
origin: stage.example/assayd
producer: https://stage.example/stations/1
witnesses:
$(sed 's/^/  - /' "$stage"/w?/vkey)
targets:
  - {device: "sim:$stage/sim.socket", servers: [us0-0]}
YAML
stage_sim sim sim/scenarios/healthy.yaml
start
vkey=$(property LogKey)
for name in w1 w2; do
        echo "log $vkey" >>"$stage/$name/conf"
        serve "$name"
done
expect 0 "a healthy server passes" assayctl --quiet scan us0-0
index=$(assayctl --json records 0 100 | jq '[.[] | select(.type == "health:v2" and .subject == "us0-0/chip3") | .index] | max')
stage_await "a checkpoint" settled

# What nobody has witnessed is not believed by who asks for witnesses.
keyring 2 >"$stage/two.keyring"
keyring w3 >"$stage/third.keyring"
proof() { call org.assay.Assay1.Manager.GetProof uint64:"$index" uint64:0 | sed '1s/^ *//' >"$stage/record.proof"; }
assayctl export "$index" --output "$stage/record.json"
proof
assayctl keys show >"$stage/shown.keyring"
expect 2 "nor by the keyring that the daemon shows" reader --key "$stage/shown.keyring" --proof "$stage/record.proof"
[ "$(grep -c '^witness w[123] witness.example/w[123]+' "$stage/shown.keyring")" = 3 ] && [ "$(tail -n 1 "$stage/shown.keyring")" = "quorum 2" ] ||
        bad "it does not ask for two of three witnesses"
expect 2 "without witnesses nobody can tell" reader --key "$stage/two.keyring" --proof "$stage/record.proof"

# A hook asks for no less than a reader: a proof from the log that its keyring names, and the quorum.
keyring none >"$stage/none.keyring"
keyring none | sed "s|^log .*|log $(assayctl keys create "$stage/other.pem" --origin stage.example/assayd | grep -o 'stage.example/assayd+.*')|" >"$stage/forged.keyring"
keyring none | sed "s|^log .*|log $(assayctl keys create "$stage/elsewhere.pem" --origin elsewhere.example/assayd | grep -o 'elsewhere.example/assayd+.*')|" \
        >"$stage/elsewhere.keyring"
for ask in "gate us0-0/chip3" "verify $index"; do
        expect 0 "$ask: by the key of records alone" assayctl $ask --keyring "$stage/record.pub.pem"
        expect 0 "$ask: proven to be in the log" assayctl $ask --keyring "$stage/none.keyring"
        expect 2 "$ask: seen by nobody" assayctl $ask --keyring "$stage/two.keyring"
        has "not enough witnesses have seen the log with it"
        expect 2 "$ask: in a log that the keyring does not name" assayctl $ask --keyring "$stage/elsewhere.keyring"
        has "does not know the log"
        expect 3 "$ask: in a log of another key" assayctl $ask --keyring "$stage/forged.keyring"
        has "not signed by the log"
done
expect 1 "a hook that takes unknown for a failure gets one" assayctl gate us0-0/chip3 --keyring "$stage/two.keyring" --unknown fail

before=$(date +%s)
expect 0 "two of three witnesses are a quorum" cosign
query 'map(.outcome) == ["cosigned", "cosigned", "unreachable"]'
query 'all(.[:2][]; .records > 16 and (.at | endswith("Z")))'
stage_await "the cosignatures" sh -c 'dbus-send --bus="$1" --print-reply=literal --dest=org.assay.Assay1 /org/assay/Assay1 \
        org.assay.Assay1.Manager.GetCheckpoint uint64:0 | grep -q witness.example/w2' sh "$bus"
proof
expect 0 "then a reader without daemon or network can" reader --key "$stage/two.keyring" --proof "$stage/record.proof"
query '.status == "verified" and (.witnesses | contains("w1") and contains("w2"))'
at=$(jq -r .witnessedOn "$out")
seen=$(date -d "$at" +%s)
if [ "$seen" -lt "$before" ] || [ "$seen" -gt "$(date +%s)" ]; then bad "witnessed at $at"; fi
expect 0 "whoever asks assayd for its keys is told as much" assayctl verify "$index"
grep -Eqx "  seen    by w1, w2, first at $at" "$out" || bad "the witnesses are not told"
expect 0 "as the audit does" assayctl audit
grep -Eq "^  checkpoint  of [0-9]+ records, witnesses 2, the last on " "$out" || bad "the witnesses are not told"
echo "$vkey" >"$stage/log.vkey"
expect 0 "or by hand" tests/record/verify-by-hand "$stage/record.json" "$stage/record.pub.pem" "$stage/record.proof" "$stage/log.vkey" "$stage/w2/vkey"
has "record $index of "
expect 1 "but not by another log's key" tests/record/verify-by-hand "$stage/record.json" "$stage/record.pub.pem" "$stage/record.proof" <(assayctl keys create "$stage/none.pem" --origin stage.example/assayd | sed -n 's/^log //p')
has "NOT VERIFIED: the key in the log's vkey has not signed the checkpoint"
assayctl export "$index" --format bundle --output "$stage/record.bundle"
expect 1 "nor as a bundle" tests/record/verify-by-hand "$stage/record.bundle" "$stage/record.pub.pem"
has "of a bundle, jq -c .dsseEnvelope takes the envelope out"
expect 1 "but not of the one that nobody asked" tests/record/verify-by-hand "$stage/record.json" "$stage/record.pub.pem" "$stage/record.proof" "$stage/log.vkey" "$stage/w3/vkey"
has "NOT VERIFIED: the witness has not cosigned the checkpoint of this proof"
expect 2 "who asks for the third cannot tell" reader --key "$stage/third.keyring" --proof "$stage/record.proof"
expect 0 "a hook can tell too" assayctl gate us0-0/chip3 --keyring "$stage/two.keyring" --max-age 1h
expect 2 "and cannot, asked for the third" assayctl gate us0-0/chip3 --keyring "$stage/third.keyring"
sed '/w1/{s/A\(....\)$/B\1/;t;s/.\(....\)$/A\1/}' "$stage/record.proof" >"$stage/forged.proof"
expect 3 "a cosignature that was altered is refused" reader --key "$stage/two.keyring" --proof "$stage/forged.proof"

expect 2 "who does not answer cosigns nothing" cosign w3
grep -Eq ": no witness has cosigned the [0-9]+ records: no quorum; mend what REASON says and run it again" "$err" || bad "something else is told"
expect 2 "one of three is no quorum" cosign w1
has "too few witnesses have cosigned the "
query 'length == 1'
expect 64 "a witness that nobody knows" cosign w9
serve w3
expect 0 "a witness that does not know the log is passed over" cosign
query '.[2].outcome == "unknown"'
end w3

# A failure counts before any witness has seen it, a pass does not; and a pass is as old as its witness says.
"$stage_build/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: us0-0/chip4, kind: host-link-narrowed, width: 4}' >/dev/null
expect 1 "a chip fails, one passes" assayctl --quiet scan us0-0/chip4 us0-0/chip5 --plan quick
stage_await "a checkpoint" settled
index=$(assayctl --json records 0 100 | jq '[.[] | select(.type == "health:v2" and .subject == "us0-0/chip5") | .index] | max')
expect 1 "an unwitnessed failure fails" assayctl gate us0-0/chip4 --keyring "$stage/third.keyring" --unknown pass
expect 2 "a scan that a keyring is to prove says what proves it" assayctl --quiet scan us0-0/chip6 --plan quick --keyring "$stage/third.keyring"
grep -Eq "not enough witnesses have seen the log with it.*\. Next: assayctl cosign, then assayctl show [0-9]+ by the same keyring$" "$err" || bad "it does not"
grep -Eq "no record that verifies tells of us0-0/chip6$" "$err" || bad "one target is more"
expect 2 "an unwitnessed pass does not pass" assayctl gate us0-0/chip5 --plan quick --keyring "$stage/third.keyring"
expect 0 "it is witnessed, two hours ago" hand_cosign w3 7200
expect 0 "and passes" assayctl gate us0-0/chip5 --plan quick --keyring "$stage/third.keyring"
expect 2 "but is older than an hour" assayctl gate us0-0/chip5 --plan quick --keyring "$stage/third.keyring" --max-age 1h
has "too old"
expect 2 "as verify says" assayctl verify "$index" --keyring "$stage/third.keyring" --max-age 1h
has "too old"
expect 0 "whatever the station's own clock says" assayctl gate us0-0/chip5 --plan quick --keyring "$stage/record.pub.pem" --max-age 1h

# Threat 10: all files of the log are put back, and what stands beside its key, so that the daemon itself can know nothing of it.
stop
mkdir "$stage/old"
cp -a "$stage"/records.db* "$stage"/*.checkpoint "$stage/old"
for _ in 1 2; do start; stop; done
start
stage_await "a checkpoint" settled
expect 0 "a log that has grown is cosigned" cosign
stop
rm "$stage"/records.db* "$stage"/*.checkpoint
cp -a "$stage"/old/* "$stage"
start
stage_await "a checkpoint" settled
cp -a "$stage"/records.db* "$stage"/*.checkpoint "$stage/old"
lie w3
expect 3 "a log that was put back is an alarm" cosign
has ALARM
has ". Next: assayctl status, and DECISIONS in assayd(8)"
has "assayd was handed the checkpoint that witness w"
has "the key of this log has signed a checkpoint of another one"
query 'map(.outcome) == ["rolled-back", "rolled-back", "rolled-back"]'
kill "$stage_daemon_pid"
wait "$stage_daemon_pid" || true
again() {
        timeout 60 "$stage_build/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$stage/record.pem" --log-key "$stage/log.pem" --state-dir "$stage" \
                --run "$stage_build/checks/assay-run" "$@"
}
expect 3 "it does not start again by itself" again
has "this is an old copy"
has "--continue-log"

# One that has outgrown what the witnesses hold before any of them was asked.
rm "$stage"/records.db* "$stage"/*.checkpoint
cp -a "$stage"/old/* "$stage"
for _ in 1 2 3; do start; stop; done
start
stage_await "a checkpoint" settled
expect 3 "nor is it once it has outgrown what it was" cosign w2
query 'map(.outcome) == ["rewritten"]'
has "assayd was handed the checkpoint that witness w2 holds: "
has "Nothing is signed any more"
kill "$stage_daemon_pid"
wait "$stage_daemon_pid" || true
expect 3 "nor then" again
has "two copies went on from the same state"
has "--continue-log"
expect 0 "until somebody decides it" again --continue-log "the disk was put back, ticket 4711"
has "two copies went on from the same state"
! grep -q "Keep the one\|Put the newest" "$err" || bad "it still says what else to do"
expect 0 "once, and twice is no mistake" again --continue-log "the disk was put back, ticket 4711"
has "needs no decision, and nothing was signed: start assayd"
start
stage_await "a checkpoint" settled
expect 3 "the witnesses tell of it for ever" cosign
has "ALARM: the log was rewritten"
has "of another history of this log, which somebody has decided to leave. The witness signs nothing more of this name: give the log another \`origin\`"
expect 0 "and the log goes on" assayctl status
stop

done_expecting
