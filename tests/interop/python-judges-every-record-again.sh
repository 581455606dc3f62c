#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every record of scenarios, as assayd signs them into one log, is judged again by verify.py, which comes to what assayctl comes to, record by
# record and of the log as a whole.
# usage: python-judges-every-record-again.sh BUILD-FOLDER [SCENARIO…]   (default: a few that differ much; sim/scenarios/*.yaml is a campaign)
set -euo pipefail
build=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
. tests/stage
python3 -c 'import cryptography, jsonschema' 2>/dev/null || { echo "skipped: no python3-cryptography or python3-jsonschema"; exit 77; }
[ $# -gt 0 ] || set -- sim/scenarios/{healthy,hbm-in-service,telemetry-occupied,device-garbled,sparsity-tags}.yaml

stage_open "$build"
stage_bus

# servers_of SCENARIO: those that it has, UltraServers whole.
servers_of() {
        local n i
        n=$(sed -n 's/.*ultraservers: *\([0-9]*\).*/\1/p' "$1" | head -n 1)
        if [ -n "$n" ]; then
                for ((i = 0; i < n; i++)); do echo "us$i-0 us$i-1 us$i-2 us$i-3"; done
                return
        fi
        n=$(sed -n 's/.*servers: *\([0-9]*\).*/\1/p' "$1" | head -n 1)
        for ((i = 0; i < ${n:-1}; i++)); do echo "trn-$i"; done
}

# scan PLAN SERVER…: whatever it finds; a scan that cannot be made has no records to judge.
scan() {
        local status=0
        assayctl scan "${@:2}" --plan "$1" --seed 1 >"$stage/said" 2>&1 || status=$?
        case $status in 0 | 1 | 2) ;; *) cat "$stage/said"; exit 1;; esac
}

for scenario in "$@"; do
        read -r -d '' -a servers <<<"$(servers_of "$scenario")" || true
        stage_sim sim "$scenario"
        rm -f "$stage/assayd.yaml"
        stage_daemon "${servers[@]}"
        read -r before parts <<<"$(sed -n 's/^# First scanned with the plan \([a-z-]*\), then reset: \(.*\)/\1 \2/p' "$scenario" | head -n 1)"
        if [ -n "$before" ]; then
                scan "$before" "${servers[@]}"
                for part in $parts; do "$build/sim/assay-sim" reset "$part" --socket "$stage/sim.socket" >/dev/null; done
        fi
        plan=$(sed -n 's/^# Scanned with the plan \([a-z-]*\).*/\1/p' "$scenario" | head -n 1)
        scan "${plan:-preflight}" "${servers[@]}"
        assayctl export --format tiles --output "$stage/tiles" 2>/dev/null
        assayctl keys show >"$stage/keyring"
        for pid in "$stage_daemon_pid" "$stage_sim_pid"; do kill "$pid" && wait "$pid" || true; done
done

offline() { "$build/cli/assayctl" --bus unix:path=/nowhere --no-pager "$@"; }
offline --json audit "$stage/tiles" --keyring "$stage/keyring" | jq -e '.verdict == "holds"' >/dev/null || { echo "FAILED: the log does not hold"; exit 1; }
"$build/checks/assay-run" --describe --json >"$stage/checks.json"
tests/interop/verify.py --keyring "$stage/keyring" --checks "$stage/checks.json" "$stage/tiles"
# With keys alone each record is judged by itself, without a proof.
offline --json verify "$stage/tiles/records.intoto.jsonl" --keyring "$stage/record.pub.pem" >"$stage/verified" || [ $? -lt 64 ]
PYTHONPATH=tests/interop PYTHONDONTWRITEBYTECODE=1 python3 - "$stage" <<'PYTHON'
import contextlib, io, json, pathlib, sys
import values, verify
stage, options = pathlib.Path(sys.argv[1]), type("Options", (), {"proof": None})
keyring, schemas = verify.Keyring((stage / "record.pub.pem").read_text()), verify.load_schemas(pathlib.Path("daemon/record"))
table = values.Table((stage / "checks.json").read_text())
lines = (stage / "tiles/records.intoto.jsonl").read_bytes().splitlines()
theirs = [json.loads(line) for line in (stage / "verified").read_text().splitlines()]
assert len(lines) == len(theirs), "assayctl judged another number of records"
failures, counts = 0, {}
for line, other in zip(lines, theirs):
    log = verify.Log(keyring, schemas, table)
    with contextlib.redirect_stdout(io.StringIO()):
        status = verify.check_record(log, line, options)
    result = other.get("statement", {}).get("predicate", {}).get("result")
    expected = {"PASSED": 0, "WARNED": 0, "FAILED": 1}.get(result, 2) if other["status"] == "verified" else 3
    counts[status] = counts.get(status, 0) + 1
    for where, text in log.told["note"]:
        print(f"note: record {where}: {text}")
    if status != expected:
        failures += 1
        print(f"FAILED: record {other.get('index')}: {status}, and assayctl says {expected}", log.told)
print(f"{len(lines)} records judged one by one, {failures} failures; statuses", *(f"{status}: {counts[status]}" for status in sorted(counts)))
sys.exit(failures > 0)
PYTHON
