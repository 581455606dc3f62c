#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The verbs in the order a person meets them, on servers with and without faults. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n    parameters: {every_format: false}\ncoverage:\n  rounding_conversions_compared: 1000\nescapes:\n  - {faults: [sr-off], commands: 7, by: campaign}\n' >"$stage/plans/quick.yaml"
printf 'plan: twice\nsummary: rounding two times\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n    parameters: {every_format: false}\n  - check: rounding\n    name: again\n    parameters: {every_format: false}\n' >"$stage/plans/twice.yaml"
printf 'plan: together\nsummary: collectives alone\nstage: PREFLIGHT\nsteps:\n  - check: collective\n    parameters: {operations: few}\n' >"$stage/plans/together.yaml"
printf 'plan: wires\nsummary: links alone\nstage: PREFLIGHT\nsteps:\n  - check: neuronlink\n' >"$stage/plans/wires.yaml"
printf 'plan: between\nsummary: all that lies between chips\nstage: PREFLIGHT\nsteps:\n  - check: host-link\n  - check: neuronlink\n  - check: collective\n  - check: efa\n' >"$stage/plans/between.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon trn-0

expect 0 "targets lists the servers" assayctl targets
has trn-0
expect 0 "targets --chips lists chips" assayctl targets --chips
has trn-0/chip15
expect 2 "a verdict without a record cannot be told" assayctl verdict trn-0
has "never scanned. Next: assayctl scan trn-0"
expect 2 "gate without a record is unknown" assayctl gate trn-0/chip0

assayctl watch --json >"$stage/events" 2>/dev/null &
stage_pids+=($!)
sleep 0.3

expect 1 "a scan that finds a fault is 1" assayctl scan trn-0 --plan quick --seed 7 --challenge "$(printf nonce | base64)" --note 'WO-4711: "module 2"'
has "rounding-mode"
has "core2/gpsimd"
has "13 PASSED, 3 FAILED"
has "rounding_conversions_compared"
expect 1 "show prints it again" assayctl show 1
has "The scan of trn-0 was asked for by $(id -un): WO-4711: \"module 2\""
has "trn-0 runs neuron-driver"
has "inlet-temperature"
expect 1 "within a terminal" in_terminal 72 "$stage_build/cli/assayctl" --bus "$bus" --no-pager show 1
awk '{ sub("\r", "") } length > 72 { exit 1 }' "$out" || bad "a line of it is longer"
expect 1 "show --json carries whole statements" assayctl --json show 1
query '[.statements[].predicate | select(.components)] | length == 1 and all(.[]; .run.note == "WO-4711: \"module 2\"" and .run.operator.uid == '"$(id -u)"' and .software.kernel and (.assemblies | any(.name == "adapter" and (.serials | length) == 16)))'
query '[.statements[].predicate | select(.steps) | .assemblies[0] | .name == "stack" and (.serials | length) == 4] | length == 16 and all'
query '.scan == 1 and .result == "FAILED" and (.statements | length) == 18'
query '[.statements[].predicate | select(.steps) | .run.challenge] | unique == ["bm9uY2U="]'
expect 0 "a healthy chip alone passes" assayctl scan trn-0/chip1 --plan quick
one=$(sed -n 's/.*Check one: assayctl //p' "$out")
# shellcheck disable=SC2086
expect 0 "and the record to look at is its own" assayctl $one
has "verified  trn-0/chip1  PASSED"
expect 2 "its server's knows no more than of it" assayctl verify 21
has "trn-0: 1 chip, 1 PASSED"
expect 0 "scans lists both" assayctl --json scans
query 'map(.result) == ["FAILED", "PASSED"] and map(.targets) == ["trn-0", "trn-0/chip1"]'

expect 1 "verdict of a failed chip" assayctl verdict trn-0/chip7
expect 1 "gate of a failed chip" assayctl gate trn-0/chip7
has "rounding-mode"
expect 0 "gate of a sound chip" assayctl gate trn-0/chip1 --max-age 1h
expect 2 "gate finds a record too old" assayctl gate trn-0/chip1 --max-age 0.000001s
expect 1 "unknown means fail to a hook that says so" assayctl gate trn-0/chip1 --max-age 0.000001s --unknown fail
expect 1 "a failure does not age" assayctl gate trn-0/chip7 --max-age 0.000001s --unknown pass
expect 1 "a server is no better than its chips, whatever was scanned last" assayctl gate trn-0 --unknown pass
has "rounding-mode"
expect 0 "unknown means pass to a hook that says so" assayctl gate trn-0/chip1 --max-age 0.000001s --unknown pass
expect 64 "a target that does not exist is never fit, whatever unknown means" assayctl gate trn-9 --unknown pass
has "no such target"
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$stage/other.pub.pem"
expect 2 "a key that is not trusted is unknown" assayctl gate trn-0/chip1 --key "$stage/other.pub.pem"
expect 1 "node-problem-detector gets 80 bytes" assayctl gate trn-0/chip7 --npd
[ "$(wc -c <"$out")" -le 80 ] || bad "more than 80 bytes"

