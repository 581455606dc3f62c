#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Records, proofs, bundles and keyrings that were made without assay, as a reader without a daemon meets them: each row of what `verify`
# may say, and its exit status. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/cli/expect

work=$(mktemp -d -t assay.XXXXXX)
trap 'rm -rf "$work"' EXIT
"$1/tests/record/export-records" "$work"
python3 tests/cli/prove-by-hand.py "$work"
key=$(tests/record/ssh-fingerprint "$work/record.key.pub")
ctl=("$1/cli/assayctl" verify)
top=$PWD
cd "$work"
ring=(--keyring ring-7.json --root roots)

# 0 and 1: verified.
expect 0 "a sound chip, seen by a witness" "${ctl[@]}" 1.json --proof 1.proof --keyring keyring
has "proven by 5 hashes to be among its 18 records"
has "seen    by w1, w2, first at 2026-11-21T09:15:00Z"
has "https://fleet.example/stations/st-017"
has "key     $key"
expect 1 "a chip that failed" "${ctl[@]}" 4.json --proof 4.proof --keyring keyring
has "systolic-pe"
expect 1 "the same as a bundle" "${ctl[@]}" 4.sigstore.json --keyring keyring
has "w1, w2"
expect 1 "the same as JSON" "$1/cli/assayctl" --json verify 4.sigstore.json --keyring keyring
query '.status == "verified" and .index == 4 and .logSize == 18 and .proofHashes == 5 and .witnesses == "w1, w2" and
       .witnessedOn == "2026-11-21T09:15:00Z" and .producer == "https://fleet.example/stations/st-017" and .statement.predicate.result == "FAILED"'
expect 1 "by a keyring that two of three roots have signed" "${ctl[@]}" 4.sigstore.json "${ring[@]}"
expect 1 "by its key alone, without a proof" "${ctl[@]}" 4.json --key record.key.pub
has "not proven to be in it"
expect 1 "all of a log: what says nothing of health does not count" "${ctl[@]}" records.intoto.jsonl --key record.key.pub
[ "$(tail -n 1 "$out")" = "18 in all: 18 verified" ] || bad "the last line counts them otherwise"
expect 1 "without a word" "${ctl[@]}" --quiet records.intoto.jsonl --key record.key.pub
[ ! -s "$out" ] || bad "it has one"
expect 1 "as JSON, one each" "${ctl[@]}" --json records.intoto.jsonl --key record.key.pub
[ "$(jq -s length "$out")" = 18 ] || bad "there are not 18"
expect 3 "with one that does not hold, the last line counts it" "${ctl[@]}" <(sed '3s/"payload":"eyJ/"payload":"eyK/' records.intoto.jsonl) 4.json --key record.key.pub
[ "$(tail -n 1 "$out")" = "19 in all: 18 verified, 1 refused" ] || bad "another count"
expect 1 "one alone is not counted" "${ctl[@]}" 4.json --key record.key.pub
! grep -q "in all" "$out" || bad "it is"

