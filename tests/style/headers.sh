#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every header compiles alone. It is included from a line on standard input: #pragma once warns in a main file.
set -eu
cd "$1"
style=$2
shift 2

"$style"/sources . | grep -E '^(checks|sim|daemon|cli)/.*\.h$' | {
        wrong=0
        while IFS= read -r header; do
                printf '#include "%s"\n' "$header" |
                        "$@" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -I. -fsyntax-only -x c - || {
                        echo "$header does not compile alone"
                        wrong=1
                }
        done
        exit $wrong
}
