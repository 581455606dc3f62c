#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# health-matches-its-schema.py SCHEMA TWINS EXPORT-RECORDS: every health record fits the published schema, and of every twin
# changed in one place it is refused. test-schema.c shows the same twins to the daemon's own tables.
import base64
import copy
import json
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: no python3-jsonschema with draft 2020-12")
    sys.exit(77)


def at(value, part):
    return value[int(part)] if isinstance(value, list) else value[part]


def change(statement, twin):
    changed = copy.deepcopy(statement)
    for path, value in list(twin.get("set", {}).items()) + [(p, ...) for p in twin.get("remove", [])]:
        *parents, last = path.split(".")
        place = changed
        for part in parents:
            place = at(place, part)
        if value is ...:
            del place[int(last) if isinstance(place, list) else last]
        elif isinstance(place, list) and int(last) == len(place):
            place.append(value)
        else:
            place[int(last) if isinstance(place, list) else last] = value
    return changed


def main(schema_path, twins_path, export_records):
    with open(schema_path) as file:
        schema = json.load(file)
    with open(twins_path) as file:
        twins = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([export_records, folder], check=True)
        with open(folder + "/records.intoto.jsonl") as file:
            payloads = [json.loads(base64.b64decode(json.loads(line)["payload"], validate=True)) for line in file]
    healths = [p for p in payloads if p["predicateType"] == "urn:assay:attestation:health:v1"]
    assert len(healths) == 16, "16 health records expected"

    failures = 0
    for health in healths:
        for error in validator.iter_errors(health):
            print("record", health["predicate"]["log"]["index"], list(error.absolute_path), error.message)
            failures += 1
    passed = healths[0]
    assert passed["predicate"]["result"] == "PASSED"
    for twin in twins:
        if validator.is_valid(change(passed, twin)):
            print("not refused:", twin["why"])
            failures += 1
    print(f"{len(healths)} records fit, {len(twins)} twins shown, {failures} failures")
    return 1 if failures else 0


sys.exit(main(*sys.argv[1:]))