# What was asked for.
printf 'assay-identity/v1\nkind: accelerator\nmanufacturer: Amazon\nproduct: Trainium2\nserial: 0123456789abc003\n' >chip3.txt
sed s/3$/4/ chip3.txt >chip4.txt
expect 1 "about the chip of this document" "${ctl[@]}" 4.json --key record.key.pub --subject ./chip3.txt
expect 1 "about the chip of this digest" "${ctl[@]}" 4.json --key record.key.pub --subject "$(sha256sum chip3.txt | cut -d ' ' -f 1)"
expect 1 "about the chip of this serial" "${ctl[@]}" 4.json --key record.key.pub --subject 0123456789abc003
expect 3 "about another document's" "${ctl[@]}" 4.json --key record.key.pub --subject "$PWD/chip4.txt"
has "another subject"
expect 3 "about another serial" "${ctl[@]}" 4.json --key record.key.pub --subject 0123456789abc004
# Whoever writes to this folder asks for nothing: here the serial of one chip is the name of the other's document.
cp chip3.txt 0123456789abc004
cp chip4.txt 0123456789abc003
expect 3 "another serial that names the document of this chip" "${ctl[@]}" 4.json --key record.key.pub --subject 0123456789abc004
has "another subject"
expect 1 "this serial, that names the document of another" "${ctl[@]}" 4.json --key record.key.pub --subject 0123456789abc003
rm 0123456789abc003 0123456789abc004
expect 3 "a document without a slash is a serial" "${ctl[@]}" 4.json --key record.key.pub --subject chip3.txt
expect 64 "a document that is not there" "${ctl[@]}" 4.json --key record.key.pub --subject ./chip5.txt
expect 1 "this challenge" "${ctl[@]}" 4.json --key record.key.pub --challenge "$(printf 'say something' | base64)"
expect 3 "another challenge" "${ctl[@]}" 4.json --key record.key.pub --challenge "$(printf 'say nothing' | base64)"
expect 1 "this plan" "${ctl[@]}" 4.json --key record.key.pub --plan preflight
expect 3 "another plan" "${ctl[@]}" 4.json --key record.key.pub --plan production
expect 2 "fresher than it is" "${ctl[@]}" 1.json --key record.key.pub --max-age 1s
expect 1 "a failure does not age" "${ctl[@]}" 4.json --key record.key.pub --max-age 1s

# 2: cannot tell.
expect 2 "a run-start says nothing of health" "${ctl[@]}" 0.json --key record.key.pub
has "says how"
expect 2 "without the proof that the keyring asks for" "${ctl[@]}" 4.json --keyring keyring
has "nothing, neither a bundle nor --proof FILE, proves"
has "assayctl export --format bundle, where the log is, writes records with the proofs that this keyring asks for"
expect 2 "seen by the wrong witness" "${ctl[@]}" 4.json --proof unseen.proof --keyring keyring
has "not enough witnesses"
expect 2 "the same in a bundle" "${ctl[@]}" unseen.sigstore.json --keyring keyring
expect 1 "for which another proof is given" "${ctl[@]}" unseen.sigstore.json --proof 4.proof --keyring keyring
has "w1, w2"
expect 2 "a proof that says less than the bundle's" "${ctl[@]}" 4.sigstore.json --proof unseen.proof --keyring keyring
has "not enough witnesses"
expect 3 "a proof of another record than the bundle's" "${ctl[@]}" 4.sigstore.json --proof 1.proof --keyring keyring
# A witness whose key is of a type of a later standard, 0x06, which has signed or not: nobody here can tell.
later="witness w3 w3.example+0123abcd+$(printf '\006a key' | base64)"
sed "s|^quorum|$later\nquorum|" keyring >later.keyring
expect 1 "a witness of a later type spoils no keyring" "${ctl[@]}" 4.json --proof 4.proof --keyring later.keyring
has "seen    by w1, w2, first"
sed "s|^quorum.*|$later\nquorum w3|" keyring >later.keyring
expect 2 "and counts for nothing" "${ctl[@]}" 4.json --proof 4.proof --keyring later.keyring
has "not enough witnesses have seen the log with it; the keys of 1 of 3 are of a type that is not known here, and count for nothing"
expect 2 "a proof and nobody who knows the log" "${ctl[@]}" 4.json --proof 4.proof --key record.key.pub
has "does not know the log"
expect 2 "a key that nobody knows" "${ctl[@]}" 4.json --key root1.pub.pem
expect 2 "a keyring that nobody vouches for" "${ctl[@]}" 4.sigstore.json --keyring ring-7.json
has "nobody vouches"
expect 2 "a keyring that has expired" "${ctl[@]}" 4.sigstore.json --keyring ring-9-expired.json --root roots
has "expired"
sed '5{
r companion.json
d
}' records.intoto.jsonl >replaced.jsonl
expect 2 "a log without its checkpoint" "$1/cli/assayctl" --json audit records.intoto.jsonl --keyring record.key.pub
query '.verified == 18 and .refused == 0'
expect 3 "and with another statement in place of its record" "$1/cli/assayctl" audit replaced.jsonl --keyring record.key.pub
has "predicateType"
: >nothing
expect 2 "nothing" "${ctl[@]}" nothing --key record.key.pub

