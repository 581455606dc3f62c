#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Servers of an UltraServer that are named in one command are scanned with the links between them, and what is found there stands until both are scanned
# together again. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<YAML
scenario: a cable between two servers is out, and another between two others
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-0/chip10/link-z+, kind: cable-unplugged, ends: both}
  - {at: us0-2/chip4/link-z+, kind: cable-unplugged, ends: both}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"
printf 'plan: links\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: neuronlink}]\n' >"$stage/plans/links.yaml"
export ASSAY_PLANS=$stage/plans
# A server of its own stands among them, so that the two are no neighbours in the configuration.
cat >"$stage/lone.yaml" <<YAML
scenario: servers of their own
seed: 6
topology: {servers: 2}
YAML
"$stage_build/sim/assay-sim" serve "$stage/lone.yaml" --socket "$stage/lone.socket" >"$stage/lone.log" 2>&1 &
stage_pids+=($!)
stage_await "the other simulator" grep -q '^ready' "$stage/lone.log"
cat >"$stage/assayd.yaml" <<YAML
origin: stage.example/assayd
producer: https://stage.example/stations/1
targets:
  - {device: "sim:$stage/sim.socket", servers: [us0-0]}
  - {device: "sim:$stage/lone.socket", servers: [trn-0, trn-1]}
  - {device: "sim:$stage/sim.socket", servers: [us0-1, us0-2, us0-3]}
YAML
stage_daemon

# stands STATUS PART SENTENCE
stands() {
        expect "$1" "$3" assayctl gate "$2"
}

expect 0 "one server alone, whose cable leads out of the scan" assayctl scan us0-0 --plan links
expect 1 "two servers, and the cable between them" assayctl scan us0-0 us0-1 --plan links
has "link-unplugged"
has "us0-0/chip10"
expect 0 "what was scanned are both" assayctl scans --json
query '.[-1].targets | tostring | contains("us0-0") and contains("us0-1")'
stands 1 us0-0/chip10 "it failed at one end"
stands 1 us0-1/chip10 "and at the other"
expect 0 "with two that are no neighbours nothing of it is seen" assayctl scan us0-0 us0-2 --plan links
stands 1 us0-0/chip10 "so it stands"
expect 0 "two, a server of its own among them" assayctl scan us0-1 trn-0 us0-2 --plan links
stands 1 us0-1/chip10 "and stands"
"$stage_build/sim/assay-sim" heal us0-0/chip10/link-z+ --socket "$stage/sim.socket" >/dev/null
expect 0 "mended, the two together" assayctl scan us0-1 us0-0 trn-0 --plan links
stands 0 us0-0/chip10 "clear it at one end"
stands 0 us0-1/chip10 "and at the other"
expect 0 "chips are scanned by themselves, and a server beside them, too," assayctl scan us0-2/chip4 us0-2/chip5 us0-3 --plan links
expect 1 "three servers" assayctl scan us0-1 us0-2 us0-3 --plan links
has "us0-2/chip4"
stands 0 us0-1 "of which one has nothing to do with it"
stands 1 us0-3/chip4 "and one is its other end"
expect 1 "and all of them" assayctl scan us0 --plan links
expect 0 "servers of their own have nothing between them" assayctl scan trn-0 trn-1 --plan links
expect 1 "so each has its own stream" jq -e -s 'any(.[]; .testRunArtifact.testRunStart.commandLine // "" | test("trn-0.*trn-1"))' \
        <(zstdcat "$stage"/evidence/*.zst; cat "$stage"/evidence/*.jsonl 2>/dev/null || true)
done_expecting
