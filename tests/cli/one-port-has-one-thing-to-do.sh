#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a row says is to be done contradicts no other row: of one port, of one chip, of two servers; and explain says the same.
# usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
stage_bus
cat >"$stage/server.yaml" <<'YAML'
scenario: several findings of one cause
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-3/chip10/link-y+, kind: loopback-plug}
  - {at: us0-3/chip1/link-y+, kind: cable-unplugged}
  - {at: us0-3/chip6/link-x+, kind: link-throttled, share: 0.3}
  - {at: us0-1/chip4/link-y+, kind: cable-swapped, with: us0-1/chip5/link-y+}
  - {at: us0-1/chip12/link-z+, kind: cable-swapped, with: us0-1/chip13/link-z+}
  - {at: us0-2/chip2, kind: hang}
YAML
stage_sim sim "$stage/server.yaml"
mkdir "$stage/plans"
printf 'plan: links\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: identity}, {check: neuronlink}, {check: efa}, {check: collective, parameters: {operations: few, sizes: few}}]\n' \
        >"$stage/plans/links.yaml"
printf 'plan: all\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: identity}, {check: telemetry}, {check: hbm}, {check: neuronlink}, {check: host-link}, {check: efa}]\n' >"$stage/plans/all.yaml"
printf 'plan: memory\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: identity}, {check: telemetry}, {check: hbm}]\n' >"$stage/plans/memory.yaml"
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_daemon us0-0 us0-1 us0-2 us0-3

row() {
        grep -Eq "^$1" "$out" || bad "no $1"
}

expect 1 "a scan of links" assayctl scan us0 --plan links
row 'us0-3/chip10 +FAILED +link-miscabled +move cable +tray 7: link-y[+] +hears itself: a loopback plug'
row 'us0-3/chip1 +FAILED +link-unplugged +plug in cable +tray 4: link-y[+]'
row 'us0-3/chip1 +FAILED +collective-hang +plug in cable +tray 4: link-y[+] .*nothing is plugged in here'
ring='swap the cables in us0-2 tray [0-7] chip 1[23] port z- [(]NLC[0-9A-F]+[)] and us0-2 tray [0-7] chip 1[23] port z- [(]NLC[0-9A-F]+[)] [(]told at us0-1 and us0-2: make it once[)]'
row "us0-1 +FAILED +link-cabling +move cables +- +2 moves put the cables right: .*$ring"
row "us0-2 +FAILED +link-cabling +move cables +- +1 move puts the cables right: $ring\$"
row 'us0-3 +FAILED +link-cabling +move cables +- +2 moves .*in place of the loopback plug$'
[ "$(grep -c 'make it once' "$out")" = 2 ] || bad "said of moves within a server"
has "Not tested: efa on us0-2/chip2 (1 adapter not scanned, in service or without an answer)"
row 'Not tested: neuronlink on 6 chips [(]1 port whose far end is not scanned together with this end, is in service or does not answer[)]'
has "Not tested: collective on 63 chips (in no collective with all others of the UltraServer)"
has "Not tested: collective on us0-2/chip0-1,3-15 (a chip of the rings is not scanned, is in service or does not answer)"
expect 0 "explain says what the table says" assayctl explain "$(assayctl verdict us0-3/chip10 --json | jq .record)"
has "replaceable part: cable"
has "To do (move cable): Exchange or move the plug as the finding says"
expect 0 "and of the far end of a cause, which cause" assayctl explain "$(assayctl verdict us0-3/chip1 --json | jq .record)"
has "To do (plug in cable): as for link-unplugged, which is found here too. Plug in the cable from there"

"$1/sim/assay-sim" heal all --socket "$stage/sim.socket"
inject() {
        "$1/sim/assay-sim" inject "${@:2}" --socket "$stage/sim.socket" >"$stage/number"
}
inject "$1" '{at: us0-3/chip6/link-y+, kind: link-throttled, share: 0.3}'
expect 1 "a slow link" assayctl scan us0-3 --plan links
row 'us0-3/chip6 +FAILED +link-bandwidth +reset chip +'
row 'us0-3/chip6 +FAILED +collective-slow +reset chip +'
! grep -q 'reseat cable' "$out" || bad "two things to do at one port"

inject "$1" '{at: us0-1/chip3/link-y+, kind: link-stall, bytes: 4096}'
expect 1 "a link that stops" assayctl scan us0-1 --plan links
row 'us0-1/chip(3|7) +FAILED +collective-hang +reseat cable NLC[0-9A-F]+ +tray [01]: link-y[+-] '

inject "$1" '{at: us0-2/chip8, kind: semaphore-lost, step: 2}'
expect 1 "a semaphore of an earlier step" assayctl scan us0-2 --plan links
row 'us0-2/chip8 +FAILED +collective-hang +reset chip +tray 3 .*step [0-9]+ of [0-9]+ .*was not counted up, at this step or at one before'