# 3: refused.
expect 3 "what its key has signed beside a record, and is none" "${ctl[@]}" companion.json --key record.key.pub
has "companion.json: REFUSED: the payload: predicateType: is none of ours"
expect 3 "also where another one holds" "${ctl[@]}" 1.json companion.json --key record.key.pub
expect 2 "of a key that nobody knows nothing is told" "${ctl[@]}" companion.json --key root1.pub.pem
expect 3 "a proof of another record" "${ctl[@]}" 4.json --proof 1.proof --keyring keyring
sed 's/^index 1$/index 4/' 1.proof >moved.proof
expect 3 "a proof of another record that says it is of this one" "${ctl[@]}" 4.json --proof moved.proof --keyring keyring
awk 'NR == 3 { $0 = (/^A/ ? "B" : "A") substr($0, 2) } 1' 4.proof >bent.proof
expect 3 "a hash of the proof altered" "${ctl[@]}" 4.json --proof bent.proof --keyring keyring
sed 's/^18$/17/' 4.proof >short.proof
expect 3 "the size altered" "${ctl[@]}" 4.json --proof short.proof --keyring keyring
has "does not fit"
jq -c '.payload |= (@base64d | sub("FAILED"; "PASSED") | @base64)' 4.json >forged.json
expect 3 "the payload altered" "${ctl[@]}" forged.json --key record.key.pub
jq -c '.dsseEnvelope.payload |= (@base64d | sub("FAILED"; "PASSED") | @base64)' 4.sigstore.json >forged.sigstore.json
expect 3 "the payload in a bundle altered" "${ctl[@]}" forged.sigstore.json --keyring keyring
jq -c '.verificationMaterial.tlogEntries[0].canonicalizedBody |= (@base64d | sub("0.0.2"; "0.0.3") | @base64)' 4.sigstore.json >body.sigstore.json
expect 3 "the entry of the log altered" "${ctl[@]}" body.sigstore.json --keyring keyring
jq -c '.dsseEnvelope.signatures += .dsseEnvelope.signatures' 4.sigstore.json >two.sigstore.json
expect 3 "also where another proof is given" "${ctl[@]}" body.sigstore.json --proof 4.proof --keyring keyring
expect 3 "a second signature in a bundle" "${ctl[@]}" two.sigstore.json --keyring keyring
jq -c '.payloadType = "application/vnd.dev.cosign.simplesigning.v1+json"' 4.json >type.json
expect 3 "another payload type" "${ctl[@]}" type.json --key record.key.pub
sed 's/^{/{"payload":"e30=",/' 4.json >twice.json
expect 3 "a key that stands twice" "${ctl[@]}" twice.json --key record.key.pub
{ printf '{"a":'; printf '[%.0s' $(seq 100000); } >deep.json
expect 3 "a hundred thousand brackets" "${ctl[@]}" deep.json --key record.key.pub
head -c 3000000 /dev/zero | tr '\0' ' ' | cat - 4.json >huge.json
expect 3 "an envelope of three megabytes" "${ctl[@]}" huge.json --key record.key.pub
jq -c '.signatures[0].sig |= sub("=="; "")' 4.json >odd.json
expect 3 "odd base64" "${ctl[@]}" odd.json --key record.key.pub
jq -c '.payload |= "-_" + .' 4.json >mixed.json
expect 3 "two alphabets" "${ctl[@]}" mixed.json --key record.key.pub
{ head -n 2 4.proof; for _ in $(seq 64); do sed -n 3p 4.proof; done; sed 1,2d 4.proof; } >bomb.proof
expect 3 "a proof of too many hashes" "${ctl[@]}" 4.json --proof bomb.proof --keyring keyring
expect 3 "a key of another producer" "${ctl[@]}" 4.sigstore.json --keyring ring-other.json --root roots
has "not that of producer"
expect 3 "a keyring that one root has signed" "${ctl[@]}" 4.sigstore.json --keyring ring-7-one.json --root roots
has "too few"
expect 3 "a text in place of a signed keyring" "${ctl[@]}" 4.sigstore.json --keyring keyring --root roots
expect 0 "a record before its key was revoked" "${ctl[@]}" 1.json --proof 1.proof --keyring ring-8.json --root roots
expect 3 "a record after its key was revoked" "${ctl[@]}" 4.sigstore.json --keyring ring-8.json --root roots
has "revoked before index 4"
grep -q statement "$out" && bad "a payload was printed"

