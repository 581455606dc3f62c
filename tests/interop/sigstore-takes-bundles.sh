#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sigstore-takes-bundles.sh BUILD-FOLDER MAKE-EXPORTS ALGORITHM
set -euo pipefail
. "$(dirname "$0")/need"

need_node "$1"
"$2" "$work" "$3"
node "$here/sigstore.js" "$work"