# What is signed orders what the table orders, and no cable where the part to be replaced is a tray.
"$1/sim/assay-sim" heal all --socket "$stage/sim.socket"
inject "$1" '{at: us0-3/chip0/link-y+, kind: link-down}' '{at: us0-3/chip9, kind: semaphore-lost, step: 2}'
expect 1 "a broken port" assayctl scan us0-3 --plan links
row 'us0-3/chip0 +FAILED +link-down +replace tray 0 +link-y[+]'
! grep -q 'reseat cable' "$out" || bad "a cable where there is none"
expect 1 "in JSON too" assayctl scan us0-3 --plan links --json
jq -r '.. | objects | select(.verdict? and .annotations?) | "\(.verdict) \(.annotations.action) \(.annotations.replaceable)"' "$out" | sort -u >"$stage/signed"
grep -qx 'link-down replace-tray tray 0' "$stage/signed" || bad "$(cat "$stage/signed")"
! grep -E 'cable tray|-cable (tray|null)' "$stage/signed" || bad "a cable of a tray"
expect 0 "explain says it as data" assayctl --json explain "$(assayctl verdict us0-3/chip0 --json | jq .record)"
[ "$(jq -r '.findings[] | select(.code == "link-down") | "\(.action), \(.do): \(.remedy)"' "$out" | cut -d. -f1)" = \
        "replace-tray, replace tray 0: Replace the tray: what is broken is the port itself, or a trace of the board between the two chips of the tray" ] ||
        bad "otherwise"

# What cannot be told from what others did has one row and one line, whichever check has left it open.
"$1/sim/assay-sim" heal all --socket "$stage/sim.socket"
inject "$1" '{at: us0-1/chip10/nic10, kind: packet-flood, packets: 65536}' '{at: us0-1/chip1, kind: dma-corrupt, rate: 1}' \
        '{at: us0-1/chip4, kind: dma-corrupt, rate: 1}' '{at: us0-1/chip6, kind: dma-corrupt, rate: 1}' '{at: us0-1/chip9, kind: dma-corrupt, rate: 1}'
expect 1 "a flood, and a chip whose neighbours all send what is wrong" assayctl scan us0-1 --plan links
row 'us0-1/chip11,15 +INCONCLUSIVE +- +scan again +efa +1 adapter that got too much of what nobody asked for$'
row 'us0-1/chip5 +INCONCLUSIVE +- +scan again +collective +without a sound neighbour to add with$'
[ "$(grep -Ec '^us0-1/chip11,15 .* efa ' "$out")" = 1 ] || bad "two rows of one gap"
[ "$(grep -Ec '^Not tested: (efa|collective) on us0-1/chip(11,15|5) ' "$out")" = 2 ] || bad "two lines of one gap"
! grep -Eq 'INCONCLUSIVE.*(far end|no collective)' "$out" || bad "a row of what others pass without"
has "Not tested: neuronlink on us0-1/chip0-15 (2 ports whose far end"
! grep -Eq 'what it did cannot be told|the device could not be reached' "$out" || bad "general words beside those that say more"
expect 0 "explain has one line, too" assayctl explain "$(assayctl verdict us0-1/chip11 --json | jq .record)"
[ "$(grep -c '^Not tested: efa' "$out")" = 1 ] || bad "two lines"
[ "$(grep '^To do: ' "$out")" = "To do: scan again" ] || bad "something else to do"

# A plan that promises what only a scan with other servers can keep: to scan the same once more would change nothing.
printf 'plan: ports\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: neuronlink}]\ncoverage: {neuronlink_ports_tested: 6}\n' >"$stage/plans/ports.yaml"
expect 2 "a server without its neighbours" assayctl scan us0-2 --plan ports
row 'us0-2 +INCONCLUSIVE +- +scan with the others +- +2 ports whose far end'
expect 0 "and explain" assayctl explain "$({ assayctl verdict us0-2/chip3 --json || true; } | jq .record)"
has "To do: scan with the others"
expect 2 "one of its chips" assayctl scan us0-2/chip3 --plan ports
row 'us0-2 +INCONCLUSIVE +- +scan whole server '

# What wears out at a port that fails, one row of memory in two ways, an error counter that lies, an adapter, a PCIe link: one thing to do each.
"$1/sim/assay-sim" heal all --socket "$stage/sim.socket"
inject "$1" '{at: us0-3/chip3/link-y+, kind: eye-closed, closing: 5}' \
        '{at: us0-3/chip13, kind: counter-stuck, counter: sram_ecc_uncorrected, count: 7}' \
        '{at: us0-3/chip9/hbm1/ch2/pc0/sid0/bg1/ba1/row300/col3/bit7, kind: stuck-at, value: 1}' \
        '{at: us0-3/chip9/hbm1/ch2/pc0/sid0/bg1/ba1/row300/col9/bit4, kind: stuck-at, value: 1, persistence: intermittent, probability: 0.5}' \
        '{at: us0-3/chip5/nic5, kind: packet-loss, rate: 0.05}' '{at: us0-3/chip5/nic5, kind: nic-clock-off, nsec: 5000000, way: behind}' \
        '{at: us0-3/chip8, kind: host-link-narrowed, width: 4}' '{at: us0-3/chip8, kind: host-link-errors, rate: 1000}'
