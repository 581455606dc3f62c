#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A user who calls assayd without end keeps nobody else waiting: the hook of root has its answer in time, and it is the true one.
# usage: … BUILD-FOLDER [PATH INTERFACE.METHOD TYPES ARGUMENT…]   (what is called; else what costs most)
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

if [ "$(id -u)" != 0 ]; then
        echo "skipped: only root can be two users"
        exit 77
fi

stage_open "$1"
stage_bus
chmod 755 "$stage"
cat >"$stage/sim.yaml" <<'YAML'
scenario: flooded
seed: 5
topology: {ultraservers: 1}
faults:
  - {at: us0-1/chip3, kind: device-missing}
YAML
mkdir "$stage/plans"
printf 'plan: tiny\nsummary: t\nstage: PREFLIGHT\nsteps:\n  - check: identity\n' >"$stage/plans/tiny.yaml"
export ASSAY_PLANS=$stage/plans:$PWD/units/plans
stage_sim sim "$stage/sim.yaml"
stage_daemon us0-0 us0-1 us0-2 us0-3
cp "$1/tests/cli/flood-bus" "$stage/flood-bus"

# So that the answer comes from as many records as it can: one of the server, and newer ones of some of its chips.
for i in 0 1 2 3; do
        assayctl scan us0-$i --plan tiny >/dev/null 2>&1 || true
        for c in 0 3 5 7 9 11; do assayctl scan us0-$i/chip$c --plan tiny >/dev/null 2>&1 || true; done
done

# flood SENTENCE PATH INTERFACE.METHOD TYPES ARGUMENT…: nobody calls this, and meanwhile root asks.
flood() {
        local sentence=$1 began
        shift
        : >"$stage/flood.log"
        setpriv --reuid=65534 --clear-groups "$stage/flood-bus" "$bus" "${FLOOD_CONNECTIONS:-1}" 120 60 "$@" >"$stage/flood.log" 2>&1 &
        stage_pids+=($!)
        stage_await "the flood" grep -q ready "$stage/flood.log"
        sleep 0.3
        began=$EPOCHREALTIME
        expect 1 "$sentence: a server that failed" assayctl gate us0-1
        has "FAILED: us0-1: chip3 identity: identity-missing"
        expect 0 "$sentence: one that passed" assayctl gate us0-2
        expect 1 "$sentence: an UltraServer" assayctl gate us0 --unknown=pass
        awk -v a="$began" -v b="$EPOCHREALTIME" -v n="$2" 'BEGIN { printf "    %s: three answers in %.0f ms\n", n, (b - a) * 1000 }'
        kill "${stage_pids[-1]}"
        wait "${stage_pids[-1]}" 2>/dev/null || true
        unset "stage_pids[-1]"
}

# A hook waits two seconds, in which a machine that runs other tests may not come to it. Where users have no turns nobody is answered before the flood has
# ended, after a minute.
stage_patience=${FLOOD_PATIENCE-30}
manager=org.assay.Assay1.Manager
if [ $# -gt 1 ]; then
        flood "$3" "${@:2}"
else
        flood "how parts stand" /org/assay/Assay1 $manager.GetParts sstt us0 "" 0 0
        FLOOD_CONNECTIONS=10 flood "on ten connections" /org/assay/Assay1 $manager.GetVerdict sstt us0-3 "" 0 0
        flood "all records" /org/assay/Assay1 $manager.OpenRecords ttt 0 0 0
        # Nor do calls that are longer than any, up to what the bus itself holds for one receiver (127 MiB): what it brings is not read before its turn, while it is asked who they are of.
        long=$(head -c 120000 /dev/zero | tr '\0' x)
        FLOOD_CONNECTIONS=4 flood "long strings" /org/assay/Assay1 $manager.GetVerdict sstt "$long" "$long" 0 0
        # An address sanitizer keeps what was freed, and a map of all memory: then the figure says nothing of assayd.
        if ! grep -q __asan_init "$1/daemon/assayd"; then
                awk '/^VmHWM/ && $2 > 64 * 1024 { exit 1 }' "/proc/$stage_daemon_pid/status" || bad "assayd held $(awk '/^VmHWM/ { print $2 }' "/proc/$stage_daemon_pid/status") KiB"
        fi
fi
done_expecting
