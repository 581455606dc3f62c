#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a worker said of a scan is kept as one stream of OCP Test & Validation output 2.0, and every record of the scan has its digest.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: some\nsummary: a few\nstage: PREFLIGHT\nsteps:\n  - check: identity\n  - check: rounding\n    parameters: {every_format: false}\n  - check: telemetry\n' >"$stage/plans/some.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon trn-0
expect 1 "a scan that finds a fault" assayctl scan trn-0 --plan some
expect 0 "another" assayctl scan trn-0/chip1 --plan some
stage_await "packed evidence" sh -c "[ \$(ls '$stage'/evidence/*.zst | wc -l) = 2 ]"

expect 0 "all records" assayctl export 0 1000
jq -r '.payload | @base64d | fromjson | .predicate | select(.evidence) | "\(.run.id) \(.evidence[0].digest.sha256)"' "$out" | sort -u >"$stage/digests"
[ "$(wc -l <"$stage/digests")" = 2 ] || bad "not one stream for each run"
while read -r run digest; do
        zstd -qdc "$stage/evidence/$run.ocp.jsonl.zst" >"$stage/$run.jsonl"
        [ "$(sha256sum <"$stage/$run.jsonl" | cut -d' ' -f1)" = "$digest" ] || bad "the records of $run have another digest"
        expect 0 "the stream of $run is one run, and no twin of it" python3 tests/checks/stream/ocp-stream.py "$stage/$run.jsonl" tests/checks/stream/ocp-2.0.schema.json
done <"$stage/digests"
done_expecting
