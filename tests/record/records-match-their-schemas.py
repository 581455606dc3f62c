#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# records-match-their-schemas.py FOLDER TWINS EXPORT-RECORDS FITS OLD: every record fits the schema that is published for its type in FOLDER, and so do
# payloads of version 1 in OLD; and of every twin changed in one place a health record is refused. Then twins are derived: each member of one record of each type is taken
# away and made something else. What the rules that the daemon has of the schemas (FITS) find of another shape the schema must refuse, and what the schema
# refuses they must not take.
import base64
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: no python3-jsonschema with draft 2020-12")
    sys.exit(77)

OTHERS = ["", "x", -1, 2 ** 53, None, []]
MANY = 1025  # more than any list may have that has a bound
failures = 0


def fail(*what):
    global failures
    failures += 1
    print(*what)


def at(value, part):
    return value[int(part)] if isinstance(value, list) else value[part]


def change(statement, changes):
    changed = copy.deepcopy(statement)
    for path, value in changes:
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


# Each member once: one element stands for a list, whichever has it first.
def members(value, path, general, seen):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, child in items:
        where = f"{path}.{key}" if path else str(key)
        kind = f"{general}.{'*' if isinstance(value, list) else key}"
        if kind not in seen:
            seen.add(kind)
            yield where, isinstance(value, dict), child
        yield from members(child, where, kind, seen)


def derive(statement, seen):
    for path, is_member, value in list(members(statement, "", "", seen)):
        long = [value[:1] * MANY] if isinstance(value, list) and value else []
        for other in OTHERS + long + ([...] if is_member else []):
            yield path, other, change(statement, [(path, other)])


# What our records leave out and others may say.
def fill(statement):
    predicate = statement["predicate"]
    for step in predicate["steps"] if isinstance(predicate.get("steps"), list) else []:
        step.update(startedOn="2026-11-21T09:14:02Z", finishedOn="2026-11-21T09:14:02.5Z")
        for measurement in step.get("measurements", []):
            measurement.update(statistic="min", count=32, annotations={})
            for limit in measurement.get("limits", []):
                limit["name"] = "max"
    if "steps" in predicate:
        predicate["deviceIdentity"] = {}
    if "components" in predicate:
        place = {"name": "chip1", "type": "ASIC", "location": "us0-2/chip1"}
        predicate["untested"] = [{"step": "efa", "component": place}]
        predicate["diagnoses"] = [{"step": "efa", "verdict": "efa-fabric", "type": "PASS", "component": place}]
    return statement


def main(folder, twins_path, export_records, fits, old):
    validators, definitions = {}, {}
    for path in sorted(glob.glob(os.path.join(folder, "*.schema.json"))):
        with open(path, encoding="utf-8") as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        validators[schema["properties"]["predicateType"]["const"]] = Draft202012Validator(schema)
        for name, definition in schema["$defs"].items():
            if name != "predicate" and definitions.setdefault(name, definition) != definition:
                fail(f"{path}: {name} is not what it is elsewhere")
    with open(twins_path, encoding="utf-8") as file:
        twins = json.load(file)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([export_records, work, "ed25519", "all"], check=True)
        statements = []
        for name in ("records.intoto.jsonl", "archive.intoto.jsonl"):
            with open(os.path.join(work, name), encoding="utf-8") as file:
                statements += [json.loads(base64.b64decode(json.loads(line)["payload"])) for line in file]
    # Chips as earlier assayds signed them: nobody writes these any more, and everybody reads them.
    for name in "passed.json", "failed.json":
        with open(os.path.join(old, name), encoding="utf-8") as file:
            statements.append(json.load(file))

    for statement in statements:
        for error in validators[statement["predicateType"]].iter_errors(statement):
            fail("record", statement["predicate"]["log"]["index"], list(error.absolute_path), error.message)
    passed = next(s for s in statements if s["predicateType"].endswith(":health:v1"))
    for twin in twins:
        changes = list(twin.get("set", {}).items()) + [(path, ...) for path in twin.get("remove", [])]
        if validators[passed["predicateType"]].is_valid(change(passed, changes)):
            fail("not refused:", twin["why"])

    derived, seen = [], {}
    for statement in statements:
        kind = statement["predicateType"]
        derived += [(kind, *twin) for twin in derive(fill(copy.deepcopy(statement)), seen.setdefault(kind, set()))]
    lines = "".join(json.dumps(twin) + "\n" for _, _, _, twin in derived)
    words = subprocess.run([fits], input=lines, capture_output=True, check=True, text=True).stdout.split()
    assert len(words) == len(derived)
    for (kind, path, other, twin), word in zip(derived, words):
        valid = validators[kind].is_valid(twin)
        if valid and word == "schema" or not valid and word == "fits":
            fail(f"{kind}: {path} = {'nothing' if other is ... else json.dumps(other)[:80]}: {word}, and the schema {'takes' if valid else 'refuses'} it")

    missing = set(validators) ^ set(seen)
    if missing:
        fail("no schema or no record:", *missing)
    print(f"{len(statements)} records fit, {len(twins)} twins and {len(derived)} derived ones shown, {failures} failures")
    return 1 if failures else 0


sys.exit(main(*sys.argv[1:]))
