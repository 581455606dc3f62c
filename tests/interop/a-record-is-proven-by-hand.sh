#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# a-record-is-proven-by-hand.sh MAKE-EXPORTS ALGORITHM: what assay-records(7) has people type shows that a record is in its log, that the log has signed
# that and a witness seen it; and of no tampered twin.
set -euo pipefail
. "$(dirname "$0")/need"
for tool in jq base64 openssl sha256sum; do
        command -v "$tool" >/dev/null || skip "no $tool"
done
by_hand=$here/../record/verify-by-hand name=witness.example/w1 when=1795252442 n=0

"$1" "$work" "$2"
openssl genpkey -algorithm ed25519 -out "$work/w1.pem" 2>/dev/null
public() { printf '\004'; openssl pkey -in "$work/w1.pem" -pubout -outform DER | tail -c 32; }
id() { { printf '%s\n' "$name"; public; } | openssl dgst -sha256 -binary | head -c 4; }
echo "$name+$(id | od -An -tx1 | tr -d ' ')+$(public | base64 -w 0)" >"$work/w1.vkey"
# cosignature SEC: the witness's line for the newest checkpoint.
cosignature() {
        { printf 'cosignature/v1\ntime %d\n' "$1"; sed '/^$/,$d' "$work/checkpoint"; } >"$work/message"
        openssl pkeyutl -sign -inkey "$work/w1.pem" -rawin -in "$work/message" -out "$work/signed"
        # shellcheck disable=SC2059
        printf '— %s %s\n' "$name" "$({ id; printf "$(printf '%016x' "$1" | sed 's/../\\x&/g')"; cat "$work/signed"; } | base64 -w 0)"
}
# prove RECORD PROOF [LOG-VKEY [WITNESS-VKEY]]
prove() { "$by_hand" "$1" "$work/record.key.pub" "$2" "${3:-$work/log.vkey}" ${4:+"$4"} >"$work/said" 2>&1; }
# refused WHAT SED [WITNESS-VKEY]: the proof of record 5, with a witness, changed by SED.
refused() {
        sed -E "$2" "$work/good" >"$work/twin"
        ! cmp -s "$work/good" "$work/twin" || { echo "FAILED: $1: nothing was changed"; exit 1; }
        ! prove "$work/5.json" "$work/twin" "" "${3-}" || { echo "FAILED: $1 will do"; exit 1; }
        n=$((n + 1))
}

size=$(sed -n 2p "$work/checkpoint")
for index in 0 5 127 255 256 "$((size - 1))"; do
        sed -n "$((index + 1))p" "$work/records.intoto.jsonl" >"$work/$index.json"
        { cat "$work/$index.tlog-proof"; cosignature $when; } >"$work/good"
        prove "$work/$index.json" "$work/good" "" "$work/w1.vkey" || { cat "$work/said"; echo "FAILED: record $index"; exit 1; }
        grep -qx "record $index of $size" "$work/said" && grep -q "$(date -u -d @$when +%T)" "$work/said" || { cat "$work/said"; echo "FAILED: record $index says otherwise"; exit 1; }
done

# What the key of records is makes no difference beyond the leaf.
[ "$2" = ed25519 ] || { echo "6 records proven by hand"; exit 0; }
{ cat "$work/5.tlog-proof"; cosignature $when; } >"$work/good"
other() { tr 'A-Za-z' 'B-ZAb-za' <<<"$1"; } # other letters, and base64 as before
for line in $(seq 3 4 "$(($(grep -n '^$' "$work/good" | head -n 1 | cut -d : -f 1) - 1))"); do
        refused "hash $((line - 2))" "${line}s|^.*|$(other "$(sed -n "${line}p" "$work/good")")|"
done
hash=$(sed -n 3p "$work/good")
refused "a hash too few" "3d"
refused "a hash too many" "3s|^|$hash\\n|"
refused "another root" "s|^$(sed -n 3p "$work/checkpoint" | sed 's/[+]/\\&/g')\$|$hash|"
refused "another size" "s/^$size\$/$((size - 1))/"
refused "a size below the index" "s/^$size\$/5/"
refused "another log" "s/^fleet.example/fleet.other/"
refused "the log's signature of something else" "s|^(— fleet.*) (.{20})..|\\1 \\2xx|"
refused "no signature of the log" "/^— fleet/d"
refused "the witness's signature of something else" "s|^(— witness.*) (.{40})..|\\1 \\2xx|" "$work/w1.vkey"
refused "another time" "s|^(— witness.*) (.{12})..|\\1 \\2xx|" "$work/w1.vkey"
refused "no witness" "/^— witness/d" "$work/w1.vkey"
refused "a witness that tells no time" "s|^— witness.*|$(cosignature 0)|" "$work/w1.vkey"
! prove "$work/5.json" "$work/127.tlog-proof" || { echo "FAILED: the proof of another record will do"; exit 1; }
! prove "$work/5.json" "$work/5.tlog-proof" "$work/w1.vkey" || { echo "FAILED: another log's key will do"; exit 1; }
echo "6 records proven by hand, $((n + 2)) twins refused"
