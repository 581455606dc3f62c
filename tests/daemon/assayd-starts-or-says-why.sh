#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program itself: what it refuses with which status, and how it starts, tells systemd, and ends.
set -u
assayd=$1
worker=$2
folder=$(mktemp -d) || exit 1
bus=
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; [ -z "$bus" ] || kill "$bus" 2>/dev/null; rm -rf "$folder"' EXIT
n=0

ok() {
        n=$((n + 1))
        echo "ok $n - $1"
}

fail() {
        n=$((n + 1))
        echo "not ok $n - $1"
        sed 's/^/# /' "$folder/log"
        exit 1
}

# expect STATUS TEXT NAME COMMAND …
expect() {
        status=$1 text=$2 name=$3
        shift 3
        "$@" >"$folder/log" 2>&1
        got=$?
        { [ "$got" = "$status" ] && grep -qF -- "$text" "$folder/log"; } && ok "$name" || fail "$name (status $got)"
}

# The whole daemon; ends when it is ready or dead.
start() {
        NOTIFY_SOCKET= "$assayd" --config "$folder/good.yaml" --bus "unix:path=$folder/bus" --key "$folder/key" \
                --state-dir "$folder" --run "$worker" >"$folder/log" 2>&1 &
        daemon=$!
        for _ in $(seq 100); do
                grep -q Ready "$folder/log" && return 0
                kill -0 "$daemon" 2>/dev/null || return 1
                sleep 0.05
        done
        return 1
}

printf 'origin: a b\n' >"$folder/bad.yaml"
printf 'origin: test/assayd\nproducer: urn:test\ntargets: [{device: sim:pass, servers: [us0-0]}]\n' >"$folder/good.yaml"
cat >"$folder/bus.conf" <<BUS
<busconfig><type>system</type><listen>unix:path=$folder/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>
BUS

expect 64 "Unexpected argument 'x'" "an argument that it does not take is refused" "$assayd" x
expect 64 "" "an option that it does not know is refused" "$assayd" --colour
expect 64 "Unknown log level" "a log level that there is not is refused" "$assayd" --log-level loud
expect 64 "bad.yaml:1:10: " "a bad configuration is refused with its position" "$assayd" --config "$folder/bad.yaml"
expect 64 "none.yaml" "a configuration that is not there is refused" "$assayd" --config "$folder/none.yaml"
expect 1 "No key" "it makes no key silently" "$assayd" --config "$folder/good.yaml" --state-dir "$folder"
expect 0 "key.pub" "it makes a key when told to" "$assayd" --make-key "$folder/key"
expect 1 "File exists" "it never overwrites a key" "$assayd" --make-key "$folder/key"
expect 0 "p256.pub" "it makes one of the other algorithm" "$assayd" --make-key "$folder/p256" --algorithm ecdsa-p256
grep -q 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE' "$folder/p256.pub" || { echo "FAILED: that is no P-256 key"; exit 1; }
expect 64 "expected ed25519 or ecdsa-p256" "there is no third" "$assayd" --make-key "$folder/rsa" --algorithm rsa
expect 1 "bus" "it does not start without its bus" "$assayd" --config "$folder/good.yaml" --key "$folder/key" \
        --state-dir "$folder" --bus "unix:path=$folder/bus"

mkdir "$folder/small"
expect 1 "Failed to open the log" "a file that may not grow is told like a full disk" prlimit --fsize=8192 "$assayd" --config "$folder/good.yaml" --key "$folder/key" \
        --state-dir "$folder/small" --bus "unix:path=$folder/bus"

dbus-daemon --config-file="$folder/bus.conf" --nofork --nopidfile >"$folder/bus.log" 2>&1 &
bus=$!
for _ in $(seq 100); do [ -S "$folder/bus" ] && break; sleep 0.05; done

start && ok "it starts" || fail "it starts"
kill -HUP "$daemon" && sleep 0.2 && kill -0 "$daemon" && ok "SIGHUP does nothing silly" || fail "SIGHUP does nothing silly"
ticks=$(awk '/voluntary_ctxt/ {n += $2} END {print n}' "/proc/$daemon/task/$daemon/status")
sleep 1
idle=$(($(awk '/voluntary_ctxt/ {n += $2} END {print n}' "/proc/$daemon/task/$daemon/status") - ticks))
[ "$idle" -le 1 ] && ok "idle, it does not wake" || fail "idle, it wakes $idle times a second"
kill -TERM "$daemon"
wait "$daemon" && ok "SIGTERM ends it cleanly" || fail "SIGTERM ends it cleanly"
daemon=

start || fail "it starts again"
kill "$bus"
wait "$daemon"
[ $? = 1 ] && ok "without its bus it ends, and not as if it had been told to" || fail "the end of the bus is no success"
daemon= bus=

# What is not sound is not continued.
expect 1 "Failed to load the key" "a key that is none is refused" "$assayd" --config "$folder/good.yaml" \
        --key "$folder/good.yaml" --state-dir "$folder" --bus "unix:path=$folder/bus"
printf 'garbage' | dd of="$folder/records.db" conv=notrunc 2>/dev/null
expect 3 "nothing is signed" "a log that is damaged is not continued" "$assayd" --config "$folder/good.yaml" \
        --key "$folder/key" --state-dir "$folder" --bus "unix:path=$folder/bus"
echo "1..$n"
