#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source says under which licence it stands, in its first two lines. One process for all of them: a thousand would take a
# busy machine longer than the test may.
set -eu
cd "$1"

"$2"/sources . | grep -v -E '^LICENSE$|^tests/fuzz/corpus/' | xargs -d '\n' awk '
        BEGIN {
                for (i = 1; i < ARGC; i++) {
                        file = ARGV[i]
                        first = second = ""
                        if ((getline first < file) > 0)
                                getline second < file
                        close(file)
                        if (file !~ /(\.c|\.h|\.c\.in|\.py|\.sh|meson\.build|meson_options\.txt)$/ && first !~ /^#!/)
                                continue
                        if ((first "\n" second) !~ /SPDX-License-Identifier: Apache-2\.0/) {
                                print file ": has no SPDX line"
                                wrong = 1
                        }
                }
                exit wrong
        }'
