#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source says under which licence it stands, in its first two lines.
set -eu
cd "$1"

"$2"/sources . | grep -v -E '^LICENSE$|^tests/fuzz/corpus/' | {
        wrong=0
        while IFS= read -r file; do
                case $file in
                *.c | *.h | *.c.in | *.py | *.sh | *meson.build | meson_options.txt) ;;
                *) head -c 2 "$file" | grep -q '^#!' || continue ;;
                esac
                head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || {
                        echo "$file: has no SPDX line"
                        wrong=1
                }
        done
        exit $wrong
}
