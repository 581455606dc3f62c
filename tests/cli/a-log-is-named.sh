#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A configuration without an origin: the log is named after the host, keeps that name when the host is called otherwise, and another origin
# is refused with the way to a new log.
#
# usage: a-log-is-named.sh BUILD-FOLDER
set -euo pipefail

build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
. tests/stage

fail() {
        echo "FAILED: $*" >&2
        exit 1
}

stage_open "$build"
stage_bus
stage_sim sim sim/scenarios/healthy.yaml

config() { # LINE…
        printf '%s\n' "$@" >"$stage/assayd.yaml"
        printf 'targets:\n  - {device: "sim:%s/sim.socket", servers: [us0-0]}\n' "$stage" >>"$stage/assayd.yaml"
}
# The keyring of the station names its log and its producer.
origin() {
        assayctl keys show | sed -n 's/^log \([^+]*\)+.*/\1/p'
}
stop() {
        kill "$stage_daemon_pid"
        wait "$stage_daemon_pid" || true
}

config "# no names"
stage_daemon
name=$(hostname)
case $name in
localhost* | *[!A-Za-z0-9.-]*) [[ $(origin) =~ ^machine-[0-9a-f]{32}/assayd$ ]] || fail "a nameless host's log is $(origin)";;
*) [ "$(origin)" = "$name/assayd" ] || fail "the log of $name is $(origin)";;
esac
stop

echo "- a log that is there keeps its name, and so does its producer"
mkdir "$stage/state"
stage_state=$stage/state
config "origin: first.example/assayd"
stage_daemon
stop
config "# no names"
stage_daemon
[ "$(origin)" = first.example/assayd ] || fail "the log is now $(origin)"
assayctl --json export 0 | jq -r .payload | base64 -d | grep -q '"https://first.example/assayd"' || fail "the producer is another one"
stop

echo "- another origin is refused, with what to do"
config "origin: second.example/assayd"
status=0
"$build/daemon/assayd" --config "$stage/assayd.yaml" --bus "$bus" --key "$stage/record.pem" --log-key "$stage/log.pem" --state-dir "$stage_state" \
        >"$stage/refused" 2>&1 || status=$?
[ "$status" = 3 ] || fail "another origin ended with $status, not 3"
grep -q 'origin is first.example/assayd, not second.example/assayd.*CHANGING THE ORIGIN' "$stage/refused" || { cat "$stage/refused"; fail "it does not say what to do"; }

echo "- and a new log is one"
mkdir "$stage/old"
mv "$stage_state"/records.db* "$stage"/log.pem* "$stage/old"
stage_daemon
[ "$(origin)" = second.example/assayd ] || fail "the new log is $(origin)"
