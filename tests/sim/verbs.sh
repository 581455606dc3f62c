#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The verbs of assay-sim as a person meets them: what they print, and how they end. TAP on stdout.
#
# usage: verbs.sh ASSAY-SIM
set -uo pipefail

sim=$(realpath "$1")
manual=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../units/man/assay-sim.1.scd")
folder=$(mktemp -d -t "assay sim.XXXXXX")
trap '[ -z "${pid:-}" ] || kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset ASSAY_SIM_SOCKET

number=0 failed=0
# Runs a command and holds its status and what it says (both streams) against a pattern.
holds() { # SENTENCE STATUS PATTERN COMMAND…
        local sentence=$1 status=$2 pattern=$3 said got=0
        shift 3
        said=$("$@" 2>&1) || got=$?
        number=$((number + 1))
        if [ "$got" = "$status" ] && [[ $said == $pattern ]]; then
                echo "ok $number - $sentence"
        else
                echo "not ok $number - $sentence"
                printf '# status %s, said: %s\n' "$got" "$said"
                failed=$((failed + 1))
        fi
}

printf 'scenario: t\nseed: 3\ntopology: {ultraservers: 1}\nfaults: [{at: us0-1/chip3, kind: hang}]\n' >good.yaml
printf 'scenario: t\ntopology: {ultraservers: 1}\nfaults: [{at: us0-1/chip3, kind: melt}]\n' >bad.yaml

holds "without a verb it says what there is" 64 '*serve*check*inject*heal*faults*kinds*' "$sim"
holds "an unknown verb is refused" 64 '*no verb is called "play"*' "$sim" play
holds "help is no error" 0 '*Exit status*' "$sim" --help
holds "a good scenario is valid" 0 '' "$sim" check good.yaml
holds "a bad scenario is refused where it is bad" 64 'bad.yaml:3:34: no kind is called "melt"*' "$sim" check bad.yaml
holds "serve refuses it in the same words" 64 'bad.yaml:3:34: no kind is called "melt"*' "$sim" serve bad.yaml
sed -n '/^```$/,/^```$/{/^```$/d;p}' "$manual" >manual.yaml
holds "the scenario of the manual is valid" 0 '1' bash -c '"$0" check manual.yaml && grep -c ^scenario: manual.yaml' "$sim"
holds "a file that is not there is refused by name" 64 '*none.yaml*' "$sim" check none.yaml
holds "an option of another verb is refused" 64 '*--json*' "$sim" serve good.yaml --json
holds "a scenario too many is refused" 64 '*too many*' "$sim" check good.yaml good.yaml
holds "a stream that is no stream fails" 1 '*the stream cannot be read*' "$sim" check good.yaml --stream good.yaml
holds "nobody listens yet" 69 '*faults: *' bash -c '"$0" faults 2>&1 | sed s/^assay-sim:/faults:/; exit ${PIPESTATUS[0]}' "$sim"
holds "kinds are a table for machines" 0 '' bash -c '"$0" kinds --json | jq -e "length > 20 and all(.[]; .kind and .family and (.at | length > 0))" >/dev/null' "$sim"
holds "kinds are words for people" 0 '*hang (telemetry): *' "$sim" kinds
holds "one kind alone, with its primitives" 0 'transition (memory): *at bit, bit of SRAM;*TF: <0w1/0/-> <1w0/1/->' "$sim" kinds transition
holds "for machines too" 0 '1' bash -c '"$0" kinds --json hang | jq length' "$sim"
holds "a family stands for its kinds" 0 'true' bash -c '"$0" kinds --json links hang | jq "length > 5 and all(.[]; .family == \"links\" or .kind == \"hang\")"' "$sim"
holds "a kind that there is not is refused" 64 '*no kind or family is called "melt"*' "$sim" kinds hang melt
holds "help of one verb" 0 '1' bash -c '"$0" kinds --help | grep -c "^  [a-z]"' "$sim"

