#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing is called util, misc, common, helper, base or core, and nothing is added at the top.
set -eu
cd "$1"

wrong=0
# A NeuronCore is a core by its own right.
found=$("$2"/sources . | grep -E '(^|[/-])(utils?|misc|common|helpers?|base|core)([/.-]|$)' | grep -v -E '^(sim/core\.[ch])$' || true)
[ -z "$found" ] || { echo "$found" | sed 's/$/: names what it holds by no noun of its own/'; wrong=1; }

found=$("$2"/sources . | grep '\.[ch]$' | grep -v -E '^([a-z0-9-]+/)*[a-z0-9-]+\.[ch]$' || true)
[ -z "$found" ] || { echo "$found" | sed 's/$/: is not kebab-case/'; wrong=1; }

found=$("$2"/sources . | sed 's|/.*||' | sort -u | grep -v -x -E \
        'meson\.build|meson_options\.txt|daemon|checks|sim|cli|units|tests|README\.md|LICENSE|HACKING\.md|\..*' || true)
[ -z "$found" ] || { echo "$found" | sed 's/$/: does not belong at the top/'; wrong=1; }
exit $wrong
