#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who asks has an answer in time: gate when the daemon is stopped, or says nothing that can be read; whoever presses Ctrl-C; and who mistyped a word.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/demo.yaml
stage_daemon us0-0 us0-1 us0-2

# takes LEAST MOST SENTENCE: so many seconds for the last command, of which the load of a machine may make more.
takes() { awk -v t="$took" -v a="$1" -v b="$2" 'BEGIN { exit !(t >= a && t <= b) }' || bad "$3: it took $took s"; }
# in_time STATUS SENTENCE COMMAND…
in_time() {
        local begun=$EPOCHREALTIME
        expect "$@"
        took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
}

expect 2 "a chip that was never scanned" assayctl gate us0-0/chip1
grep -qx "UNKNOWN: us0-0/chip1: never scanned. Next: assayctl scan us0-0" "$out" || bad "not what to do"
kill -STOP "$stage_daemon_pid"
stage_patience="" # what a hook has
in_time 69 "a daemon that is stopped" assayctl gate us0-0/chip1
takes 1.9 8 "two seconds"
[ "$(cat "$out")" = "UNKNOWN: us0-0/chip1: assayd did not answer in 2 s" ] && [ ! -s "$err" ] || bad "not one line"
in_time 69 "… sooner, as told" assayctl gate us0-0 --timeout 0.3
takes 0.2 6 "a third of a second"
in_time 69 "… as JSON" assayctl gate us0-0 --timeout 0.3 --json
query '.status == 69 and .verdict == "INCONCLUSIVE" and (has("record") | not)'
in_time 1 "… which a hook counts as it likes" assayctl gate us0-0 --timeout 0.3 --unknown fail
in_time 2 "… and node-problem-detector as unknown" assayctl gate us0-0 --timeout 0.3 --npd
in_time 69 "… without a word" assayctl gate us0-0 --timeout 0.3 --quiet
[ ! -s "$out" ] && [ ! -s "$err" ] || bad "something is said"
kill -CONT "$stage_daemon_pid"
expect 2 "and goes on" assayctl gate us0-0/chip1
expect 64 "no time at all" assayctl gate us0-0 --timeout 0
expect 64 "for another verb" assayctl verdict us0-0 --timeout 1

# A bus that says nothing, or rubbish.
cat >"$stage/rubbish.py" <<'PY'
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
word = {"silent": b"", "rubbish": b"\xff" * 4096, "slow": b"R"}[sys.argv[2]]
connections = []
while True:
        connection, _ = listener.accept()
        connections.append(connection)
        try:
                connection.sendall(word)
        except OSError:
                pass
PY
for word in silent slow rubbish; do
        python3 "$stage/rubbish.py" "$stage/$word" $word &
        stage_pids+=($!)
        stage_await "a bus of rubbish" test -S "$stage/$word"
        in_time 69 "a bus that is $word" "$1/cli/assayctl" --bus "unix:path=$stage/$word" gate us0-0 --timeout 0.5
        takes 0 6 "half a second"
done

# Ctrl-C. A shell makes what it starts in the background ignore it, so somebody else starts it.
cat >"$stage/press.py" <<'PY'
import signal, subprocess, sys, time
presses, stopped, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
for i in range(200):
        states = subprocess.run([command[0], command[1], command[2], "targets"], capture_output=True, text=True).stdout
        if "running" in states:
                break
        time.sleep(0.02)
time.sleep(0.1) # for it to hear
if stopped:
        import os
        os.kill(stopped, signal.SIGSTOP)
for i in range(presses):
        child.send_signal(signal.SIGINT)
        time.sleep(0.3)
sys.exit(child.wait())
PY
press() { python3 "$stage/press.py" "$1" "$2" "$stage_build/cli/assayctl" --bus "$bus" "${@:3}"; }
expect 2 "Ctrl-C cancels a scan" press 1 0 --no-pager scan us0-0 us0-1 us0-2 --plan production
has "cancelling scan 1, waiting for its records; Ctrl-C again does not wait"
has "cancelled"
expect 2 "which ends in records" assayctl show 1
stage_await "the end of the scan" sh -c "'$stage_build/cli/assayctl' --bus '$bus' scans | grep -Eq '^ +1 .*cancelled'"
expect 130 "Ctrl-C twice leaves it" press 2 "$stage_daemon_pid" --no-pager scan us0-0 us0-1 us0-2 --plan production
has "left scan 2, which is not cancelled: assayd does not answer (stopped?). It goes on when assayd does: assayctl cancel 2"
kill -CONT "$stage_daemon_pid"
assayctl cancel 2 2>/dev/null || true

# Slips.
expect 64 "a verb" assayctl tagrets
has "no verb is called 'tagrets'; assayctl --help lists them; did you mean 'targets'?"
expect 64 "a verb that is like none" assayctl frobnicate
! grep -q "did you mean" "$err" || bad "something is suggested"
expect 64 "an option" assayctl scan us0-0 --plna quick
has "did you mean '--plan'?"
expect 64 "a target" assayctl scan us0-00
has "us0-00: no such target; assayctl targets lists them; did you mean 'us0-0'?"
for verb in gate verdict coverage; do
        expect 64 "a target, for $verb" assayctl $verb us1-1
        has "us1-1: no such target; assayctl targets lists them; did you mean 'us0-1'?"
done
expect 64 "a chip that there is none" assayctl gate us0-1/chip16
has "us0-1/chip16: no such target; us0-1 has chip0 to chip15"
expect 64 "a target that is written otherwise" assayctl scan us0-1.chip3
has "us0-1.chip3: no target is written so; a server is as us0-1, a chip as us0-1/chip3, an UltraServer as us0; did you mean 'us0-1/chip3'?"
expect 64 "a plan" assayctl scan us0-0 --plan preflihgt
has "did you mean 'preflight'?"
expect 64 "a plan of a gate" assayctl gate us0-0/chip3 --plan productoin
has "no plan is called 'productoin'; did you mean 'production'?"
expect 64 "a plan to be shown" assayctl plans prodution
has "did you mean 'production'?"
expect 64 "a finding code" assayctl explain hbm-cel
has "no finding code is called 'hbm-cel'; assayctl explain lists them; did you mean 'hbm-cell'?"
done_expecting
