#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs inside the booted guest: see installed-service-scans-and-signs.sh. /stage holds what was installed.
set -euo pipefail

step() {
        echo "- $*"
}
fail() {
        echo "FAILED: $*" >&2
        journalctl --no-pager -o short-monotonic -n 80 >&2
        exit 1
}

cp -a /stage/. /
systemd-sysusers
systemd-tmpfiles --create /usr/lib/tmpfiles.d/assay.conf
systemctl daemon-reload
systemctl try-reload-or-restart dbus

step "a configuration that was edited outlives another installation"
cmp /etc/assay/assayd.yaml /usr/share/factory/etc/assay/assayd.yaml || fail "no configuration was put into place"
echo "# edited" | tee -a /etc/assay/assayd.yaml /etc/assay/witness.conf >/dev/null
cp -a /stage/. /
systemd-tmpfiles --create /usr/lib/tmpfiles.d/assay.conf
[ "$(tail -qn 1 /etc/assay/assayd.yaml /etc/assay/witness.conf | sort -u)" = "# edited" ] || fail "the configuration was replaced"

step "units are well-formed"
for unit in assayd.service assay-run.socket assay-key.service assay-witness.service assay-cosign.service assay-cosign.timer; do
        systemd-analyze verify "$unit" 2>&1 | grep -i assay && fail "systemd-analyze verify $unit"
done

step "the simulator runs as its own user"
systemctl start assay-sim@demo || fail "assay-sim@demo does not start"
[ "$(ps -o user:20= -C assay-sim | head -n 1 | tr -d ' ')" = assay-sim ] || fail "assay-sim runs as someone else"

step "a bus call starts the service"
systemctl is-active --quiet assayd && fail "assayd runs before anybody asked"
assayctl targets || fail "assayctl targets"
systemctl is-active --quiet assayd || fail "assayd is not active after a bus call"
[ "$(ps -o user:20= -C assayd | tr -d ' ')" = assay ] || fail "assayd runs as someone else"

step "the key was made once and belongs to root alone"
[ "$(stat -c '%U %a' /etc/assay/keys/record.pem)" = "root 600" ] || fail "the key is $(stat -c '%U %a' /etc/assay/keys/record.pem)"

step "a scan in sandboxed workers finds what was injected"
(
        for _ in $(seq 400); do
                ps -eo user:20=,comm= | awk '$2 == "assay-run" { print $1 }' | sort -u >>/run/worker-users
                sleep 0.02
        done
) &
watcher=$!
status=0
assayctl --no-pager scan us0-1 --plan preflight || status=$?
kill "$watcher" 2>/dev/null || true
[ "$status" = 1 ] || fail "scan ended with $status, not 1"
sort -u /run/worker-users
[ "$(sort -u /run/worker-users)" = assay-run ] || fail "workers did not run as assay-run alone"

step "the record verifies, online and by its public key alone"
index=$(assayctl --json records 0 200 | jq -r '[.[] | select(.type == "health:v2" and .result == "FAILED") | .index] | first')
status=0
assayctl verify "$index" || status=$?
[ "$status" = 1 ] || fail "verify ended with $status"
assayctl export "$index" --output /run/record.json
openssl pkey -in /etc/assay/keys/record.pem -pubout -out /run/record.pub.pem
status=0
systemctl stop assayd
assayctl verify /run/record.json --key /run/record.pub.pem || status=$?
[ "$status" = 1 ] || fail "offline verify ended with $status"

step "a user without rights may read but not scan, by polkit's word"
useradd -m visitor
runuser -u visitor -- assayctl targets >/dev/null || fail "a visitor may not list targets"
status=0
# More files than a user may hold at once: in the sandbox, too, the daemon learns that they were closed.
# shellcheck disable=SC2046
runuser -u visitor -- assayctl verify $(printf "$index %.0s" {1..300}) >/dev/null || status=$?
[ "$status" = 1 ] || fail "300 readings of a record ended with $status"
status=0
runuser -u visitor -- assayctl scan us0-0 </dev/null 2>/run/visitor || status=$?
[ "$status" = 77 ] || { cat /run/visitor >&2; fail "a visitor's scan ended with $status, not 77"; }

