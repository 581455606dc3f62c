#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What nobody could reach is told in a line, with the place where it was looked for; a scan is shown with its verdict first; and the daemon says
# what it does.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$(realpath --relative-to=. "$1")"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n  - check: identity\n  - check: collective\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
python3 -u -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print("listening")
while True:
        print(listener.recv(4096).decode().replace("\n", " "))' "$stage/notify" >"$stage/status" &
stage_pids+=($!)
stage_await "who hears the status" grep -q listening "$stage/status"
NOTIFY_SOCKET=$stage/notify stage_daemon trn-0

expect 1 "a scan" assayctl scan trn-0 --plan quick
stage_await "a word on what it does" grep -Eqx 'STATUS=Idle: 1 servers, 1?[0-9] records; .* read again.*' "$stage/status"
grep -Fqx 'STATUS=Scanning 1 of 1 servers (1 scan)' "$stage/status" || { cp "$stage/status" "$out"; bad "nothing tells of the scan"; }
stage_await "… and after it" grep -Eqx 'STATUS=Idle: 1 servers, 19 records; all read again at 20[0-9-]*T[0-9:]*Z' "$stage/status"
from_elsewhere() { (cd / && assayctl targets); }
expect 0 "a stage of a checkout is asked from any folder" from_elsewhere
expect 1 "is shown with its verdict first" assayctl show 1
line="Scan 1 (quick): FAILED, 13 PASSED, 3 FAILED (chips)."
[ "$(head -n 1 "$out")" = "$line" ] && [ "$(grep -c "13 PASSED, 3 FAILED" "$out")" = 1 ] || bad "not first, or twice"
grep -q 'Avg bus bandwidth' "$out" || bad "no collective is told"

kill "$stage_sim_pid"
wait "$stage_sim_pid" 2>/dev/null || true
expect 2 "what is out of reach" assayctl scan trn-0 --plan quick
grep -Eq "^trn-0 +INCONCLUSIVE +- +see to server +- +$stage/sim.socket does not answer: (No such file or directory|Connection refused); is it on, its name right in assayd.yaml, its simulator up\\?$" "$out" || bad "not told where"
[ "$(grep -c . "$out")" -le 4 ] || bad "more than a table of one line, and a summary"
expect 1 "the failure that was found before still stands" assayctl gate trn-0
expect 2 "a chip that had passed is not known" assayctl gate trn-0/chip15
has "INCONCLUSIVE: trn-0/chip15: not tested: rounding, identity, collective ($stage/sim.socket does not answer: "
has ". Next: assayctl explain "
expect 0 "and there is what to do" assayctl explain "$(assayctl verdict trn-0/chip15 --json | jq .record)"
[ "$(tail -n 1 "$out")" = "To do: see to server" ] || bad "not at its end"
expect 0 "the list of targets tells" assayctl targets
grep -Eq '^trn-0 +Trn2 +unreachable +FAILED$' "$out" || bad "otherwise"
kill "$stage_daemon_pid"
wait "$stage_daemon_pid" 2>/dev/null || true
stage_daemon trn-0
expect 0 "… after a restart, too" assayctl targets
grep -Eq '^trn-0 +Trn2 +unreachable +FAILED$' "$out" || bad "otherwise"
expect 0 "the records give a reason of its own" assayctl export "$(assayctl verdict trn-0/chip15 --json | jq .record)" 1
[ "$(jq -r .payload "$out" | base64 -d | jq -c '[.predicate.steps[] | select(.status) | .reason] | unique')" = '["device-unreachable"]' ] || bad "otherwise"
stage_sim sim sim/scenarios/rounding-sr-off.yaml
expect 1 "when it is back it is scanned" assayctl scan trn-0 --plan quick
expect 0 "and listed" assayctl targets
grep -Eq '^trn-0 +Trn2 +idle +FAILED$' "$out" || bad "otherwise"

# It goes away when the first failure is told: what is left of its tests is one line, too.
printf 'plan: long\nsummary: what comes after rounding takes its time\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n  - check: hbm\n  - check: systolic\n  - check: collective\n' \
        >"$stage/plans/long.yaml"
(assayctl scan trn-0 --plan long >"$stage/gone" 2>&1 || true) &
stage_await "a failure" grep -q '^fail: ' "$stage/gone"
kill -9 "$stage_sim_pid"
wait "$stage_sim_pid" 2>/dev/null || true
stage_await "the end of the scan" grep -q '^Records ' "$stage/gone"
cp "$stage/gone" "$out"
[ "$(grep -Ec 'INCONCLUSIVE +- +see to server +.* the server went away during the scan$' "$out")" = 1 ] || bad "not one line"
[ "$(grep -c INCONCLUSIVE "$out")" = 2 ] || bad "more than that and the summary"

# One of two servers: nobody says of it that it carries work.
kill "$stage_daemon_pid"
wait "$stage_daemon_pid" 2>/dev/null || true
rm "$stage/assayd.yaml"
printf 'scenario: one server of two\nseed: 5\ntopology: {ultraservers: 1}\n' >"$stage/server.yaml"
stage_sim sim "$stage/server.yaml"
stage_daemon us0-0 us0-7
expect 2 "a server that is not there, beside one that is" assayctl scan us0 --plan quick
grep -Eq '^us0-7 +INCONCLUSIVE +- +see to server +- +the server cannot be reached; is it on, its name right in assayd.yaml, its simulator up\?$' "$out" || bad "something else is told"
expect 0 "in the list the one is not there" assayctl targets
grep -Eq '^us0-7 +Trn2 +unreachable +INCONCLUSIVE$' "$out" || bad "otherwise"
grep -Eq '^us0-0 +Trn2 +idle +' "$out" || bad "the other is told as away"
expect 2 "alone" assayctl scan us0-7 --plan quick
grep -Eq "^us0-7 +INCONCLUSIVE +- +see to server +- +$stage/sim.socket answers, and has no server us0-7; is it on, its name right in assayd.yaml, its simulator up\\?$" "$out" || bad "something else is told"
done_expecting