# Two records that one log has at one index.
id() { jq -j '.payloadType as $t | .payload | @base64d | "DSSEv1 \($t | length) \($t) \(utf8bytelength) \(.)"' "$1" | sha256sum | cut -d ' ' -f 1; }
expect 1 "one of two" "${ctl[@]}" twin.json --key record.key.pub
expect 3 "beside the other" "${ctl[@]}" 4.json 1.json twin.json --key record.key.pub
has "twin.json: REFUSED: fleet.example/stations/st-017 has signed two records as its 4: $(id twin.json), and $(id 4.json)"
[ "$(tail -n 1 "$out")" = "3 in all: 2 verified, 1 refused" ] || bad "another count"
expect 3 "in either order, also where one of them has its proof" "${ctl[@]}" twin.json 4.sigstore.json --keyring keyring
has "has signed two records as its 4"
expect 3 "and in one file" "${ctl[@]}" --json <(cat records.intoto.jsonl; jq -c . twin.json) --key record.key.pub
jq -es 'length == 19 and ([.[] | select(.status == "refused")] | length == 1 and (.[0] | has("statement") | not))' "$out" >/dev/null || bad "not one of 19 is refused"
expect 3 "nothing of it is accepted" "${ctl[@]}" 4.json twin.json --key record.key.pub --state twins
expect 1 "so that one of them may be shown again" "${ctl[@]}" 4.json --key record.key.pub --state twins
expect 1 "the same one twice is one" "${ctl[@]}" 4.json 4.json 4.sigstore.json --key record.key.pub

# One thing given in the place of another.
printf '# A text\n\nthat is none of it.\n' >chip.txt
expect 3 "a file without a slash" "${ctl[@]}" 4.json --key record.key.pub --subject chip.txt
has "chip.txt is taken for a serial, though none of ours has a dot; a file is named with a slash: --subject ./chip.txt"
expect 64 "a text for a keyring" "${ctl[@]}" 4.json --keyring chip.txt
has "chip.txt: no keyring, as assayctl keys show prints one: "
expect 64 "a text for a log" "${ctl[@]:0:${#ctl[@]}-1}" audit chip.txt --keyring keyring
has "chip.txt: no log, as lines of records or a folder of tiles: nothing in it looks like a record"
[ "$(wc -l <"$err")" = 1 ] || bad "more than that"

