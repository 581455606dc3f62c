#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Exit statuses 64, 69, 3 and 2: usage, no daemon, forged records, nothing verified. usage: … BUILD-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/stage
. tests/cli/expect

stage_open "$1"
ctl=$1/cli/assayctl

expect 64 "no verb" "$ctl"
expect 64 "an unknown verb" "$ctl" frobnicate
has frobnicate
expect 64 "an unknown option" "$ctl" targets --frobnicate
expect 64 "an option of another verb" "$ctl" targets --plan x
has "takes no --plan"
expect 64 "too many arguments" "$ctl" targets x
expect 64 "too few arguments" "$ctl" scan
expect 64 "a seed that is no number" "$ctl" scan us0 --seed 7abc
expect 64 "an age that is none" "$ctl" gate us0 --max-age soon
has "such as 90s, 15min, 12h or 7d"
expect 64 "an age of nothing, which would be any" "$ctl" verdict us0 --max-age 0s
expect 64 "an age beyond all time" "$ctl" gate us0 --max-age 1e30d
expect 64 "a negative budget" "$ctl" scan us0 --budget -1
expect 64 "a code that does not exist" "$ctl" explain hbm-nothing
has "assayctl explain lists them"
expect 0 "a list of the codes that do" "$ctl" explain
has "hbm-pseudo-channel"
for part in show "rotate --to" "rotate --key" "ring /dev/null --key" "sign /dev/null --key"; do
        # shellcheck disable=SC2086
        expect 64 "a PIN for everyone to see, keys $part" "$ctl" keys $part "pkcs11:token=none;object=none?pin-value=4711"
        has "name a file with pin-source="
        ! grep -q 4711 "$err" || bad "and it was shown once more"
done
mkdir "$stage/bin" && ln -s /bin/false "$stage/bin/ssh"
expect 69 "a host that ssh does not reach" env PATH="$stage/bin:$PATH" "$ctl" --host nowhere.invalid targets
expect 0 "help" "$ctl" --help
expect 0 "what a challenge is" "$ctl" scan --help
tr -s ' \n' ' ' <"$out" | grep -q "4 to 128 characters of base64" || bad "otherwise"
expect 0 "what an option is to a verb" "$ctl" export --help
has "another word for --keyring"
! grep -Eq "keys |watch|rotate" "$out" || bad "it tells what it is to others"
expect 0 "keys take files" "$ctl" keys --help
has "keys create FILE | show [FILE|URI] | rotate | ring TEXT | sign KEYRING"
tr -s ' \n' ' ' <"$out" | grep -q -- "--output FILE keys ring, sign: instead of stdout Options" || bad "it tells of folders of tiles, or of other verbs of keys"
expect 64 "and have no other verb" "$ctl" keys bogus
has "no verb of keys is called 'bogus'"
for verb in status watch targets; do
        expect 0 "help of $verb" "$ctl" $verb --help
        head -n 1 "$out" | grep -q ' $' && bad "with a blank behind it"
done
if [ -e "$1/units/assayctl.1" ]; then
        [ "$(sed -n '/^[.]TH /{n;p}' "$1/units/assayctl.1")" = .nh ] || bad "names in the manual are hyphenated, and cannot be copied"
fi
expect 0 "help of one verb" "$ctl" audit --help
has "--checkpoint FILE"
grep -q -- "--seed" "$out" && bad "the help of audit tells of --seed"
expect 0 "help that fits a terminal" in_terminal 72 "$ctl" --help
awk '{ sub("\r", "") } length > 72 { exit 1 }' "$out" || bad "a line of it does not"
for program in checks/assay-run daemon/assayd daemon/witness/assay-witness sim/assay-sim; do
        expect 0 "the help of $program" "$1/$program" --help
        awk 'length > 80 { exit 1 }' "$out" || bad "a line of it is broken by the edge of a terminal"
