#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A scan finds a broken chip, and assayd dies before the log has it. Whoever changes what waits beside the log meanwhile makes nothing of it: the chip is
# unknown until it is scanned again, whatever passed before and under whichever plan. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect
stage_open "$1"
mkdir "$stage/plans"
for plan in quick second; do
        printf 'plan: %s\nsummary: host links alone\nstage: PREFLIGHT\nsteps:\n  - check: host-link\n' "$plan" >"$stage/plans/$plan.yaml"
done
export ASSAY_PLANS=$stage/plans
mkfifo "$stage/hold"
stage_bus
stage_sim sim sim/scenarios/demo.yaml
stage_daemon us0-0

simulator() {
        "$stage_build/sim/assay-sim" "$1" --socket "$stage/sim.socket" "${@:2}"
}

# Whether gate says PATTERN of the chip, whatever it ends with.
says() { { assayctl gate us0-0/chip4 2>&1 || true; } | grep -Eq "$1"; }

# Chips 4 and 5 pass, chip 4 breaks, and is scanned while somebody holds the lock of the log's database. It dies of the hardest signal.
leave_waiting() {
        simulator heal all >/dev/null
        expect 0 "two chips pass" assayctl --quiet scan us0-0/chip4 us0-0/chip5 --plan quick
        expect 0 "… under two plans" assayctl --quiet scan us0-0/chip4 --plan second
        simulator inject '{at: us0-0/chip4, kind: host-link-narrowed, width: 4}' >/dev/null
        # The simulator stands still no longer than it must: a worker that has waited for it for some seconds finds no failure, but that it does not answer.
        python3 -c 'if True:
                import sqlite3, sys, time
                db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
                print("ready", flush=True)
                sys.stdin.readline()
                db.execute("BEGIN IMMEDIATE")
                print("held", flush=True)
                time.sleep(60)' "$stage/records.db" <"$stage/hold" >"$stage/held" &
        holder=$!
        exec 3>"$stage/hold"
        stage_await "who takes the lock" grep -q ready "$stage/held"
        kill -STOP "$stage_sim_pid"
        expect 0 "a scan begins" assayctl scan us0-0/chip4 --plan quick --no-wait
        echo now >&3
        exec 3>&-
        stage_await "the lock" grep -q held "$stage/held"
        kill -CONT "$stage_sim_pid"
        stage_await "what was found" says "the newest scan (is not recorded yet|could not be recorded)"
        kill -9 "$stage_daemon_pid" "$holder"
        wait "$stage_daemon_pid" "$holder" 2>/dev/null || true
}

# after CHANGE: a command in the folder of evidence, while no assayd runs.
after() {
        leave_waiting
        (cd "$stage/evidence" && eval "$1")
        stage_daemon us0-0
        stage_await "the end of the run" says "^(FAILED|INCONCLUSIVE)"
}

make_passed() {
        python3 - *.ocp.jsonl <<'PY'
import json, re, sys
for name in sys.argv[1:]:
        told = []
        for line in open(name):
                if '"type":"FAIL"' in line or '"code":"host-link"' in line:
                        continue
                line = re.sub(r'"value":12\d\.\d+', '"value":252.06153846153848', line.replace('"verdict":"failed"', '"verdict":"passed"').replace('"result":"FAIL"', '"result":"PASS"'))
                told.append(line.replace('"sequenceNumber":%d,' % json.loads(line)["sequenceNumber"], '"sequenceNumber":%d,' % len(told), 1))
        open(name, "w").writelines(told)
PY
}

after true
expect 1 "what nobody has changed is recorded as it was found" assayctl gate us0-0/chip4
has "host-link"

for change in 'rm ./*.json' 'rm ./*' "sed -i '1s/./x/6' ./*.json" make_passed; do
        after "$change"
        expect 2 "$change: the chip is unknown" assayctl gate us0-0/chip4
        has "us0-0/chip4: a scan was interrupted, and what it had found is lost"
        expect 2 "… under the other plan, too" assayctl gate us0-0/chip4 --plan second
        expect 2 "… and so is its server" assayctl gate us0-0
        expect 0 "… a chip that was not scanned is as it was" assayctl gate us0-0/chip5
done
expect 0 "the run-start names the chip" assayctl --json records
run_start=$(jq -r '[.[] | select(.type | test("run-start"))] | last | .index' "$out")
expect 0 "… as signed" assayctl export "$run_start"
jq -r .payload "$out" | base64 -d | jq -e '.predicate.run.chips == [4]' >/dev/null || bad "it does not"

# A daemon that has nothing to do is restarted.
expect 1 "the chip is scanned again" assayctl --quiet scan us0-0/chip4 --plan quick
simulator heal all >/dev/null
expect 0 "… and mended" assayctl --quiet scan us0-0/chip4 --plan quick
expect 0 "… it passes" assayctl gate us0-0/chip4
kill "$stage_daemon_pid"
wait "$stage_daemon_pid" || bad "it did not end well"
stage_daemon us0-0
expect 0 "… and after a restart" assayctl gate us0-0/chip4
expect 0 "the log holds" assayctl audit
assayctl keys show >"$stage/keyring"
expect 0 "… as tiles" assayctl export --format tiles --output "$stage/tiles"
if python3 tests/interop/verify.py --help >/dev/null; then
        expect 0 "… for a verifier of other origin, too" python3 tests/interop/verify.py --keyring "$stage/keyring" "$stage/tiles"
fi
done_expecting