expect 0 "records lists what was signed" assayctl --json records
query 'length == 22 and .[0].type == "heartbeat:v1" and .[1].type == "run-start:v1" and .[18].type == "health-summary:v1"'
expect 0 "a range of records" assayctl --json records 1 3
query 'map(.index) == [1, 2, 3]'
expect 0 "records that fit a terminal" in_terminal 72 "$stage_build/cli/assayctl" --bus "$bus" --no-pager records 0 22
awk '{ sub("\r", "") } length > 72 { exit 1 }' "$out" || bad "a line of them does not"
grep -Eq '^INDEX +TYPE +SUBJECT +PLAN +RESULT' "$out" && grep -Eq '^ +RECORD +FINISHED' "$out" || bad "the headings are gone"
[ "$(grep -Ec '^    [0-9a-f]{16} [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z' "$out")" = 22 ] || bad "not every record has its ID and time"
expect 0 "and have one line each in a pipe" assayctl records 0 22
[ "$(grep -Ec '^ +[0-9]+ [0-9a-f]{16} .*Z$' "$out")" = 22 ] || bad "not 22 lines"
expect 1 "verify a failed record" assayctl verify 2
expect 0 "verify a passed record" assayctl verify 3
digest_of() { sha256sum "$@" | cut -d ' ' -f 1; }
limits=$(assayctl --json plans quick | jq -rj .limits | digest_of)
expect 1 "what a chip was judged by" assayctl verify 2 --payload
query ".predicate | .configuration == [{name: \"quick\", digest: {sha256: \"$(digest_of "$stage/plans/quick.yaml")\"}}]"
query '.predicate | .environment[0].version != "" and .environment[0].build == "0x1b7" and .host.uri != "" and .location.tray == "tray 0"'
query '.predicateType == "urn:assay:attestation:health:v2" and (.predicate.steps.rounding | .ms[0] <= .ms[1])'
jq -c . "$out" >"$stage/second"
expect 1 "and spelled out as version 1 had it" assayctl --json verify 2
jq -e --slurpfile second "$stage/second" '.statement.predicate | .result == $second[0].predicate.result and .failedTests == ["rounding"] and
        (.steps[0].measurements[] | select(.name == "rounding_conversions_compared") | .isCoverage)' "$out" >/dev/null || bad "not the same"
