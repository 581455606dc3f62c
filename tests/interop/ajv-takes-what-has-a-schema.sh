#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ajv-takes-what-has-a-schema.sh BUILD-FOLDER MAKE-EXPORTS OCP-LINES TWINS
set -euo pipefail
. "$(dirname "$0")/need"

need_node "$1"
"$2" "$work" ed25519
node "$here/schemas.js" "$work" "$here/../.." "$3" "$4"
