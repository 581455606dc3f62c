#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The measure of a plan, and whether it can fail: a plan that leaves a check out, workers that lie, die or hang. TAP on stdout.
#
# usage: qualify.sh BUILD-FOLDER
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build=$(realpath "$1")
export ASSAY_PLANS=$PWD/units/plans
folder=$(mktemp -d -t assay.XXXXXX)
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder/tmp
mkdir "$TMPDIR" "$folder/kept"

number=0 failed=0
holds() { # SENTENCE STATUS JQ-FILTER (of the JSON it prints; "" for any text) ARGUMENT…
        local sentence=$1 status=$2 filter=$3 got=0
        shift 3
        number=$((number + 1))
        "$build/sim/assay-sim" qualify "$@" >"$folder/out" 2>"$folder/err" || got=$?
        if [ "$got" = "$status" ] && { [ -z "$filter" ] || jq -e "$filter" "$folder/out" >/dev/null; }; then
                echo "ok $number - $sentence"
        else
                echo "not ok $number - $sentence"
                printf '# status %s\n' "$got"
                head -c 4000 "$folder/out" "$folder/err" | sed 's/^/# /'
                failed=$((failed + 1))
        fi
}

says() { # SENTENCE PATTERN: of what the last one said on stderr
        number=$((number + 1))
        if grep -q -e "$2" "$folder/err"; then echo "ok $number - $1"; else
                echo "not ok $number - $1"
                sed 's/^/# /' "$folder/err"
                failed=$((failed + 1))
        fi
}

few=(--plan preflight --kind row-dead --kind bank-dead --kind heartbeat-stalled --samples 3 --seed 11)
shape='(.plan == "preflight") and (.seed == 11) and (.kinds | length == 3)
        and all(.kinds[]; (.kind and .family) and all(.injected, .detected, .located, .wrong_code, .missed, .undetectable; type == "number"))
        and (.healthy.chips >= 16) and (.healthy.false_alarms == 0)'

holds "what is broken outright is found where it is" 0 "$shape and all(.kinds[]; .injected == 3 and .located == 3)" "${few[@]}" --json
cp "$folder/out" "$folder/first"
holds "and the same again from the same seed" 0 "" "${few[@]}" --json --jobs 1
number=$((number + 1))
if cmp -s "$folder/first" "$folder/out"; then echo "ok $number - to the byte, however many run side by side"; else
        echo "not ok $number - to the byte, however many run side by side"
        failed=$((failed + 1))
fi
holds "a mode of sparsity that is refused or mistaken half of the time is found under preflight" 0 \
        'all(.kinds[]; .missed == 0 and .injected == 6)' --plan preflight --kind mode-refused --kind ratio-wrong --probability 0.5 --samples 6 --seed 12 --json
holds "as a table for people" 0 "" "${few[@]}"
number=$((number + 1))
if grep -q "^row-dead  *memory  *3  *3  *3 " "$folder/out"; then echo "ok $number - with a line to each kind"; else
        echo "not ok $number - with a line to each kind"
        failed=$((failed + 1))
fi

# A plan that does not look at the memory misses what is broken there, and that is said with what was missed.
printf 'plan: blind\nstage: PREFLIGHT\nbudget: 30\nsteps: [{check: identity}, {check: telemetry}]\n' >"$folder/blind.yaml"
holds "a plan without the check misses its faults" 1 \
        'all(.kinds[]; .detected == 0 and .missed == .injected) and (.kinds[0].unfound[0].fault | startswith("{at: trn-0/"))' \
        --plan "$folder/blind.yaml" --kind row-dead --kind bank-dead --samples 2 --healthy 0 --json --keep "$folder/kept"
jq -r '"scenario: replay\nseed: \(.kinds[0].unfound[0].scenario_seed)\ntopology: {servers: 1}\nfaults:\n  - \(.kinds[0].unfound[0].fault)"' \
        "$folder/out" >"$folder/replay.yaml"
number=$((number + 1))
if "$build/sim/assay-sim" check "$folder/kept/0.yaml" --stream "$folder/kept/0.json" && grep -q row-dead "$folder/kept/0.yaml"; then
        echo "ok $number - what was kept is a scenario and what was said of it" # that expects nothing, and all passed