expect 1 "with what, and what it stood in" assayctl verify 18 --payload
query ".predicate | .configuration == [{name: \"quick\", digest: {sha256: \"$(digest_of "$stage/plans/quick.yaml")\"}},
                                      {name: \"quick/limits\", digest: {sha256: \"$limits\"}}] and
       .producer.scanner.digest.sha256 == \"$(digest_of "$1/daemon/assayd")\" and .run.worker.digest.sha256 == \"$(digest_of "$1/checks/assay-run")\""
query '.predicate.producer | ((.scanner | has("commit") | not) or (.scanner.commit | length) >= 7) and .kernel == "'"$(uname -r)"'"'
run=$(jq -r '.predicate.run.id' "$out")
query ".predicate.evidence[0].annotations.size == $(zstd -dc "$stage/evidence/$run.ocp.jsonl.zst" | wc -c) and
       .predicate.evidence[0].digest.sha256 == \"$(zstd -dc "$stage/evidence/$run.ocp.jsonl.zst" | digest_of)\""
expect 1 "the worst of several counts" assayctl verify 3 2
for asked in "2" "0 22" "1"; do
        # shellcheck disable=SC2086
        expect 64 "companions are signed no more" assayctl export $asked --format test-result --output "$stage/companion.json"
        [ "$(cat "$err")" = "assayctl: Companions (test-result/v0.1) are not signed any more: the record itself has the fields of test-result, see assay-records(7)" ] ||
                bad "it does not say what to use"
        [ ! -e "$stage/companion.json" ] || bad "it wrote something"
done
expect 64 "whether or not there is a daemon" assayctl --bus unix:path=/nowhere export 2 --format test-result
expect 0 "export writes a file" assayctl export 2 2 --output "$stage/two.jsonl"
[ "$(wc -l <"$stage/two.jsonl")" = 2 ] || bad "not two lines"
expect 0 "export ends with the log" assayctl export 0 100000
[ "$(wc -l <"$out")" = 22 ] || bad "not every record once"
expect 64 "export begins within it" assayctl export 22 1
expect 1 "verify a file offline" "$1/cli/assayctl" --bus unix:path=/nowhere verify "$stage/two.jsonl" --key "$stage/record.pub.pem"
assayctl keys show >"$stage/station.keyring"
expect 0 "a batch, with proofs" assayctl export 2 2 --format bundle --output "$stage/batch.jsonl"
expect 1 "verifies offline by the keyring that is shown" "$1/cli/assayctl" --bus unix:path=/nowhere verify "$stage/batch.jsonl" --keyring "$stage/station.keyring"
[ "$(tail -n 1 "$out")" = "2 in all: 2 verified" ] || bad "not all of it"
expect 2 "and without proofs cannot be told" "$1/cli/assayctl" --bus unix:path=/nowhere verify "$stage/two.jsonl" --keyring "$stage/station.keyring"
has "assayctl export --format bundle, where the log is, writes records with the proofs that this keyring asks for"
expect 0 "explain a code" assayctl explain rounding-mode
expect 0 "explain a record" assayctl explain 2
has "trn-0/chip0/core2/gpsimd"
for word in key keyring; do
        expect 0 "explain a record that a keyring vouches for" assayctl explain 2 --$word "$stage/station.keyring"
        has "trn-0/chip0/core2/gpsimd"
        expect 2 "and none of a key that is not trusted" assayctl explain 2 --$word "$stage/other.pub.pem"
done
expect 0 "a record explained is one document" assayctl --json explain 2
query '.result == "FAILED" and (.findings | length > 0 and all(.code == "rounding-mode" and .replaceable == "tray 0"))'
expect 0 "a server's record points at those of its chips" assayctl explain 18
has "trn-0/chip0  FAILED: assayctl explain 2"
expect 0 "a record without findings as well" assayctl --json explain 3
query '.findings == [] and .result == "PASSED"'
expect 0 "plans lists plans" assayctl plans
has quick
expect 0 "a plan as JSON" assayctl --json plans quick
query '.coverage.rounding_conversions_compared == 1000 and (.limits | contains("sr-off") | not) and
       .escapes == [{faults: ["sr-off"], always: 0, commands: 7, by: "campaign", because: null}]'
expect 0 "log-level shows" assayctl log-level
expect 0 "log-level sets" assayctl log-level debug
expect 0 "log-level was set" assayctl log-level
has debug

sleep 0.3
jq -es 'length == 21 and all(.specversion == "1.0" and (.data.payload | @base64d | fromjson | .predicateType | sub("urn:"; "org.") | gsub(":"; ".")) == .type) and
        (map(.sequence) == (map(.sequence) | sort)) and (map(.id) | unique | length) == 21' "$stage/events" >/dev/null ||
        bad "watch --json did not give one CloudEvent per record"
expect 1 "what two steps find is told once" assayctl scan trn-0/chip7 --plan twice
[ "$(grep -c '^fail: rounding-mode at ' "$err")" = 1 ] || bad "not once"
expect 0 "chips work together" assayctl --json scan trn-0 --plan together
id=$(jq .scan "$out")
expect 0 "show has the columns of nccom-test" assayctl show "$id"
grep -Eq '^ *size\(B\) +count\(elems\) +type +time:avg\(us\) +algbw\(GB/s\) +busbw\(GB/s\)' "$out" || bad "no such table"
grep -Eq '^all_reduce from trn-0/chip0, 16 ranks' "$out" || bad "no all-reduce"
# By nccom-test's definitions, from what is printed: 2 (r - 1) / r of algbw, which is size / time, in 2^30 bytes. The average is of sizes that
# it runs by itself, 2^25 bytes, and more.
awk '/^all_reduce/ { on = 1 } /^sendrecv/ { on = 0 } on && $1 ~ /^[0-9]+$/ { n++; a = $1 / ($4 * 1e-6) / 2 ^ 30; b = a * 2 * 15 / 16
        if ($1 >= 2 ^ 25) { sum += $6; large++ }
        if (($1 > 1e6 && ((a - $5) ^ 2 > 1e-6 * a * a || (b - $6) ^ 2 > 1e-6 * b * b)) || $1 != $2 * ($3 == "fp32" ? 4 : $3 == "bf16" ? 2 : 1)) exit 1 }
     on && /^Avg bus bandwidth/ { split($4, g, "GB"); exit n != 25 || large != 1 || (sum / large - g[1]) ^ 2 > 1e-6 }' "$out" || bad "the figures do not go together"