# What is remembered.
expect 1 "seen for the first time" "${ctl[@]}" 4.json --proof old.proof --keyring keyring --state seen
expect 3 "shown a second time" "${ctl[@]}" 4.json --proof 4.proof --keyring keyring --state seen
has "accepted before"
expect 3 "older than what was accepted" "${ctl[@]}" 1.json --proof 1.proof --keyring keyring --state seen
tac records.intoto.jsonl >backwards.jsonl
expect 1 "one command is one decision: in any order, and twice is once" "${ctl[@]}" 4.json backwards.jsonl 4.json --key record.key.pub --state once
expect 3 "which the next one knows of" "${ctl[@]}" 4.json --key record.key.pub --state once
has "accepted before"
expect 2 "what was not acted on" "${ctl[@]}" 1.json 4.json 1.json --proof 1.proof --key root1.pub.pem --state undecided
expect 0 "may be shown again" "${ctl[@]}" 1.json 1.json --proof 1.proof --keyring keyring --state undecided
expect 1 "a log of ten" "${ctl[@]}" 4.json --proof unseen-old.proof --keyring unwitnessed --state grown
rm grown/*.accepted
expect 2 "grew, and nobody says how" "${ctl[@]}" 4.json --proof 4.proof --keyring unwitnessed --state grown
has "only grew"
expect 1 "a log of eighteen" "${ctl[@]}" 4.json --proof 4.proof --keyring keyring --state whole
rm whole/*.accepted
expect 3 "became shorter" "${ctl[@]}" 4.json --proof old.proof --keyring keyring --state whole
has "older state of the log"
expect 3 "had another history" "${ctl[@]}" 4.json --proof other.proof --keyring keyring --state whole
has "another history"
expect 1 "a keyring of version 7" "${ctl[@]}" 4.sigstore.json "${ring[@]}" --state rings
rm rings/*.accepted
expect 1 "is known without its roots" "${ctl[@]}" 4.sigstore.json --keyring ring-7.json --state rings
expect 3 "version 8 revokes" "${ctl[@]}" 4.sigstore.json --keyring ring-8.json --state rings
has "revoked"
expect 3 "version 7 is past" "${ctl[@]}" 4.sigstore.json "${ring[@]}" --state rings
has "newer keyring"

# Keyrings of our own, made by two people one after the other, of keys that OpenSSL made.
keys=("$1/cli/assayctl" keys)
word() { grep -v '^-' "$1" | tr -d '\n'; } # the inside of a PEM block
{
        printf 'version 10\nexpires 2126-11-20T00:00:00Z\n\n# two of three\nthreshold 2\n'
        for i in 1 2 3; do echo "root $(word root$i.pub.pem)"; done
        echo "record $(word record.key.pub) https://fleet.example/stations/st-017 fleet.example/stations/st-017"
        sed -n '/^log/p; /^witness w1/p' keyring
        printf 'quorum 1\n'
} >text
expect 0 "a key that is no root" "${keys[@]}" create stranger.pem
expect 64 "a text that nobody has signed" "${ctl[@]}" 4.sigstore.json --keyring text
has "it is for roots to sign, and none has: see assayctl keys ring"
expect 0 "one root makes a keyring" "${keys[@]}" ring text --key root1.pem --output ring-10.json
has "1 of 2 signatures: 1 more is needed"
jq -e '.payloadType == "application/vnd.assay.keyring" and (.signatures | length) == 1' ring-10.json >/dev/null || bad "no keyring"
jq -rj '.payload | @base64d' ring-10.json | cmp - text || bad "another text than was to be signed"
expect 0 "a text that comes through a pipe" "${keys[@]}" ring <(cat text) --key root1.pem
sed 's/$/\r/' text >windows
expect 64 "lines as Windows ends them" "${keys[@]}" ring windows --key root1.pem
has "line 1 ends in CR LF"
sed 's/^log .*/&\r/' keyring >windows.keyring
expect 64 "in a policy, too" "${ctl[@]}" 4.sigstore.json --keyring windows.keyring
has "ends in CR LF"
sed '5s/threshold 2/&\x1b/' text >spoilt
expect 64 "control characters" "${keys[@]}" ring spoilt --key root1.pem
has "line 5 has a control character"
sed 's/^log/lgo/' text >spoilt
expect 64 "a line that begins with no word" "${keys[@]}" ring spoilt --key root1.pem
has "line 10 begins with no word of a keyring, nor with #"
for word in https fleet; do
        sed "/^record/s/$word/\xff&/" text >spoilt
        expect 64 "bytes that are no text" "${keys[@]}" ring spoilt --key root1.pem
        has "line 9 is no \`record KEY PRODUCER ORIGIN"
