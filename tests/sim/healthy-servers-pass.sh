#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No false alarms: healthy servers of many seeds, each with serials, noise and order of its own, pass a plan.
#
# usage: healthy-servers-pass.sh BUILD-FOLDER [SEEDS [PLAN]]     (default: 200 preflight)
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage

build=$1 seeds=${2:-200} plan=${3:-preflight}
stage_open "$build"

passed=0
for ((seed = 1; seed <= seeds; seed++)); do
        printf 'scenario: healthy\nseed: %d\ntopology: {servers: 1}\n' $((seed * 7919)) >"$stage/healthy.yaml"
        stage_sim sim "$stage/healthy.yaml"
        status=0
        "$build/checks/assay-run" --device "sim:$stage/sim.socket#trn-0" --plan "$plan" --seed "$seed" --deadline-scale "${ASSAY_MATRIX_SCALE:-1}" \
                >"$stage/stream" 2>"$stage/err" || status=$?
        if [ "$status" = 0 ]; then
                passed=$((passed + 1))
        else
                echo "seed $seed: status $status"
                grep -E '"(diagnosis|error)"' "$stage/stream" | head -n 5 || cat "$stage/err"
        fi
        kill "$stage_sim_pid"
        wait "$stage_sim_pid" 2>/dev/null || true
        rm -f "$stage/sim.log"
done

echo "$passed of $seeds healthy servers ($((seeds * 16)) chips) passed $plan"
[ "$passed" = "$seeds" ]
