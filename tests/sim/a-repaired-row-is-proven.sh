#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The way of a repair as an operator goes it, with the plans that are shipped: a scan finds a row, `repair` asks for a spare, a reset
# puts it in, and the same scan proves it. TAP on stdout.
#
# usage: a-repaired-row-is-proven.sh BUILD-FOLDER
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/stage

build=$1
number=0 failed=0
row=us0-1/chip5/hbm2/ch3/pc1/sid0/bg2/ba1/row4711
stage_open "$build"

holds() { # WHAT COMMAND…
        local what=$1
        shift
        number=$((number + 1))
        if "$@"; then echo "ok $number - $what"; else echo "not ok $number - $what"; failed=1; fi
}

scan() { # PLAN STATUS [OPTION…]
        local status=0 plan=$1 wanted=$2
        shift 2
        "$build/checks/assay-run" --device "sim:$stage/repair.socket#us0-1/chip5" --plan "$plan" --deadline-scale 20 "$@" \
                >"$stage/stream" 2>"$stage/err" || status=$?
        [ "$status" = "$wanted" ] || { echo "# assay-run ended with $status" && sed 's/^/# /' "$stage/err"; return 1; }
}

says() { grep -q "$1" "$stage/stream" || { echo "# nothing says $1"; return 1; }; }
measures() { says "\"name\":\"$1\",\"value\":$2[,}]"; }

cat >"$stage/repair.yaml" <<YAML
scenario: one weak row
seed: 1
topology: {ultraservers: 1}
faults:
  - {at: $row/col12/bit77, kind: transition, primitive: "<0w1/0/->"}
YAML

echo 1..12
stage_sim repair "$stage/repair.yaml"
holds "preflight finds the row" scan preflight 1 --steps hbm
holds "and says what it can be mended with" says 'spare rows left in its bank'
holds "repair asks for a spare, and the chip is still bad" scan repair 1
holds "once" measures hbm_repairs_requested 1
faults() { "$build/sim/assay-sim" faults "$@" --socket "$stage/repair.socket"; }
holds "the fault is listed" bash -c '! grep -q replaced <<<"$0"' "$(faults)"
"$build/sim/assay-sim" reset us0-1/chip5 --socket "$stage/repair.socket"
holds "and then as one of a row that was replaced" grep -q 'transition .*(its row was replaced by a spare)$' <<<"$(faults)"
holds "in JSON, too" bash -c 'jq -e ".[0].replaced" <<<"$0" >/dev/null' "$(faults --json)"
holds "after the reset nothing fails any more" scan repair 0
holds "the row is proven" measures hbm_rows_proven 1
holds "and nothing is left to ask for" measures hbm_repairs_requested 0
holds "nothing was found" bash -c '! grep -q "\"diagnosis\"" "$0"' "$stage/stream"
holds "preflight agrees" scan preflight 2 --steps hbm
exit $failed