# What is wrong between chips is the server's: its record and the table say it once, and a hook hears of it.
"$stage_build/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip2/link-y+, kind: cable-swapped, with: trn-0/chip8/link-x+}' >/dev/null
expect 1 "two cables in each other's place" assayctl scan trn-0 --plan wires
grep -Eq '^trn-0 +FAILED +link-cabling +move cables +- +1 move puts the cables right: swap ' "$out" || bad "the server's row is missing"
expect 1 "the roll-up fails with its reason" assayctl gate trn-0 --plan wires
# Four chips hear a wrong neighbour; and what was found of the rounding of two others a test of links does not clear.
has "trn-0: neuronlink: link-cabling; 6 more failed"

# What to do where a cable could be to blame: it, or what may mend a chip, or the tray of a trace of its board.
"$stage_build/sim/assay-sim" heal --socket "$stage/sim.socket" trn-0/chip2/link-y+ >/dev/null
"$stage_build/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: trn-0/chip4, kind: host-link-narrowed, width: 4}' \
        '{at: trn-0/chip6/nic6/path3, kind: path-drops, rate: 0.3}' '{at: trn-0/chip9, kind: collective-stall, step: 3}' \
        '{at: trn-0/chip11/link-x+/lane2, kind: lane-dead}' >/dev/null
expect 1 "what each code says is to be done" assayctl scan trn-0 --plan between
for row in 'chip4 +FAILED +host-link +reseat cable to the CPU tray +tray 1' 'chip6 +FAILED +efa-path +reseat cable +tray 5: nic6/path3' \
        'chip9 +FAILED +collective-hang +reset chip +tray 7' 'chip11 +FAILED +link-lane +replace tray [0-7] +link-x+'; do
        grep -Eq "^trn-0/${row%+}" "$out" || bad "no $row"
done
expect 1 "a value that sums up others says how and how many" assayctl --json show "$(assayctl --json scans | jq '.[-1].scan')"
query '[.statements[].predicate.steps[]?.measurements[]?]
        | (map(select(.name | test("_(min|max|p50|p99)$")))
                | length > 64 and all(.count > 0 and .statistic == (.name | split("_")[-1])))
        and (map(select(.name == "host_link_bandwidth_min").count) | unique == [8])
        and (map(select(.name | endswith("_busbw"))) | length > 0 and all(.statistic == "min" and .count == 16))'

# A daemon that was killed and comes back says so before anything else, signed by the key that the record is about.
last=$(assayctl --json records | jq '.[-1].index')
kill -9 "$stage_daemon_pid"
wait "$stage_daemon_pid" || true
stage_daemon trn-0
expect 2 "a start is a record, and says nothing of health" assayctl verify $((last + 1)) --payload
query '.predicateType == "urn:assay:attestation:heartbeat:v1" and .predicate.cause == "start" and (.predicate.producer.bootId | length) == 36'
digest=$(openssl pkey -in "$stage/record.pem" -pubout -outform DER | sha256sum | cut -d " " -f 1)
query ".subject[0].digest.sha256 == \"$digest\""
expect 0 "a heartbeat in a line" assayctl explain $((last + 1))
has "https://stage.example/stations/1: started, boot "
expect 1 "and no news of any part" assayctl verdict trn-0
expect 0 "by now the log shows that it holds an earlier record" assayctl verify 3
has ", proven by "
expect 0 "and how it grew since it was last asked" assayctl verify 3 --state "$stage/state"
rm "$stage"/state/*.accepted
expect 1 "a scan on top" assayctl --quiet scan trn-0/chip7 --plan quick
log_grew() { [ "$(assayctl --json verify 3 | jq .logSize)" -gt $((last + 2)) ]; }
stage_await "a larger checkpoint" log_grew
expect 0 "the log only grew" assayctl verify 3 --state "$stage/state"

# What the daemon exports a reader takes who never asks it, by the keys that it names.
expect 0 "its keys, which are a keyring" assayctl keys show
cp "$out" "$stage/keyring"
offline() { "$stage_build/cli/assayctl" --bus unix:path=/nowhere "$@"; }
assayctl export 2 --format bundle --output "$stage/2.sigstore.json"
assayctl export 2 --format proof --output "$stage/2.proof"
assayctl export 2 1 --output "$stage/2.json"
expect 1 "a bundle of the daemon's" offline verify "$stage/2.sigstore.json" --keyring "$stage/keyring"
has ", proven by "
expect 1 "its proof beside its record" offline verify "$stage/2.json" --proof "$stage/2.proof" --keyring "$stage/keyring" --plan quick
has ", proven by "
expect 2 "its record alone" offline verify "$stage/2.json" --keyring "$stage/keyring"
expect 3 "the proof of one for another" offline verify <(assayctl export 3 1) --proof "$stage/2.proof" --keyring "$stage/keyring"
done_expecting
