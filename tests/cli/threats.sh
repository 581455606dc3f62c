#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The rows of the threat table of assay-records(7) that meet the programs; the others are tests/record/threats*.c. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/demo.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: host links alone\nstage: PREFLIGHT\nsteps:\n  - check: host-link\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon us0-0
"$stage_build/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: us0-0/chip4, kind: host-link-narrowed, width: 4}' >/dev/null
expect 1 "a chip fails" assayctl scan us0-0/chip4 --plan quick --challenge "$(printf '","result":"PASSED' | base64)"
chip=$(assayctl --json records | jq '[.[] | select(.subject == "us0-0/chip4")][0].index')
last() { assayctl --json records | jq '.[-1].index'; }

# Row 24: what is not signed beside a record.
assayctl export "$chip" --format cloudevents >"$stage/event"
jq -c '.subject = "urn:dev:ops:32473-Trainium2-0000000000000000" | .assayresult = "PASSED" | .data' "$stage/event" >"$stage/data"
expect 1 "row 24: an event that is called otherwise carries the same record" assayctl verify "$stage/data" --key "$stage/record.pub.pem"
has "us0-0/chip4  FAILED"
expect 1 "row 24: a hook asks the record and not the daemon's word" assayctl gate us0-0/chip4 --key "$stage/record.pub.pem"
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$stage/other.pub.pem"
expect 2 "row 24: and believes no other" assayctl gate us0-0/chip4 --key "$stage/other.pub.pem"

# Row 25: a caller who would have something of his own signed.
before=$(last)
dbus-send --bus="$bus" --print-reply=literal --dest=org.assay.Assay1 /org/assay/Assay1 org.freedesktop.DBus.Introspectable.Introspect >"$stage/introspection"
grep -q 'method name="StartScan"' "$stage/introspection" || bad "no introspection"
grep -Eq '<arg type="(ay|aay|h)"[^>]*direction="in"' "$stage/introspection" && bad "row 25: a method takes bytes"
expect 64 "row 25: a challenge is short" assayctl scan us0-0/chip4 --plan quick --challenge "$(head -c 97 /dev/zero | base64 -w 0)"
expect 64 "row 25: and base64 and nothing else" assayctl scan us0-0/chip4 --plan quick --challenge '","result":"PASSED'
expect 64 "row 25: a note is one line" assayctl scan us0-0/chip4 --plan quick --note $'a\nb'
expect 64 "row 25: without what moves a cursor" assayctl scan us0-0/chip4 --plan quick --note $'\e[2J'
expect 64 "row 25: and short" assayctl scan us0-0/chip4 --plan quick --note "$(head -c 257 /dev/zero | tr '\0' x)"
[ "$(last)" = "$before" ] || bad "row 25: something was signed"
expect 1 "row 25: what it says is said nowhere else" assayctl --json verify "$chip"
query '.statement.predicate | .result == "FAILED" and (.run.challenge | @base64d) == "\",\"result\":\"PASSED"'

# Row 26: a verifier that has checked nothing.
: >"$stage/empty"
expect 2 "row 26: an empty file is not verified" assayctl verify "$stage/empty" --key "$stage/record.pub.pem"
expect 2 "row 26: a log without records does not hold" assayctl audit "$stage/empty" --key "$stage/record.pub.pem"
expect 64 "row 26: no keys are no keyring" assayctl verify "$stage/data" --key "$stage/empty"
expect 69 "row 26: nobody to ask is no answer" "$1/cli/assayctl" --bus unix:path=/nowhere gate us0-0/chip4
printf '{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[]}\n' >"$stage/unsigned"
expect 3 "row 26: what nobody signed is refused" assayctl verify "$stage/unsigned" --key "$stage/record.pub.pem"
expect 1 "row 26: and the record beside it is told" assayctl verify "$stage/data" --key "$stage/record.pub.pem"
done_expecting
