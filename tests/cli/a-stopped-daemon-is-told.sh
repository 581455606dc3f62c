#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A daemon that is stopped is told within seconds by every verb that asks it, and Ctrl-C says what becomes of the scan.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/demo.yaml
stage_daemon us0-0 us0-1 us0-2
expect 1 "a scan to ask for" assayctl scan us0-1

# All at once, since each takes seconds: NAME COMMAND…
begun=$EPOCHREALTIME
at_once() {
        local name=$1 status=0
        shift
        assayctl "$@" >"$stage/$name.out" 2>"$stage/$name.err" </dev/null || status=$?
        echo "$status $(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" >"$stage/$name.status"
}
kill -STOP "$stage_daemon_pid"
names=()
for words in targets scans "show 1" "cancel 1" "verdict us0-1" "coverage us0-1" records "verify 3" "export 3" audit "explain 3" "keys show" log-level status watch \
                "scan us0-0" "scan us0-0 --no-wait"; do
        name=${words// /-}
        name=${name//\//-}
        names+=("$name")
        # shellcheck disable=SC2086
        at_once "$name" $words &
        waited+=($!)
done
wait "${waited[@]}"
for name in "${names[@]}"; do
        expected=$((expected + 1))
        cp "$stage/$name.out" "$out" && cp "$stage/$name.err" "$err"
        read -r status took <"$stage/$name.status"
        [ "$status" = 69 ] || bad "$name ended with $status"
        awk -v t="$took" 'BEGIN { exit !(t >= 4 && t <= 14) }' || bad "$name took $took s"
        grep -q "assayd does not answer on this bus (stopped?)" "$err" || bad "$name does not say why"
done
kill -CONT "$stage_daemon_pid"
expect 0 "what was given up began no scan" assayctl scans
[ "$(grep -c preflight "$out")" = 1 ] || bad "another one"

# Somebody at a terminal. A shell makes what it starts in the background ignore Ctrl-C, so somebody else starts it.
cat >"$stage/press.py" <<'PY'
import os, signal, subprocess, sys, time
daemon, bus, assayctl = int(sys.argv[1]), sys.argv[2], sys.argv[3]

def start(*words):
        return subprocess.Popen([assayctl, "--bus", bus, "--no-pager", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, bufsize=1, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

def await_line(child, part):
        for line in child.stderr:
                sys.stderr.write(line)
                if part in line:
                        return
        sys.exit(f"no word of '{part}'")

def end(child, *statuses):
        sys.stderr.write(child.stderr.read())
        if child.wait() not in statuses:
                sys.exit(f"ended with {child.returncode}, not {statuses}")

def await_scan():
        for _ in range(200):
                if "running" in subprocess.run([assayctl, "--bus", bus, "targets"], capture_output=True, text=True).stdout:
                        return time.sleep(0.3)
                time.sleep(0.02)

# A scan, and a daemon that is stopped in the middle of it.
def stop_within():
        child = start("scan", "us0-0", "us0-1", "us0-2", "--plan", "production")
        await_scan()
        os.kill(daemon, signal.SIGSTOP)
        await_line(child, "assayd does not answer (stopped?)")
        return child

# Before the daemon has taken it.
os.kill(daemon, signal.SIGSTOP)
child = start("scan", "us0-0")
time.sleep(1)
child.send_signal(signal.SIGINT)
end(child, 130)
os.kill(daemon, signal.SIGCONT)

# In the middle, and it goes on.
child = stop_within()
os.kill(daemon, signal.SIGCONT)
await_line(child, "answers again")
child.send_signal(signal.SIGINT)
end(child, 1, 2) # 1: something was found before

# In the middle, and somebody waits for the end of it.
child = stop_within()
child.send_signal(signal.SIGINT)
await_line(child, "is cancelled when assayd answers again, if somebody still waits for it")
os.kill(daemon, signal.SIGCONT)
await_line(child, "cancelling scan 3, waiting for its records")
end(child, 1, 2)

# In the middle, and somebody leaves.
child = stop_within()
child.send_signal(signal.SIGINT)
await_line(child, "is cancelled when assayd answers again, if somebody still waits for it")
child.send_signal(signal.SIGINT)
end(child, 130)
os.kill(daemon, signal.SIGCONT)

PY
assayctl watch >"$stage/watch.log" 2>&1 &
watch_pid=$!
stage_pids+=($!)
expect 0 "Ctrl-C and a daemon that is stopped" python3 "$stage/press.py" "$stage_daemon_pid" "$bus" "$stage_build/cli/assayctl"
has "left before assayd has answered: no scan was begun, as far as is known; assayctl scans lists them"
has "assayd does not answer (stopped?): waiting for it with scan 2"
has "assayd answers again: scan 2 goes on"
has "cancelling scan 2, waiting for its records"
has "left scan 4, which is not cancelled: assayd does not answer (stopped?). It goes on when assayd does: assayctl cancel 4"
stage_await "who watches is told" grep -q "assayd does not answer (stopped?): waiting for it" "$stage/watch.log"
sleep 1 # longer than a scan that was cancelled takes to end
expect 0 "so it is" assayctl scans
grep -Eq '^ +4 us0-0 and 2 more +production +(running|signing|finished)' "$out" && ! grep -Eq '^ +4 .* cancelled' "$out" || bad "it was cancelled"
assayctl cancel 4 2>/dev/null || true

# Who waits is told how to see the rest where assayd is ended, as by an update.
is_begun() { assayctl scans | grep -Eq '^ +5 .*(queued|running)'; }
(stage_await "the scan" is_begun && kill -TERM "$stage_daemon_pid") &
expect 69 "a scan whose daemon is ended" assayctl scan us0-0 us0-1 us0-2 --plan production
grep -Eq 'lost scan [0-9]+, which goes on when assayd does \(assayctl show [0-9]+\)' "$err" || bad "it does not say how to see the rest"
done_expecting
