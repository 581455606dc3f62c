#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What an operator does after `meson install`: users, units and policies are found, a bus call starts the service, a scan runs
# in sandboxed workers under their own user, and the record verifies.
#
# usage: installed-service-scans-and-signs.sh BUILD-FOLDER [SANITIZER]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)

# Installed by this machine's meson into a folder, which becomes the guest's files below.
case "${2:-none}" in
*address*) echo "skipped: the leak sanitizer traces its own process, which the units' sandbox rightly forbids" >&2; exit 77;;
esac
[ "$(id -u)" = 0 ] || { echo "skipped: not root" >&2; exit 77; }
stage=$(mktemp -d)
chmod 755 "$stage" # the guest copies it onto /
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage meson install -C "$build" --no-rebuild --quiet >/dev/null
# What an administrator edits is not the installer's: meson would replace it, and uninstalling would take it away.
[ ! -e "$stage/etc" ] || { echo "FAILED: meson installs into /etc: $(find "$stage/etc" -type f | tr '\n' ' ')" >&2; exit 1; }

"$here/boot" -t 150 -b "$stage:/stage" -b "$here:/tests" -- bash /tests/installed-guest.sh
