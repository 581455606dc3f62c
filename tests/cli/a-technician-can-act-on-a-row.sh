#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A row of a scan is enough to act on: the tray, the cable, what to do; the worst first; what several parts say once, in words for people.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

# The words of reasons are those of the vocabulary itself: one that is added there is looked for here.
reasons=$(sed -n '/reason_words\[/,/^};/s/.*= "\([a-z-][a-z-]*\)",$/\1/p' checks/vocabulary/verdict.c)
[ "$(wc -l <<<"$reasons")" -ge 15 ] && grep -qx device-unreachable <<<"$reasons" || { echo "the words of reasons are not found"; exit 1; }

# no_word_of_ours FILE: reasons are told in sentences. Some words are English too, and count in parentheses only.
no_word_of_ours() {
        ! grep -Eq "\(($(paste -sd '|' <<<"$reasons"))\)" "$1" && ! grep -Fwf <(grep -e - <<<"$reasons") "$1" >&2 || bad "a word of ours"
}

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<'YAML'
scenario: what a technician has to find
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-0/chip2, kind: device-missing}
  - {at: us0-0/chip4, kind: hang}
  - {at: us0-0/chip6, kind: overheat, celsius: 60}
  - {at: us0-0/chip8, kind: host-link-narrowed, width: 4}
  - {at: us0-1/chip9/nic9, kind: packet-loss, rate: 0.05}
  - {at: us0-1/chip3/core5/pe17.93, kind: product-stuck, bit: 9, value: 1}
  - {at: us0-1/chip12/link-y-, kind: cable-unplugged}
  - {at: us0-1/chip13, kind: heartbeat-stalled}
YAML
stage_sim sim "$stage/server.yaml"
stage_daemon us0-0 us0-1 us0-7
inject=("$1/sim/assay-sim" inject --socket "$stage/sim.socket" '{at: us0-1/chip14/core0/pe1.1, kind: product-stuck, bit: 9, value: 1}')
expect 0 "a fault for a script" "${inject[@]}"
grep -Eqx '[0-9]+' "$out" || bad "no bare number"
expect 0 "and for a person" in_terminal 100 "${inject[@]/chip14/chip15}"
grep -Eq 'fault [0-9]+: [{]at: us0-1/chip15/.*faults lists what is broken' "$out" || bad "no sentence"
expect 0 "both are healed" "$1/sim/assay-sim" heal --socket "$stage/sim.socket" us0-1/chip14 us0-1/chip15
expect 1 "a scan" assayctl scan us0
for row in 'us0-0/chip2 +FAILED +identity-missing +reboot server +tray 4 +' 'us0-0/chip4 +FAILED +device-hang +reset chip +tray 1 +' \
        'us0-0/chip6 +FAILED +overheated +inspect station +tray 5 +' 'us0-0/chip8 +FAILED +host-link +reseat cable to the CPU tray +tray 3 +the width' \
        'us0-1/chip9 +FAILED +efa-loss +replace nic +tray 7: nic9 +' 'us0-1/chip3 +FAILED +systolic-pe +replace tray 0 +core5/pe17.93 +\(row 17, column 93\): product' \
        'us0-1/chip12 +FAILED +link-unplugged +plug in cable +tray 2: link-y- +no plug' \
        'us0-1/chip13 +FAILED +heartbeat-stalled +reset chip +tray 6 +the heartbeat stood at [0-9]+ for [0-9]+ µs of device time' \
        'us0-7 +INCONCLUSIVE +- +see to server +- +the server cannot be reached; is it on'; do
        grep -Eq "^$row" "$out" || bad "no $row"
done
sed -n 's/^us0-[0-9/chip]* *\([A-Z]*\) .*/\1/p' "$out" | uniq >"$err"
[ "$(tr '\n' ' ' <"$err")" = "FAILED INCONCLUSIVE " ] || bad "not the worst first"
no_word_of_ours "$out"
grep -Fq "on us0-0/chip2 (there is no such device)" "$out" && [ "$(grep -c "there is no such device" "$out")" = 1 ] || bad "one part is told more than once"
expect 1 "is shown with its verdict once, and first" assayctl show 1
[ "$(grep -c '26 PASSED\|FAILED, 16 INCONCLUSIVE' "$out")" = 1 ] && head -n 1 "$out" | grep -q '^Scan 1 (preflight): FAILED' || bad "otherwise"
expect 0 "trays of chips" assayctl targets --chips
# As the devices themselves say, in the records.
assayctl --json show 1 >"$stage/show.json" || true
jq -r '.statements[].predicate.location | select(.tray) | "\(.path) \(.tray)"' "$stage/show.json" | sort >"$stage/told"
awk '$1 ~ /chip/ && $1 !~ /us0-7/ { print $1, "tray", $3 }' "$out" | sort >"$stage/listed"
[ "$(comm -23 "$stage/told" "$stage/listed" | wc -l)" = 0 ] && [ "$(wc -l <"$stage/told")" -ge 30 ] || bad "other trays"

# Widths.
expect 1 "160 columns" in_terminal 160 "$stage_build/cli/assayctl" --no-pager --bus "$bus" show 1
grep -Eq '^us0-0/chip8 +FAILED +host-link +reseat cable to the CPU tray tray 3 +the width' "$out" || bad "the width is not used"
[ "$(sed -n '2,/^Covered/p' "$out" | tr -d '\r' | wc -L)" -le 160 ] || bad "too wide"
expect 1 "80 columns" in_terminal 80 "$stage_build/cli/assayctl" --no-pager --bus "$bus" show 1
[ "$(tr -d '\r' <"$out" | wc -L)" -le 80 ] || bad "too wide"

# A scan that was cancelled: what was found first, and the rest in few lines.
assayctl scan us0-0 us0-1 --plan production >/dev/null 2>"$stage/begun" &
scan=$!
stage_await "a finding" grep -q '^fail: ' "$stage/begun"
expect 0 "a scan is cancelled" assayctl cancel 2
wait "$scan" || true
stage_await "its end" sh -c "'$stage_build/cli/assayctl' --bus '$bus' scans | grep -Eq '^ +2 .*FAILED'"
expect 0 "scans say so" assayctl scans
grep -Eq '^ +2 .* production +cancelled +FAILED$' "$out" && grep -Eq '^ +1 .* preflight +finished +FAILED$' "$out" || bad "otherwise"
expect 1 "is told in few lines" assayctl show 2
[ "$(wc -l <"$out")" -lt 60 ] || bad "$(wc -l <"$out") lines"
[ "$(grep -c 'scan again' "$out")" -le 6 ] || bad "a row for each chip"
for code in link-miscabled link-cabling collective-cable; do
        expect 0 "what the cables' codes say: $code" assayctl explain $code
        has "To do (move-cable)"
done
expect 0 "plans say whose seconds" assayctl plans
has "DEVICE SECONDS"
done_expecting
