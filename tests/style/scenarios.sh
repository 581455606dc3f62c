#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every code of the catalogue is provoked by a scenario, or codes-without-scenario.txt says why it cannot be.
set -eu
cd "$1"

codes=$(sed -n 's/^        { "\([a-z0-9-]*\)", "[a-z-]*", SEVERITY_.*/\1/p' checks/vocabulary/catalogue.c)
excepted=$(sed -n 's/^\([a-z0-9-]*\) .*/\1/p' "$2"/codes-without-scenario.txt)
expected=$(grep -oh 'code: *[a-z0-9-]*' sim/scenarios/*.yaml | sed 's/code: *//' | sort -u)
[ "$(echo "$codes" | wc -l)" -gt 40 ] || { echo "the catalogue could not be read"; exit 1; }

wrong=0
for code in $codes; do
        if echo "$expected" | grep -qx -e "$code"; then
                ! echo "$excepted" | grep -qx -e "$code" || { echo "$code: has a scenario and an excuse"; wrong=1; }
        else
                echo "$excepted" | grep -qx -e "$code" || { echo "$code: has no scenario"; wrong=1; }
        fi
done
for code in $expected $excepted; do
        echo "$codes" | grep -qx -e "$code" || { echo "$code: is not in the catalogue"; wrong=1; }
done
exit $wrong