done
expect 0 "the help of the demo runs nothing" timeout 5 sim/demo --help
has "usage: sim/demo"
awk 'length > 80 { exit 1 }' "$out" || bad "a line of it is broken by the edge of a terminal"
expect 64 "nor does what it does not know" timeout 5 sim/demo --nope
expect 0 "help that fits a narrow one" in_terminal 40 "$ctl" gate --help
awk '{ sub("\r", "") } length > 40 && !/^ *[^ ]+$/ { exit 1 }' "$out" || bad "a line of it is broken in a word"
expect 0 "a table that does not fit keeps its headings" in_terminal 72 env ASSAY_PLANS=units/plans "$ctl" --no-pager plans
grep -Eq '^PLAN +STAGE +STEPS +DEVICE SECONDS' "$out" && grep -Eq '^preflight +PREFLIGHT +[0-9]+ +[0-9]+' "$out" || bad "they are gone"
[ "$(awk '/^PLAN/ { n = index($0, "STAGE") } /^preflight/ { print n == index($0, "PREFLIGHT"); exit }' "$out")" = 1 ] || bad "they do not stand above what they head"
mkdir "$stage/loud"
printf 'plan: loud\nsummary: "a \\e]0;all is well\\a\\e[2K plan whose summary stands below"\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/loud/loud.yaml"
for cols in 40 200; do
        expect 0 "a table that commands a terminal of $cols columns" in_terminal "$cols" env ASSAY_PLANS="$stage/loud" "$ctl" --no-pager plans
        has "a ?]0;all is well??[2K plan"
        ! LC_ALL=C grep -qaP '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]' "$out" || bad "it got through"
done
expect 0 "version" "$ctl" --version
for verb in targets "scan us0" scans "show 1" "cancel 1" "verdict us0" "gate us0" records "verify 1" "export 1" log-level status watch; do
        # shellcheck disable=SC2086
        expect 69 "$verb without a bus" "$ctl" --bus "unix:path=$stage/no-bus" $verb
done
stage_bus
# shellcheck disable=SC2086
for verb in targets "scan us0" "gate us0" "verify 1" records; do
        expect 69 "$verb without a daemon" "$ctl" --bus "$bus" $verb
done

stage_sim sim sim/scenarios/rounding-sr-off.yaml
mkdir "$stage/plans"
printf 'plan: quick\nsummary: rounding alone\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n' >"$stage/plans/quick.yaml"
printf 'plan: broken\nsummary: a typo\nstage: PREFLIGHT\nsteps:\n  - chekc: rounding\n' >"$stage/plans/broken.yaml"
export ASSAY_PLANS=$stage/plans
stage_daemon trn-0
expect 64 "a target that does not exist" assayctl scan us9-9 --plan quick
# Cut short within a character, which no bus would carry.
long=$(printf 'é%.0s' {1..100})
expect 64 "one of letters that are longer than a byte" assayctl scan "a$long" --plan quick
expect 64 "a plan of such" assayctl scan trn-0 --plan "a$long"
expect 64 "the same, asked for a verdict" assayctl gate trn-0 --plan "a$long"
for verb in verdict gate coverage; do
        expect 64 "a target that does not exist, for $verb" assayctl $verb us9-9
        has "no such target"
done
expect 64 "a plan that does not exist, for coverage" assayctl coverage trn-0 --plan quikc
has "no plan is called 'quikc'; did you mean 'quick'?"
expect 64 "a target, where a record is asked for" assayctl explain trn-0
has "of a target assayctl verdict trn-0 names the record"
expect 64 "or a scan" assayctl show trn-0
has "assayctl scans lists them"
expect 2 "one that has no record yet" assayctl verdict trn-0
expect 2 "nor of this plan" assayctl gate trn-0 --plan quick
grep -qx "UNKNOWN: trn-0: never scanned by plan quick. Next: assayctl scan trn-0 --plan quick" "$out" || bad "something else is told"
expect 64 "of a plan that does not exist" assayctl gate trn-0 --plan nope
has "no record, and no plan is called 'nope'"
expect 64 "a plan that does not exist" assayctl scan trn-0 --plan nothing
expect 64 "no plans at all" env ASSAY_PLANS="$stage/nowhere" "$ctl" plans
has "there are no plans in $stage/nowhere"
expect 64 "a plan with a mistake" assayctl scan trn-0 --plan broken
has "broken.yaml:5:"
for challenge in 'a b' Yg= "$(head -c 97 /dev/zero | base64 -w 0)"; do
        expect 64 "a challenge of ${#challenge} characters that is none" assayctl scan trn-0 --plan quick --challenge "$challenge"
        has "not 4 to 128 characters of base64"
