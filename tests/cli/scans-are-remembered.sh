#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A daemon that comes back knows the scans of those before it, by the numbers that they had, and goes on counting: all of it stands in the log.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
stage_sim sim sim/scenarios/demo.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: the host and arrays\nstage: PREFLIGHT\nsteps:\n  - check: identity\n  - check: systolic\n    parameters: {patterns: structure}\n' >"$stage/plans/quick.yaml"
printf 'plan: ring\nsummary: adapters\nstage: PREFLIGHT\nsteps:\n  - check: efa\n' >"$stage/plans/ring.yaml"
printf 'plan: slow\nsummary: memory\nstage: PREFLIGHT\nsteps:\n  - check: hbm\n  - check: rounding\n  - check: systolic\n' >"$stage/plans/slow.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon us0-0 us0-1 us0-2 us0-3

restart() {
        kill "-$1" "$stage_daemon_pid"
        wait "$stage_daemon_pid" 2>/dev/null || true
        stage_daemon us0-0 us0-1 us0-2 us0-3
}

expect 1 "a server" assayctl scan us0-1 --plan quick
expect 0 "chips of two servers" assayctl scan us0-0/chip3 us0-0/chip7 us0-2 --plan quick
expect 1 "an UltraServer, whose servers share a worker" assayctl scan us0 --plan ring
assayctl scans >"$stage/scans"
assayctl scans --json >"$stage/scans.json"
for n in 1 2 3; do assayctl show "$n" >"$stage/show.$n" || true; done

for signal in TERM KILL; do
        restart $signal
        expect 0 "after SIG$signal they are listed" assayctl scans
        cmp -s "$stage/scans" "$out" || bad "otherwise than before"
        expect 0 "for programs too" assayctl scans --json
        cmp -s "$stage/scans.json" "$out" || bad "otherwise than before"
        for n in 1 2 3; do
                expect "$([ $n = 2 ] && echo 0 || echo 1)" "scan $n is shown" assayctl show "$n"
                cmp -s "$stage/show.$n" "$out" || bad "otherwise than before"
        done
done
expect 64 "what has ended is not cancelled" assayctl cancel 3
expect 64 "and there are no others" assayctl show 4
expect 0 "the next number follows" assayctl scan us0-2 --plan quick --no-wait
[ "$(cat "$out")" = 4 ] || bad "it does not"
stage_await "its end" sh -c "'$1/cli/assayctl' --bus '$bus' scans | grep -Eq '^ *4 .*finished'"

# What was interrupted keeps its number.
expect 0 "a scan that takes its time" assayctl scan us0-3 --plan slow --no-wait
restart KILL
expect 0 "is still there" assayctl scans
grep -Eq '^ *5 us0-3 +slow ' "$out" && [ "$(grep -c . "$out")" = 6 ] || bad "as something else"
stage_await "its end" sh -c "'$1/cli/assayctl' --bus '$bus' scans | grep -Eq '^ *5 us0-3 +slow +finished'"
restart TERM
expect 0 "and after that" assayctl scans
grep -Eq '^ *5 us0-3 +slow +finished' "$out" && [ "$(grep -c . "$out")" = 6 ] || bad "as something else"
expect 0 "a scan of two servers, each with a worker of its own" assayctl scan us0-2 us0-3 --plan slow --no-wait
for signal in KILL KILL; do
        restart $signal
        expect 0 "is one scan with its number" assayctl scans
        grep -Eq '^ *6 us0-2 and 1 more +slow ' "$out" && [ "$(grep -c . "$out")" = 7 ] || bad "as something else"
done
stage_await "its end" sh -c "'$1/cli/assayctl' --bus '$bus' scans | grep -Eq '^ *6 us0-2 and 1 more +slow +finished'"
expect 0 "and the next has the next" assayctl scan us0-2 --plan quick --no-wait
[ "$(cat "$out")" = 7 ] || bad "it has another"
expect 0 "the whole log holds" assayctl audit

done_expecting
