#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The matrix: each scenario is served, scanned with a plan, and what was found is held against its `expect:`; every unit is one; and the verdict of each
# step follows from its values and their limits alone. Of all scenarios together, each row of the table of measurements is said. TAP on stdout.
#
# usage: every-scenario-is-found-out.sh BUILD-FOLDER [SCENARIO…]   (default: all, plan preflight; $ASSAY_MATRIX_PLAN is another;
# a comment "Scanned with the plan NAME" in a scenario decides for it; "First scanned with the plan NAME, then reset: PART…" is what
# happens before, and what that scan finds is not asked)
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/stage

build=$1
shift
all=$([ $# -gt 0 ] || echo 1)
[ $# -gt 0 ] || set -- sim/scenarios/*.yaml
plan=${ASSAY_MATRIX_PLAN:-preflight}
stage_open "$build"

# The devices of a scenario, one for each worker: an UltraServer is scanned whole, so that its ring is tested.
devices() { # SCENARIO SOCKET
        local n i
        n=$(sed -n 's/.*ultraservers: *\([0-9]*\).*/\1/p' "$1" | head -n 1)
        if [ -n "$n" ]; then
                for ((i = 0; i < n; i++)); do echo "sim:$2#us$i-0,us$i-1,us$i-2,us$i-3"; done
                return
        fi
        n=$(sed -n 's/.*servers: *\([0-9]*\).*/\1/p' "$1" | head -n 1)
        for ((i = 0; i < ${n:-1}; i++)); do echo "sim:$2#trn-$i"; done
}

# A hang is told by the deadline of its commands, two seconds times the scale; where none falls silent no deadline of a step decides, on
# however busy a machine.
scale_of() { # SCENARIO
        grep -q 'kind: hang' "$1" && echo 0.25 || echo 4
}

scan() { # DEVICE PLAN STREAM SCALE
        local status=0
        # One seed: where a scan plants its probes must not decide whether a build is green.
        timeout 600 "$build/checks/assay-run" --device "$1" --plan "$2" --seed "${ASSAY_MATRIX_SEED:-1}" --deadline-scale "${ASSAY_MATRIX_SCALE:-$4}" \
                >"$3" 2>"$stage/err" || status=$?
        case $status in 0 | 1 | 2) ;; *) echo "assay-run ended with $status"; cat "$stage/err"; return 1;; esac
}

run_before() { # SCENARIO SOCKET
        local before parts part device
        before=$(sed -n 's/^# First scanned with the plan \([a-z-]*\), then reset: \(.*\)/\1 \2/p' "$1" | head -n 1)
        [ -n "$before" ] || return 0
        read -r before parts <<<"$before"
        for device in $(devices "$1" "$2"); do scan "$device" "$before" /dev/null "$(scale_of "$1")" || return 1; done
        for part in $parts; do "$build/sim/assay-sim" reset "$part" --socket "$2" || return 1; done
}

# Units as UCUM writes them, for they go into records as they are: an annotation, or an atom with a prefix, by another one.
term='(\{[^{} ]+\}|1|%|Cel|([kMGTmunp]|[KMGT]i)?(By|bit|s|Hz|V|A|W|J|K))'

units_are_of_ucum() { # STREAM
        local odd
        grep -q '"unit":"' "$1" || { echo "nothing has a unit"; return 1; }
        odd=$(grep -o '"unit":"[^"]*"' "$1" | sort -u | grep -vE "^\"unit\":\"$term(/$term)*\"\$") || return 0
        echo "not of UCUM: $odd"
        return 1
}

jobs_are_left_alone() { # SOCKET
        ! "$build/sim/assay-sim" use --socket "$1" | grep -v ' 0 accesses overwritten$'
}

run_scenario() { # SCENARIO NUMBER: prints what is wrong
        local scenario=$1 device streams=() own
        own=$(sed -n 's/^# Scanned with the plan \([a-z-]*\).*/\1/p' "$scenario" | head -n 1)
        stage_sim "s$2" "$scenario" || return 1
        run_before "$scenario" "$stage/s$2.socket" || return 1
        for device in $(devices "$scenario" "$stage/s$2.socket"); do
                streams+=("$stage/s$2.${#streams[@]}.jsonl")
                scan "$device" "${own:-$plan}" "${streams[-1]}" "$(scale_of "$scenario")" || return 1
                "$build/sim/assay-sim" check "$scenario" --stream "${streams[-1]}" || return 1
                units_are_of_ucum "${streams[-1]}" || return 1
                "$build/tests/checks/values" "$stage/values" "${streams[-1]}" || return 1
        done
        jobs_are_left_alone "$stage/s$2.socket" || return 1
        kill "$stage_sim_pid" 2>/dev/null
        return 0
}

echo "1..$(($# + ${all:-0}))"
failed=0 number=0
for scenario in "$@"; do
        number=$((number + 1))
        name=$(basename "$scenario" .yaml)
        if run_scenario "$scenario" "$number" >"$stage/said" 2>&1; then
                echo "ok $number - $name"
        else
                echo "not ok $number - $name"
                sed 's/^/# /' "$stage/said" | head -n 40
                failed=$((failed + 1))
        fi
done
if [ -n "$all" ]; then
        if "$build/tests/checks/values" --orphans "$stage/values" tests/checks/values-without-scenario.txt >"$stage/said"; then
                echo "ok $((number + 1)) - each value of the table is said"
        else
                echo "not ok $((number + 1)) - each value of the table is said"
                sed 's/^/# /' "$stage/said"
                failed=$((failed + 1))
        fi
fi
exit $((failed > 0))