done
expect 64 "a scan that does not exist" assayctl show 99
expect 64 "a record that does not exist" assayctl verify 99
expect 1 "a scan" assayctl --quiet scan trn-0 --plan quick
expect 64 "a scan that has ended cannot be cancelled" assayctl cancel 1

# As gate prints them, or shorter.
id=$(assayctl records --json | jq -r '.[] | select(.index == 2) | .id')
expect 1 "a record by its ID, as gate tells it" assayctl verify "${id:0:16}"
has "  record  2 $id"
letters=$(grep -oE "^[0-9]*[a-f]" <<<"$id")
n=$((${#letters} > 8 ? ${#letters} : 8))
expect 1 "… by $n of its digits" assayctl verify "${id:0:n}"
has "  record  2 $id"
expect 0 "… explained" assayctl explain "$id"
has "record 2"
expect 0 "… exported" assayctl export "${id:0:16}"
[ "$(jq -r .payload "$out" | base64 -d | jq .predicate.log.index)" = 2 ] || bad "another record"
expect 1 "… and its scan" assayctl show "${id:0:16}"
has "Scan 1 (quick): "
expect 64 "an ID that no record has" assayctl verify 0123456789abcdef
has "no record of this log has an ID that begins with 0123456789abcdef"
expect 0 "an age is told in milliseconds" assayctl gate trn-0/chip1 --json
grep -Eq '"age_sec": [0-9]+(\.[0-9]{1,3})?[,}]' "$out" || bad "otherwise"
assayctl --quiet scan trn-0/chip1 --plan quick || bad "it does not pass"
expect 0 "what is missing of a server of which a chip was scanned" assayctl explain "$(($(assayctl records --json | jq length) - 1))"
has "No findings, but it tells of 1 of the 16 chips: the others were not asked for. To do: assayctl scan trn-0 --plan quick"
expect 2 "coverage of what no scan in service tested" assayctl coverage trn-0
has "of 16 chips no record of plan infleet tells regions, as those of scans in service (infleet) do"
for folder in "$stage/assayd.yaml" "$stage/nowhere/tiles"; do
        expect 64 "no tiles into ${folder##*/}" assayctl export --format tiles --output "$folder"
        has "--output names a folder, or one to be made in a folder that is there"
done

assayctl export 2 --output "$stage/record.json"
# What --output names stays what it is, unless it is a file.
expect 64 "a folder in place of a file" assayctl export 2 --output "$stage"
has "Is a directory"
expect 64 "a file in no folder" assayctl export 2 --output "$stage/nowhere/record.json"
ln -s /dev/full "$stage/full"
expect 2 "an output that is full" assayctl export 2 --output "$stage/full"
has "No space left"
[ -L "$stage/full" ] || bad "a link was replaced"
mkfifo "$stage/pipe"
timeout 20 cat "$stage/pipe" >"$stage/piped.json" &
expect 0 "a pipe" assayctl export 2 --output "$stage/pipe"
[ -p "$stage/pipe" ] || bad "a pipe was replaced"
wait $! || true
cmp "$stage/piped.json" "$stage/record.json" || bad "a pipe got something else"
jq -c '.payload |= ((@base64d | sub("FAILED"; "PASSED")) | @base64)' "$stage/record.json" >"$stage/forged.json"
expect 3 "an edited payload" "$ctl" verify "$stage/forged.json" --key "$stage/record.pub.pem"
if grep -q PASSED "$out"; then bad "the payload of a forgery was printed"; fi
expect 3 "an edited payload, as JSON" "$ctl" --json verify "$stage/forged.json" --key "$stage/record.pub.pem"
query 'has("statement") | not'
named=$stage/'forged", "status": "verified.json'
cp "$stage/forged.json" "$named"
expect 3 "a name that pretends, as JSON" "$ctl" --json verify "$named" --key "$stage/record.pub.pem"
query '.status == "refused" and (.record | endswith("verified.json"))'
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$stage/other.pub.pem"
expect 2 "a key that is not the signer's" "$ctl" verify "$stage/record.json" --key "$stage/other.pub.pem"
: >"$stage/empty.json"
expect 2 "an empty file" "$ctl" verify "$stage/empty.json" --key "$stage/record.pub.pem"
echo 'not json' >"$stage/garbage.json"
expect 3 "a file of garbage" "$ctl" verify "$stage/garbage.json" --key "$stage/record.pub.pem"
has "this is not JSON"
for n in 1 300 "$(($(wc -c <"$stage/record.json") - 2))"; do
        head -c "$n" "$stage/record.json" >"$stage/cut.json"
        expect 3 "a record whose end is missing, after $n bytes" "$ctl" verify "$stage/cut.json" --key "$stage/record.pub.pem"
        has "this is not JSON: it ends too early"
done
expect 64 "a file that is not there" "$ctl" verify "$stage/nothing.json" --key "$stage/record.pub.pem"
# One file for another: the complaint says what it is.
assayctl keys show >"$stage/station.keyring"
assayctl export 2 --format proof --output "$stage/2.proof"
assayctl export 2 --format bundle --output "$stage/2.bundle"
assayctl export 2 --format cloudevents --output "$stage/2.event"
for given in "station.keyring a keyring" "record.pub.pem public keys" "record.pem a private key" "2.proof the proof" "2.event a CloudEvent" \
        "records.db the database of a log"; do
        expect 3 "${given#* } for a record" "$ctl" verify "$stage/${given%% *}" --keyring "$stage/station.keyring"
        has "this is no record, but ${given#* }"
done
for given in "record.json a record" "2.bundle a record with its proof" "2.proof the proof" "record.pem a private key"; do
        expect 64 "${given#* } for a keyring" "$ctl" verify "$stage/record.json" --keyring "$stage/${given%% *}"
        has "this is ${given#* }"
done
sed 's/^quorum .*/quorum 1/' "$stage/station.keyring" >"$stage/bad.keyring"
expect 64 "a keyring with a line that cannot stand there" "$ctl" verify "$stage/record.json" --keyring "$stage/bad.keyring"
has "that can stand there: the lines before it name no such group, or fewer witnesses"
! grep -q "this is a keyring" "$err" || bad "it says that it is one"
"$ctl" keys create "$stage/root.pem" >/dev/null
printf 'version 1\nthreshold 1\nroot %s\n' "$(grep -v ^- "$stage/root.pem.pub" | tr -d '\n')" >"$stage/ring.text"
expect 64 "a text to which a root adds its signature" "$ctl" keys sign "$stage/ring.text" --key "$stage/root.pem"
has "assayctl keys ring makes one of a text"
expect 64 "a record for a proof" "$ctl" verify "$stage/record.json" --keyring "$stage/station.keyring" --proof "$stage/record.json"
has "no proof, as export --format proof writes one; this is a record"
expect 64 "a bundle for a log" "$ctl" audit "$stage/2.bundle" --keyring "$stage/station.keyring"
has "this is a record with its proof"
expect 64 "a keyring for a key" "$ctl" keys show "$stage/station.keyring"
has "no key in PEM form; this is a keyring"
[ -e /etc/assay/witnesses ] || { expect 64 "no witnesses" assayctl cosign; has "assay-witness(8)"; }
expect 64 "a public key to sign with" "$ctl" keys sign "$stage/record.json" --key "$stage/record.pub.pem"
has "no private key in PEM form; this is public keys"
expect 3 "half a proof" "$ctl" verify "$stage/record.json" --keyring "$stage/station.keyring" --proof <(head -c 300 "$stage/2.proof")
expect 64 "a key file without a key" "$ctl" verify "$stage/record.json" --key "$stage/record.json"

# A simulator that goes away: whatever was asked, the answer is never that the chips are fit.
kill -9 "$stage_sim_pid"
expect 2 "servers that do not answer are INCONCLUSIVE" assayctl scan trn-0 --plan quick
expect 2 "and the gate says so" assayctl gate trn-0/chip1
done_expecting