step "a polkit rule lets operators scan"
groupadd operators
usermod -a -G operators visitor
cat >/etc/polkit-1/rules.d/50-assay.rules <<'RULE'
polkit.addRule(function (action, subject) {
        if (action.id == "org.assay.assay1.scan" && subject.isInGroup("operators"))
                return polkit.Result.YES;
});
RULE
sleep 1
status=0
runuser -u visitor -- assayctl --quiet scan us0-0 || status=$?
[ "$status" = 0 ] || [ "$status" = 1 ] || fail "an operator's scan ended with $status"

step "what it may do is little"
systemd-analyze security --no-pager --threshold=30 assayd.service >/run/security || { cat /run/security >&2; fail "assayd.service is too open"; }
tail -n 1 /run/security

step "a witness cosigns the log, each under its own user"
vkey=$(busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogKey | cut -d'"' -f2)
printf 'name witness.example/w1\nlog %s\n' "$vkey" >>/etc/assay/witness.conf
systemctl start assay-witness || fail "assay-witness does not start"
[ "$(ps -o user:20= -C assay-witness | tr -d ' ')" = assay-witness ] || fail "assay-witness runs as someone else"
[ "$(stat -c '%U %a' /etc/assay/keys/witness.pem)" = "root 600" ] || fail "its key is $(stat -c '%U %a' /etc/assay/keys/witness.pem)"
witness=$(assay-witness --key /etc/assay/keys/witness.pem --print-vkey)
echo "witnesses: ['$witness']" >>/etc/assay/assayd.yaml
printf 'witness w1 %s http://127.0.0.1:8447\nquorum w1\n' "$witness" >/etc/assay/witnesses
systemctl restart assayd
sleep 2 # until the new record has a checkpoint
systemctl start assay-cosign || fail "assay-cosign ended with $(systemctl show -P ExecMainStatus assay-cosign)"
busctl call org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager GetCheckpoint t 0 | grep -q 'witness.example/w1' || fail "the daemon has no cosignature"
status=0
runuser -u visitor -- assayctl --quiet cosign 2>/run/visitor || status=$?
[ "$status" = 77 ] || { cat /run/visitor >&2; fail "a visitor's cosignatures ended with $status, not 77"; }
for unit in assay-witness assay-cosign; do
        systemd-analyze security --no-pager --threshold=30 "$unit.service" >/run/security || { cat /run/security >&2; fail "$unit.service is too open"; }
done

step "after a crash it is back and the log goes on"
size=$(busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogSize | cut -d' ' -f2)
systemctl kill --signal=KILL assayd
sleep 2
again=$(busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogSize | cut -d' ' -f2)
[ "$again" -ge "$size" ] || fail "the log had $size records and has $again"