done
expect 3 "which alone is not enough" "${ctl[@]}" 4.sigstore.json --keyring ring-10.json --root roots
expect 0 "another root signs it" "${keys[@]}" sign ring-10.json --key root3.pem --output ring-10.json
grep -qx "2 of 2 signatures" "$err" || bad "it is complete, and that is not said"
expect 1 "and it is believed" "${ctl[@]}" 4.sigstore.json --keyring ring-10.json --root roots
expect 0 "twice is once" "${keys[@]}" sign ring-10.json --key root3.pem
query '.signatures | length == 2'
grep -qx "2 of 2 signatures" "$err" || bad "the same signature counts twice"
expect 0 "a key that is no root signs, as for a change of roots" "${keys[@]}" sign ring-10.json --key stranger.pem
query '.signatures | length == 3'
has "$("$OLDPWD/tests/record/ssh-fingerprint" stranger.pem.pub) is no root of this keyring"
has "2 of 2 signatures"
expect 0 "and alone is nothing" "${keys[@]}" ring text --key stranger.pem --quiet
has "is no root of this keyring"
expect 0 "a keyring of which two signatures are missing" "${keys[@]}" ring text --key stranger.pem
has "0 of 2 signatures: 2 more are needed"
sed 's/^record .*/& 0 3 stolen/; s/^version 10/version 11/' text >revoking
expect 0 "a keyring that revokes" "${keys[@]}" ring revoking --key root2.pem --output ring-11.json
expect 0 "of two roots" "${keys[@]}" sign ring-11.json --key root1.pem --output ring-11.json
expect 3 "revokes" "${ctl[@]}" 4.sigstore.json --keyring ring-11.json --root roots
has "revoked before index 4"
for spoilt in 's/^version/versoin/' 's/^version 10/version ten/' 's/^threshold 2/threshold 4/' 's/^quorum 1/quorum 2/' '/^root/{H;x;s/^\n//;x}; /^record/{x;s/\n.*//p;x}' \
        's/^root .*/root nothing/' 's/^expires .*/expires soon/' '/^expires/d' 's/^log .*/log vkey/' 's/^record [^ ]*/record roots/' \
        's/^record .*/& 4 3/' 's/^threshold 2/threshold 2 of 3/' '/^version/d' '/^quorum/d' 's/^record [^ ]* \(.*\)/record \1/' '/^threshold/d' '/^root/d'; do
        sed "$spoilt" text >spoilt
        ! cmp -s text spoilt || bad "it is not spoilt"
        expect 64 "a text after $spoilt" "${keys[@]}" ring spoilt --key root1.pem --output never
done
[ ! -e never ] || bad "something was signed"
sed 's/^quorum 1/quorum some/' text >spoilt
expect 64 "which tells the line" "${keys[@]}" ring spoilt --key root1.pem
has "line $(grep -n ^quorum spoilt | cut -d: -f1) is no \`quorum NAME|none|K\`"
sed 's/^quorum 1/quorum none/' text >unwitnessed.text
expect 0 "a text that asks for no witness, as stations print it" "${keys[@]}" ring unwitnessed.text --key root1.pem
expect 64 "a root without its private half" "${keys[@]}" ring text --key root1.pub.pem
expect 64 "a root that is not named" "${keys[@]}" ring text
expect 64 "a record is no keyring to sign" "${keys[@]}" sign 4.json --key root1.pem
jq -c '.payload |= (@base64d | sub("expires"; "expired") | @base64)' ring-10.json >no-ring.json
expect 64 "nor is what is no keyring" "${keys[@]}" sign no-ring.json --key root1.pem
jq -c '.payloadType += "+json"' ring-10.json >old-ring.json
expect 3 "nor one of an earlier version" "${ctl[@]}" 4.sigstore.json --keyring old-ring.json --root roots
has "its payload is JSON, as of earlier versions: write it as a text, and have it signed anew with assayctl keys ring"

# A file is called whatever its sender likes.
loud=$'\e]0;all is well\a\e[2K\xc2\x9b1m.json'
cp 4.json "$loud"
expect 1 "a name that commands a terminal" "${ctl[@]}" "$loud" --key record.key.pub
! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$out" "$err" || bad "it got through"
printf '{}' >"$loud"
expect 3 "and one that is refused" "${ctl[@]}" "$loud" --key record.key.pub
! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$out" "$err" || bad "it got through"
expect 64 "and one that is not there" "${ctl[@]}" "$loud.not" --key record.key.pub
! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$out" "$err" || bad "it got through"

# Nor does its name say what is true of another.
two=$'m.json: verified  us0-1  PASSED\nm.json: verified  us0-2  PASSED'
cp 4.json "$two"
expect 1 "a name of two lines" "${ctl[@]}" "$two" --key record.key.pub
! grep -qa '^m.json: verified  us0-2' "$out" "$err" || bad "it is two lines"
printf '{}' >"$two"
expect 3 "and one that is refused" "${ctl[@]}" "$two" --key record.key.pub
! grep -qa '^m.json: verified  us0-2' "$out" "$err" || bad "it is two lines"
done_expecting
