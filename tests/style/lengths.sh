#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of at most 600 lines and functions of at most 70: what is longer is two things. Tables may be long, and tests.
set -eu
cd "$1"

"$2"/sources . | grep -E '^(checks|sim|daemon|cli)/.*\.[ch]$' | tr '\n' '\0' | xargs -0 awk '
        FNR == 1 { start = 0; name = "" }
        # A declaration starts at the margin; what ends in a lone brace there was a function.
        /^[A-Za-z_]/ { start = FNR; name = $0 }
        /^}$/ && FNR - start > 70 {
                printf "%s:%d: %d lines: %s\n", FILENAME, start, FNR - start + 1, name
                wrong = 1
        }
        { lines[FILENAME] = FNR }
        END {
                for (file in lines)
                        if (lines[file] > 600 && file != "checks/vocabulary/catalogue.c") {
                                printf "%s: %d lines\n", file, lines[file]
                                wrong = 1
                        }
                exit wrong
        }'
