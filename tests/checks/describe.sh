#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What assay-run says of itself and what its manual says of plans, held against what it takes. TAP on stdout.
#
# usage: describe.sh ASSAY-RUN
set -uo pipefail

run=$(realpath "$1")
manual=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../units/man/assay-run.8.scd")
folder=$(mktemp -d -t assay.XXXXXX)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

number=0 failed=0
holds() { # SENTENCE COMMAND…
        local sentence=$1
        shift
        number=$((number + 1))
        if "$@" >said 2>&1; then echo "ok $number - $sentence"; else
                echo "not ok $number - $sentence"
                sed 's/^/# /' said
                failed=1
        fi
}

ends() { # STATUS COMMAND…
        local status=0 wanted=$1
        shift
        "$@" || status=$?
        [ "$status" = "$wanted" ] || { echo "ended with $status"; return 1; }
}

"$run" --describe >words
"$run" --describe --json >json
holds "every check is described with its codes" jq -e '[.. | objects | select(has("codes"))] | length > 5 and all(.[]; .codes | length > 0)' json
holds "a parameter that is a mapping tells its own" \
        jq -e '[.. | objects | select(.name? == "hammer") | .parameters[] | select(.name == "activations")][0].default == 12000' json
holds "each value says its limit or why it has none" \
        jq -e '[.. | objects | select(has("unit") and has("why"))] | length > 100 and all(.[]; (.why | length > 10) and ((.limit == "no limit") != has("beyond")))' json
holds "in words too" grep -q '^          activations: unsigned 1 … 14999, default 12000' words

sed -n '/^plan: cells/,/^```$/{/^```$/d;p}' "$manual" >cells.yaml
holds "the manual shows a plan" grep -q '^plan: cells' cells.yaml
holds "which is one: what is missing is the device" ends 69 "$run" --device sim:nowhere#trn-0 --plan ./cells.yaml
sed 's/w0);/w1);/' cells.yaml >wrong.yaml
holds "where it is changed to nonsense it is refused" ends 64 "$run" --device sim:nowhere#trn-0 --plan ./wrong.yaml
sed -n '/^topology: row 7/,/^```$/{/^```$/d;p}' "$manual" >row.yaml
holds "and a topology, of its servers" ends 69 "$run" --device sim:nowhere#us0-0,us0-3 --plan ./cells.yaml --topology row.yaml
holds "but of no others" ends 64 "$run" --device sim:nowhere#us1-0 --plan ./cells.yaml --topology row.yaml
holds "and not of two rings" ends 64 "$run" --device sim:nowhere#us0-0,trn-4 --plan ./cells.yaml --topology row.yaml
sed 's/chip9/chip13/' row.yaml >wrong.yaml
holds "which is refused where it is no torus" ends 64 "$run" --device sim:nowhere#us0-0 --plan ./cells.yaml --topology wrong.yaml

# Those of memory are told by phases.
missing() {
        jq -r '.. | objects | select(.name? | IN("systolic", "sparsity", "rounding")) | .parameters[].name' json |
                while read -r name; do grep -q "_$name\\(:.*\\)\\?_" "$manual" || echo "$name"; done | grep .
}
holds "it names what a plan may ask of arrays and rounding" ends 1 missing

echo "1..$number"
exit "$failed"
