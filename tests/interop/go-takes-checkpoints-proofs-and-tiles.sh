#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# go-takes-checkpoints-proofs-and-tiles.sh BUILD-FOLDER MAKE-EXPORTS ALGORITHM
set -euo pipefail
. "$(dirname "$0")/need"

need_go "$1"
"$2" "$work" "$3"
go run "$here/tlog.go" "$work" "$3"