else
        echo "not ok $number - what was kept is a scenario and what was said of it"
        failed=$((failed + 1))
fi
number=$((number + 1))
if "$build/sim/assay-sim" check "$folder/replay.yaml"; then echo "ok $number - and what was missed is a scenario"; else
        echo "not ok $number - and what was missed is a scenario"
        failed=$((failed + 1))
fi

# What a plan states of faults that it misses stands beside what it does miss.
printf 'plan: honest\nstage: PREFLIGHT\nbudget: 30\nsteps: [{check: identity}, {check: telemetry}]\nescapes:\n' >"$folder/honest.yaml"
echo '  - {faults: [memory], always: 1, because: no memory is tested, by: design}' >>"$folder/honest.yaml"
sed 's/honest/boasting/; s/^  -.*/  - {faults: [row-dead], commands: 20, by: campaign}/' "$folder/honest.yaml" >"$folder/boasting.yaml"
holds "a plan that states what it misses is no worse than stated" 0 \
        'all(.kinds[]; .missed == .injected and .stated.always == 1 and all(.stated.shares[]; .bound == 1 and (.worse | not)))' \
        --plan "$folder/honest.yaml" --kind row-dead --kind bank-dead --samples 6 --healthy 0 --json
holds "one that promises more than it finds is worse" 1 \
        '.kinds[0].stated.commands == 20 and any(.kinds[0].stated.shares[]; .worse and .p == [1, 1] and .bound == 0) and .kinds[1].stated == null' \
        --plan "$folder/boasting.yaml" --kind row-dead --kind bank-dead --samples 6 --healthy 0 --json
holds "and that is said for people" 1 "" --plan "$folder/boasting.yaml" --kind row-dead --kind bank-dead --samples 6 --healthy 0
for said in 'row-dead, always there: [0-9] of [0-9] escaped, 100 %.*; stated: at most 0 %' '^The plan states nothing of:' \
            '^  bank-dead: 6 of 6 missed'; do
        number=$((number + 1))
        if grep -q "$said" "$folder/out"; then echo "ok $number - so: $said"; else
                echo "not ok $number - so: $said"
                sed 's/^/# /' "$folder/out"
                failed=$((failed + 1))
        fi
done
sed 's/row-dead/rowdead/' "$folder/boasting.yaml" >"$folder/typo.yaml"
holds "a kind that is none is refused" 64 "" --plan "$folder/typo.yaml" --kind row-dead --samples 1 --healthy 0
says "with its line" "typo.yaml:6:.*'rowdead' is no kind of fault"

# A scan that left out what its plan asks for is no pass, whoever scores it.
printf 'scenario: sound\nseed: 3\ntopology: {servers: 1}\nexpect: {}\n' >"$folder/sound.yaml"
"$build/sim/assay-sim" serve "$folder/sound.yaml" --socket "$folder/socket" >/dev/null & served=$!
for _ in $(seq 200); do [ ! -S "$folder/socket" ] || break; sleep 0.05; done
scored() { # SENTENCE STATUS BUDGET: of a scan with that many device seconds
        local got=0
        number=$((number + 1))
        "$build/checks/assay-run" --device "sim:$folder/socket#trn-0" --plan preflight --seed 1 --budget "$3" --deadline-scale 20 >"$folder/stream"
        "$build/sim/assay-sim" check "$folder/sound.yaml" --stream "$folder/stream" >"$folder/said" || got=$?
        if [ "$got" = "$2" ]; then echo "ok $number - $1"; else
                echo "not ok $number - $1"
                sed 's/^/# /' "$folder/said"
                failed=$((failed + 1))
        fi
}
scored "a whole scan of a sound server is as expected" 0 30
scored "one in which collectives were left out for budget is not" 1 2
scored "nor one that did not keep what the plan promises" 1 0.5
kill "$served"

