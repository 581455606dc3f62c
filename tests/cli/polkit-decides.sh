#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who may start and cancel scans: root, and others when polkit says so. Reading is free. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

[ "$(id -u)" = 0 ] || { echo "skipped: only root can become somebody else" >&2; exit 77; }
setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$1/cli/assayctl" 2>/dev/null ||
        { echo "skipped: others may not read the build folder" >&2; exit 77; }

stage_open "$1"
chmod 755 "$stage"
stage_bus
stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon trn-0

as_nobody() {
        setpriv --reuid 65534 --regid 65534 --clear-groups "$stage_build/cli/assayctl" --bus "$bus" --no-pager "$@"
}

expect 0 "anybody may list targets" as_nobody targets
expect 77 "without polkit nobody but root may scan" as_nobody scan trn-0 --plan quick
stage_polkit deny
expect 77 "polkit denies" as_nobody scan trn-0 --plan quick
has org.assay.assay1.scan
expect 1 "root needs no permission" assayctl scan trn-0 --plan quick
expect 77 "polkit denies the log level" as_nobody log-level debug
kill "$stage_polkit_pid"
wait "$stage_polkit_pid" 2>/dev/null || true
stage_polkit allow
expect 1 "polkit allows" as_nobody scan trn-0 --plan quick
expect 0 "polkit allows the log level" as_nobody log-level info
expect 1 "anybody may read verdicts" as_nobody gate trn-0/chip7
expect 1 "anybody may verify" as_nobody verify 2
done_expecting