expect 1 "several findings of a part" assayctl scan us0-3 --plan all
for code in link-errors link-margin; do
        row "us0-3/chip3 +FAILED +$code +reseat cable NLC"
done
for code in counter-lies sram-uncorrected; do
        row "us0-3/chip13 +FAILED +$code +reset chip +tray 6 "
done
for code in hbm-cell hbm-intermittent; do
        row "us0-3/chip9 +FAILED +$code +repair memory +"
done

for code in efa-loss efa-clock; do
        row "us0-3/chip5 +FAILED +$code +replace nic +tray 5: nic5 "
done
for code in host-link host-link-errors; do
        row "us0-3/chip8 +FAILED +$code +reseat cable to the CPU tray +tray 3 "
done

# A row that can be repaired beside a column that cannot; and one alone.
inject "$1" '{at: us0-0/chip5/hbm1/ch2/pc0/sid0/bg1/ba1/row300, kind: row-dead}' '{at: us0-0/chip5/hbm2/ch2/pc0/sid0/bg1/ba1/col7, kind: column-select}' \
        '{at: us0-0/chip5, kind: ecc-errors, counter: mem_ecc_repairable_uncorrected, stack: 1, count: 64}' '{at: us0-0/chip6/hbm1/ch2/pc0/sid0/bg1/ba1/row300, kind: row-dead}'
for plan in repair memory; do
        expect 1 "memory by $plan" assayctl scan us0-0/chip5 us0-0/chip6 --plan $plan
        row 'us0-0/chip5 +FAILED +hbm-column +replace tray 5 '
        row 'us0-0/chip5 +FAILED +hbm-row +replace tray 5 '
        row 'us0-0/chip5 +FAILED +hbm-repairable +replace tray 5 '
        row 'us0-0/chip6 +FAILED +hbm-row +reset chip '
        ! grep -Eq 'reload driver|repair memory' "$out" || bad "something else is to be done first"
done
expect 0 "explain says it of a row beside a column" assayctl explain "$(assayctl verdict us0-0/chip5 --json | jq .record)"
has "To do (replace tray 5): as for hbm-column, which is found here too. Replace the tray."
expect 0 "and of one that is to be repaired" assayctl explain "$(assayctl verdict us0-0/chip6 --json | jq .record)"
has "To do (reset chip): the repair is asked for; go on with the reset."

# What all chips of a server have is one row, and none of them is to be replaced; what one of them has besides stands beside it.
"$1/sim/assay-sim" heal all --socket "$stage/sim.socket"
for chip in {0..15}; do
        inject "$1" "{at: us0-2/chip$chip, kind: host-link-narrowed, width: 4}"
done
inject "$1" '{at: us0-2/chip7, kind: heartbeat-stalled}'
printf 'plan: shared\nsummary: a plan\nstage: PREFLIGHT\nsteps: [{check: identity}, {check: telemetry}, {check: host-link}]\n' >"$stage/plans/shared.yaml"
expect 1 "sixteen PCIe links that are narrow" assayctl scan us0-2 --plan shared
row 'us0-2 +FAILED +suspect-station +inspect station +- +host-link on all 16 chips in step host-link'
row 'us0-2/chip7 +FAILED +heartbeat-stalled +reset chip +'
[ "$(grep -c '^us0-2' "$out")" = 2 ] && has "16 FAILED (chips)." || bad "a row of a chip"
record=$({ assayctl verdict us0-2/chip3 --json || true; } | jq .record)
expect 0 "explain has the same word of the server" assayctl explain $((record + 13))
has "us0-2  FAILED"
has "suspect-station: every chip of the server failed alike (fail, found by device)"
has "us0-2/chip3  FAILED: assayctl explain $record"
expect 0 "and the same to do of a chip" assayctl explain "$record"
has "us0-2/chip3  FAILED"
has "host-link: "
has "To do (inspect station): as for suspect-station, which is found on its server. Inspect what the chips share"
expect 0 "its record keeps what was measured there" assayctl export "$record"
[ "$(jq -r .payload "$out" | base64 -d | jq -r '.predicate.steps[].diagnoses[]? | "\(.verdict) \(.annotations.action)"')" = "host-link reseat-cable" ] || bad "otherwise"
done_expecting