step "an emptied state folder begins no second log, before somebody answers for it"
signed=$(busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogSize | cut -d' ' -f2)
systemctl stop assayd
cp -a /var/lib/assay /var/lib/assay-before
rm -rf /var/lib/assay/*
! systemctl start assayd || fail "assayd began the log again"
[ "$(systemctl show -P ExecMainStatus assayd)" = 3 ] || fail "assayd ended with $(systemctl show -P ExecMainStatus assayd), not 3"
assayd --continue-log "the test emptied it" 2>/run/decision || { cat /run/decision >&2; fail "nobody may decide"; }
grep -q 'its key has signed' /run/decision || { cat /run/decision >&2; fail "it does not say what was accepted"; }
systemctl reset-failed assayd
systemctl start assayd || { journalctl -u assayd -n 20 >&2; fail "assayd does not start after the decision"; }
assayctl records --json 2>/dev/null | grep -q 'log-decision' || assayctl records | grep -q 'log continued' || fail "no record tells of the decision"
systemctl stop assayd
rm -rf /var/lib/assay /etc/assay/signed/*
mv /var/lib/assay-before /var/lib/assay
systemctl start assayd || { journalctl -u assayd -n 20 >&2; fail "assayd does not go on with what was put back"; }
[ "$(busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogSize | cut -d' ' -f2)" -ge "$signed" ] || fail "records were lost"

step "an emptied state folder, and all that remembers it on this machine, is told of by the witness"
systemctl stop assayd
systemctl start assay-cosign || true # which has started assayd, and shown the witness the newest checkpoint
systemctl stop assayd
cp -a /var/lib/assay /var/lib/assay-before
cp -a /etc/assay/signed /etc/assay-signed-before
rm -rf /var/lib/assay/* /etc/assay/signed/*
systemctl start assayd || { journalctl -u assayd -n 20 >&2; fail "assayd does not begin"; }
for _ in $(seq 100); do
        busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogWrong | grep -q 'of another one' && break
        sleep 0.2
done
busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager LogWrong | grep -q 'of another one' ||
        { journalctl -u assay-cosign -n 20 >&2; fail "assayd goes on with a log that began again"; }
systemctl stop assayd
[ "$(systemctl show -P ExecMainStatus assayd)" = 3 ] || fail "assayd ended with $(systemctl show -P ExecMainStatus assayd), not 3"
rm -rf /var/lib/assay /etc/assay/signed
mv /var/lib/assay-before /var/lib/assay
mv /etc/assay-signed-before /etc/assay/signed
systemctl reset-failed assayd assay-cosign
systemctl start assayd || { journalctl -u assayd -n 20 >&2; fail "assayd does not go on with what was put back again"; }

step "the key is changed, and then sealed to this host"
key_id() {
        busctl get-property org.assay.Assay1 /org/assay/Assay1 org.assay.Assay1.Manager KeyId | cut -d'"' -f2
}
before=$(key_id)
for _ in $(seq 100); do
        assayctl --json scans | grep -qE 'queued|running|signing' || break
        sleep 0.2
done
assayctl keys rotate || fail "the key was not changed"
systemctl restart assayd || fail "assayd does not start with the new key"
[ "$(key_id)" != "$before" ] || fail "the key is the old one"
[ "$(stat -c '%U %a' /etc/assay/keys/record.pem)" = "root 600" ] || fail "the new key is $(stat -c '%U %a' /etc/assay/keys/record.pem)"
after=$(key_id)
mkdir -p /etc/credstore.encrypted /etc/systemd/system/assayd.service.d
systemd-creds encrypt --with-key=host --name=record-key /etc/assay/keys/record.pem /etc/credstore.encrypted/record-key || fail "the key cannot be sealed"
systemctl mask --quiet assay-key.service
rm /etc/assay/keys/record.pem
cat >/etc/systemd/system/assayd.service.d/key.conf <<'UNIT'
[Service]
LoadCredential=
LoadCredential=log-key:/etc/assay/keys/log.pem
LoadCredentialEncrypted=record-key:/etc/credstore.encrypted/record-key
UNIT
systemctl daemon-reload
systemctl restart assayd || fail "assayd does not start with a sealed key"
[ "$(key_id)" = "$after" ] || fail "the sealed key is another one"

step "a key that is not the log's raises one alarm"
alarms=$(journalctl -u assayd -p alert -o cat | wc -l)
assayd --make-key /run/other.pem
sed -i.right 's|^LoadCredentialEncrypted=.*|LoadCredential=record-key:/run/other.pem|' /etc/systemd/system/assayd.service.d/key.conf
systemctl daemon-reload
systemctl restart assayd 2>/dev/null && fail "assayd starts with another key"
alarms=$(($(journalctl -u assayd -p alert -o cat | wc -l) - alarms))
[ "$alarms" = 1 ] || fail "it is told $alarms times"
mv /etc/systemd/system/assayd.service.d/key.conf.right /etc/systemd/system/assayd.service.d/key.conf
systemctl daemon-reload
systemctl reset-failed assayd
systemctl restart assayd || fail "assayd does not start with its own key again"

step "the journal names targets and records"
journalctl -u assayd -o json | jq -rs 'map(select(.ASSAY_RECORD)) | length' | grep -qv '^0$' || fail "no journal entry has ASSAY_RECORD="
code=$(journalctl -u assayd -o json ASSAY_RESULT=FAILED | jq -rs 'map(.ASSAY_CODE // empty) | flatten | first')
assayctl explain "$code" >/dev/null || fail "the journal names no finding of the scan, but '$code'"

step "and explains them"
journalctl --update-catalog
journalctl -u assayd -x ASSAY_RESULT=FAILED | grep -q 'assayctl explain [0-9]' || fail "journalctl -x does not explain a failure"

echo "the installed service scans and signs"
