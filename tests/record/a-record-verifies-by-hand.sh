#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# a-record-verifies-by-hand.sh EXPORT-RECORDS ALGORITHM: exported records verify with bash, jq, base64 and openssl alone, its
# ID, chain and identity can be recomputed with sha256sum, and a tampered twin of it is refused.
set -euo pipefail

for tool in jq base64 openssl sha256sum; do
        command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done

export_records=$1 algorithm=$2
here=$(dirname "${BASH_SOURCE[0]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$export_records" "$work" "$algorithm"
key=$work/record.key.pub
[ "$(wc -l <"$work/records.intoto.jsonl")" = 18 ] || fail "18 records expected"

payload() { jq -r .payload "$1" | base64 -d; }

previous='' n=0
while IFS= read -r line; do
        printf '%s\n' "$line" >"$work/record.json"
        told=$("$here/verify-by-hand" "$work/record.json" "$key") || fail "record $n does not verify"
        [ "$(payload "$work/record.json" | jq .predicate.log.index)" = "$n" ] || fail "record $n has another index"
        [ "$(payload "$work/record.json" | jq -r '.predicate.previous.sha256 // ""')" = "$previous" ] || fail "record $n follows another"
        previous=$(sed -n 's/^record //p' <<<"$told")
        [ "${#previous}" = 64 ] || fail "record $n has no ID"
        [ "$n" = 4 ] && cp "$work/record.json" "$work/bad.json"
        n=$((n + 1))
done < <(head -n 6 "$work/records.intoto.jsonl")

# Whose record it is: the identity document written by hand.
digest=$(printf 'assay-identity/v1\nkind: accelerator\nmanufacturer: Amazon\nproduct: Trainium2\nserial: 0123456789abc003\n' | sha256sum | cut -d' ' -f1)
[ "$(payload "$work/bad.json" | jq -r '.subject[0].digest.sha256')" = "$digest" ] || fail "the subject is someone else"
[ "$(payload "$work/bad.json" | jq -r .predicate.result)" = FAILED ] || fail "chip 3 did not fail"

# The verdict again from the numbers.
again=$(payload "$work/bad.json" | jq -r '[.predicate.steps | to_entries[] | select(any(.value | (.counted, .measured) // {} | .[] | arrays;
        (indices("<=")[0] // empty) as $at | .[0] > .[$at + 1])).key] | join(" ")')
[ "$again" = systolic ] || fail "the numbers say: $again"

# The key ID is the fingerprint SSH has for the same key.
if command -v ssh-keygen >/dev/null; then
        fingerprint=$("$here/ssh-fingerprint" "$key")
        [ "$fingerprint" = "$(jq -r '.signatures[0].keyid' "$work/bad.json")" ] || fail "another fingerprint"
fi

# Twins: another payload under the same signature, the same payload under another type, another key.
jq -c --arg payload "$(payload "$work/bad.json" | sed 's/FAILED/PASSED/g' | base64 -w0)" '.payload = $payload' "$work/bad.json" >"$work/edited.json"
jq -c '.payloadType = "application/json"' "$work/bad.json" >"$work/retyped.json"
case $algorithm in
        ed25519) openssl genpkey -algorithm ed25519 -out "$work/other.key" 2>/dev/null ;;
        ecdsa-p256) openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/other.key" 2>/dev/null ;;
esac
openssl pkey -in "$work/other.key" -pubout -out "$work/other.pub"
"$here/verify-by-hand" "$work/edited.json" "$key" >/dev/null 2>&1 && fail "an edited payload verified"
"$here/verify-by-hand" "$work/retyped.json" "$key" >/dev/null 2>&1 && fail "another type verified"
"$here/verify-by-hand" "$work/bad.json" "$work/other.pub" >/dev/null 2>&1 && fail "another key verified"
echo "$n records verified by hand, 3 twins refused"
