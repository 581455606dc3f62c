#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What README.md tells to type is there: the files of a checkout that it names, and the packages that a build needs.
set -euo pipefail
cd "$1"
. tests/install-packages

wrong=0
for file in $(grep -oP '(?<![A-Za-z0-9/-])(sim|tests|units|checks|daemon|cli)/[A-Za-z0-9._/-]*[A-Za-z0-9_-]' README.md | sort -u); do
        [ -e "$file" ] || { echo "README.md names $file, which is not there"; wrong=1; }
done

# shellcheck disable=SC2086
wanted=$(printf '%s\n' $packages_build scdoc | sort)
told=$(tr -d '\\\n' <README.md | sed -n 's/.*apt-get install -y \(gcc [a-z0-9+. -]*\)#.*/\1/p' | tr -s ' ' '\n' | sort | sed '/^$/d')
[ "$told" = "$wanted" ] || { echo "the packages to build with differ from those of tests/install-packages:"; diff <(echo "$told") <(echo "$wanted") || true; wrong=1; }
exit $wrong