# Five servers stand still while they are scanned, two of them with a chip that hangs, by deadlines as in service.
holds "what stands still loses no verdict and no fault" 0 \
        'all(.kinds[]; .located == 2) and .healthy.chips == 48 and .healthy.unjudged == 0 and .healthy.false_alarms == 0 and .innocents == 0' \
        --plan preflight --kind hang --samples 2 --healthy 48 --seed 3 --stalls --json

# Nothing that a worker does makes a fault found, or a run hang.
worker() { # NAME BODY
        printf '#!/bin/sh\n%s\n' "$2" >"$folder/$1"
        chmod +x "$folder/$1"
}
worker rubbish 'echo "{\"no\": \"stream\"}"; exit 1'
worker silent 'exit 0'
worker killed 'kill -KILL $$'
worker hanging 'echo $$ >"'"$folder"'/pids"; sleep 1000 & echo $! >>"'"$folder"'/pids"; wait'
unjudged='all(.kinds[]; .detected == 0 and .unjudged == .injected) and (.notes | length > 0)'
broken=(--plan preflight --kind row-dead --samples 2 --healthy 0 --json)
holds "a worker that talks rubbish judges nothing" 2 "$unjudged" "${broken[@]}" --assay-run "$folder/rubbish"
holds "nor one that says nothing and is content" 2 "$unjudged" "${broken[@]}" --assay-run "$folder/silent"
holds "nor one that is killed" 2 "$unjudged" "${broken[@]}" --assay-run "$folder/killed"
holds "nor one that hangs, and it is ended" 2 "$unjudged" "${broken[@]}" --assay-run "$folder/hanging" --timeout 1
number=$((number + 1))
if [ -s "$folder/pids" ] && ! xargs ps -o stat= -p <"$folder/pids" | grep -qv Z; then echo "ok $number - with all that it started"; else
        echo "not ok $number - with all that it started"
        failed=$((failed + 1))
fi
number=$((number + 1))
if [ -z "$(ls -A "$TMPDIR")" ]; then echo "ok $number - and nothing is left behind"; else
        echo "not ok $number - and nothing is left behind"
        failed=$((failed + 1))
fi

# What was judged before it was told to stop is still said.
cat >"$folder/slow" <<SLOW
#!/bin/sh
[ ! -e "$folder/turn" ] || exec sleep 1000
: >"$folder/turn"
exec "$build/checks/assay-run" "\$@"
SLOW
chmod +x "$folder/slow"
"$build/sim/assay-sim" qualify --plan preflight --kind row-dead --samples 17 --seed 1 --healthy 0 --jobs 1 --json --assay-run "$folder/slow" >"$folder/out" 2>/dev/null &
pid=$!
for _ in $(seq 600); do ! [ -e "$TMPDIR"/assay-qualify.*/1 ] || break; sleep 0.1; done
sleep 0.2
# Twice, as timeout(1) does: once by pid and once by group.
kill -STOP "$pid"
kill -TERM "$pid"
kill -HUP "$pid"
kill -CONT "$pid"
got=0
wait "$pid" || got=$?
number=$((number + 1))
if [ "$got" = 2 ] && jq -e '.kinds[0].injected == 17 and .kinds[0].unjudged == 1' "$folder/out" >/dev/null; then
        echo "ok $number - who stops it is told what was judged until then"
else
        echo "not ok $number - who stops it is told what was judged until then"
        printf '# status %s\n' "$got"
        failed=$((failed + 1))
fi

holds "a plan is needed" 64 "" --samples 1
says "and that is said" "--plan is missing"
holds "a plan that is not there is refused" 64 "" --plan none --samples 1 --kind row-dead
says "by name" "no plan is called 'none'"
holds "a kind that is not there is refused" 64 "" --plan preflight --kind none
holds "a family that is not there is refused" 64 "" --plan preflight --family none
holds "a worker that is not there is refused" 64 "" --plan preflight --assay-run "$folder/none"
holds "an order of nothing is refused" 64 "" --plan preflight --samples 0 --healthy 0
holds "a number that is none is refused" 64 "" --plan preflight --samples -1
holds "a probability that is none is refused" 64 "" --plan preflight --samples 1 --probability 1.5

echo "1..$number"
exit $((failed > 0))
