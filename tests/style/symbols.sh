#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No two of our libraries define one name: programs of ours link few of them, but tests link all, and would get whichever came first.
set -eu

for library in "$@"; do
        nm --extern-only --defined-only --no-sort "$library" 2>/dev/null | awk -v library="$library" 'NF == 3 { print $3, library }'
done | sort -u | awk '
        $1 == name { print name ": defined in " library " and in " $2; wrong = 1 }
        { name = $1; library = $2; n++ }
        END { if (n < 100) { print "only " n " names were found"; wrong = 1 } exit wrong }'
