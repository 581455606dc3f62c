#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a scan of an UltraServer finds at a link between its servers is not cleared by one of a server alone, which leaves those links out.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/swapped.yaml" <<YAML
scenario: two cables between servers with their far ends exchanged
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-2/chip10/link-z+, kind: cable-swapped, with: us0-2/chip14/link-z+}
YAML
stage_sim sim "$stage/swapped.yaml"
cat >"$stage/plans.yaml" <<YAML
plan: links
summary: links alone
stage: PREFLIGHT
steps:
  - check: neuronlink
YAML
mkdir "$stage/plans"
mv "$stage/plans.yaml" "$stage/plans/links.yaml"
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_daemon us0-0 us0-1 us0-2 us0-3
for verb in gate verdict; do
        expect 2 "an UltraServer has a $verb, which is not known yet" assayctl $verb us0
        has "us0: never scanned. Next: assayctl scan us0"
        expect 64 "what begins like one has none" assayctl $verb us
        has "no such target"
done

expect 1 "an UltraServer with swapped cables fails" assayctl scan us0 --plan links
expect 1 "and its server is not fit" assayctl gate us0-2
expect 0 "alone the server passes, without the links that lead to others" assayctl scan us0-2 --plan links
expect 0 "the list of scans tells of what each was" assayctl scans
grep -Eq "^ *1 us0-0 and 3 more +links +finished +FAILED" "$out" && grep -Eq "^ *2 us0-2 +links +finished +PASSED" "$out" || bad "of something else"
expect 1 "and is not fit for that" assayctl gate us0-2
has "us0-2: chip10 neuronlink: link-miscabled"
expect 0 "which the list of targets tells as well" assayctl targets --chips
[ "$(awk '$1 ~ /^us0-2(\/chip1[04])?$/ && /FAILED/' "$out" | wc -l)" = 3 ] || bad "the list calls them otherwise"
expect 1 "nor asked by plan" assayctl gate us0-2 --plan links
for target in us0-2 us0-2/chip14; do
        expect 1 "nor asked by a plan that never ran, of $target" assayctl gate "$target" --plan production
        expect 1 "with a hook that lets pass what nobody knows" assayctl gate "$target" --plan production --unknown=pass
        for name in "links " ../links a/b "Links!" ""; do
                expect 64 "what is no name of a plan is a slip: '$name'" assayctl gate "$target" --plan "$name"
                expect 64 "which no hook lets pass: '$name'" assayctl gate "$target" --plan "$name" --unknown=pass
        done
done
expect 1 "nor are the chips at the cables" assayctl gate us0-2/chip14
expect 0 "the others are" assayctl gate us0-2/chip13
kill -9 "$stage_daemon_pid"
wait "$stage_daemon_pid" 2>/dev/null || true
stage_daemon us0-0 us0-1 us0-2 us0-3
expect 1 "a daemon that comes back knows it" assayctl gate us0-2

"$1/sim/assay-sim" heal us0-2/chip10/link-z+ --socket "$stage/sim.socket"
expect 0 "with the cables put right the UltraServer passes" assayctl scan us0 --plan links
expect 0 "and its server is fit" assayctl gate us0-2

done_expecting
