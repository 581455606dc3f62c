#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cosign-takes-attestations.sh MAKE-EXPORTS ALGORITHM: the hardware's identity document is a file to cosign, and a record is an attestation of
# it.
set -euo pipefail
. "$(dirname "$0")/need"

command -v cosign >/dev/null || skip "this distribution has no cosign"
"$1" "$work" "$2"
printf 'assay-identity/v1\nkind: accelerator\nmanufacturer: Amazon\nproduct: Trainium2\nserial: 0123456789abc003\n' >"$work/identity.txt"
printf 'assay-identity/v1\nkind: accelerator\nmanufacturer: Amazon\nproduct: Trainium2\nserial: 0123456789abc004\n' >"$work/other.txt"
jq -c 'select((.payload | @base64d | fromjson | .subject[0].uri) == "urn:dev:ops:32473-Trainium2-0123456789abc003")' "$work/records.intoto.jsonl" |
        head -n 1 >"$work/record.json"
jq -c '.payload |= (@base64d | sub("FAILED"; "PASSED") | @base64)' "$work/record.json" >"$work/edited.json"
mkdir "$work/elsewhere"
"$1" "$work/elsewhere" "$2"

verify() { # KEY RECORD IDENTITY [TYPE]
        cosign verify-blob-attestation --key "$1" --signature "$2" --type "${4:-urn:assay:attestation:health:v2}" --insecure-ignore-tlog=true "$3"
}
verify "$work/record.key.pub" "$work/record.json" "$work/identity.txt"
for twin in "$work/record.key.pub $work/edited.json $work/identity.txt" "$work/record.key.pub $work/record.json $work/other.txt" \
        "$work/elsewhere/record.key.pub $work/record.json $work/identity.txt" \
        "$work/record.key.pub $work/record.json $work/identity.txt urn:assay:attestation:health:v1"; do
        # shellcheck disable=SC2086
        ! verify $twin >/dev/null 2>&1 || { echo "FAILED: cosign takes $twin"; exit 1; }
done
echo "$(cosign version 2>&1 | sed -n 's/^GitVersion: *//p'): an attestation verified, 4 twins refused"