holds "coverage counts what a test finds" 0 'March SS: 22n, static 84 / 84 = 100.0 %*' "$sim" coverage 'March SS'
holds "coverage takes any notation" 0 '{"SAF":\[2,2],"TF":\[1,2]}' bash -c '"$0" coverage --json "any(w0);up(r0,w1);dn(r1)" | jq -c ".[0].classes | {SAF, TF}"' "$sim"
holds "coverage of all tests is a table for machines" 0 '' bash -c '"$0" coverage --json | jq -e "length == 25 and all(.[]; .march and .operations and .static[1] == 84)" >/dev/null' "$sim"
holds "a read that contradicts is refused with its place" 64 '*contradicts the last write (byte 11)' "$sim" coverage 'any(w0);up(r1)'
holds "a test that nobody knows is no notation" 64 '*expected an element*' "$sim" coverage 'March Q'
holds "and those with a name are told" 64 '*no test is called "March Q"*March SS*' "$sim" coverage 'March Q'
holds "a test with a name is told as a notation" 0 '*any(w0);any(r0,w1);any(r1)*' "$sim" coverage MATS
holds "no line ends in blanks" 1 '' bash -c '"$0" coverage MATS | grep " $"' "$sim"
holds "a group of classes that 80 columns do not hold is two tables" 0 '2' bash -c '"$0" coverage --matrix MATS | sed -n "/^## two cells/,/^## two op/p" | grep -c "^|\[ test"' "$sim"

"$sim" serve good.yaml >ready & pid=$!
for _ in $(seq 200); do [ -s ready ] && break; sleep 0.02; done
holds "it says when it is ready and with what" 0 'ready: assay-sim.sock, 4 servers, 64 chips, 1 faults' cat ready
holds "a second one does not take the socket" 1 '*Address already in use*' "$sim" serve good.yaml
holds "faults of the scenario are listed" 0 '1  us0-1/chip3  hang  permanent' "$sim" faults
holds "inject says the id" 0 '2' "$sim" inject '{at: us0-2/chip5, kind: overheat, celsius: 30}'
holds "inject refuses with a position" 64 'fault:1:12: expected chip0 to chip15' "$sim" inject '{at: us0-2/chip55, kind: overheat, celsius: 30}'
holds "of several it says which was refused" 64 '*chip0 to chip15*number 2 of 3; those before it are done*' "$sim" inject '{at: us0-2/chip6, kind: hang}' \
        '{at: us0-2/chip55, kind: hang}' '{at: us0-2/chip7, kind: hang}'
holds "and has done what came before" 0 '1 healed' "$sim" heal us0-2/chip6
holds "faults know their parameters" 0 '30*' bash -c '"$0" faults --json | jq ".[1].parameters.celsius"' "$sim"
holds "and what else their text said" 0 '*us0-2/chip5  overheat  permanent  celsius: 30' "$sim" faults
holds "heal takes an id" 0 '1 healed' "$sim" heal 2
holds "heal takes a place" 0 '1 healed' "$sim" heal us0-1
holds "nothing is left to heal" 0 'nothing to heal' "$sim" heal all
holds "but a place is there or is not" 64 'there is no fault us0-1' "$sim" heal us0-1
holds "nothing carries work" 0 '' "$sim" use
holds "use takes rows of a stack" 0 '' "$sim" use '{at: us0-1/chip3/hbm2, rows: "0:0-8191,2:5-5"}'
holds "and says which it has" 0 'us0-1/chip3/hbm2  rows 0:0-8191,2:5-5  0 accesses overwritten' "$sim" use
holds "use refuses with a position" 64 "in-use:1:30: '0:5' are no rows of that stack*" "$sim" use '{at: us0-1/chip3/hbm2, rows: "0:5"}'
holds "reset takes a chip and a server" 0 '' "$sim" reset us0-1/chip3 us0-2
holds "reset takes no less than a chip" 64 '*chips and servers are reset, not parts of them' "$sim" reset us0-1/chip3/hbm2
holds "reset knows its servers" 64 'there is no server us7-1' "$sim" reset us7-1/chip3
kill "$pid"
wait "$pid"
holds "SIGTERM is a clean end" 0 "$?" echo 0
holds "and the socket is gone" 1 '' test -e assay-sim.sock

# What a killed one left behind does not keep the next from serving.
"$sim" serve good.yaml >ready2 & pid=$!
for _ in $(seq 200); do [ -s ready2 ] && break; sleep 0.02; done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
"$sim" serve good.yaml --mode 0660 >ready3 & pid=$!
for _ in $(seq 200); do [ -s ready3 ] && break; sleep 0.02; done
holds "a dead socket is taken over" 0 'ready: *' cat ready3
holds "with the mode that was asked for" 0 660 stat -c %a assay-sim.sock

echo "1..$number"
exit $((failed > 0))
