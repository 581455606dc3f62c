#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line our writer makes satisfies the schema of OCP Test & Validation output 2.0, and our reader's tables say of
thousands of damaged lines what the schema says: two descriptions of one standard, written apart, that must agree."""

import copy
import json
import subprocess
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print('python3-jsonschema is not installed')
    sys.exit(77)

program, schema_path = sys.argv[1:]
with open(schema_path, encoding='utf-8') as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)

# Not from our writer, but valid: the artifacts it has no use for.
OTHERS = [
    {'measurementSeriesStart': {'name': 'x', 'measurementSeriesId': '1', 'unit': 'V', 'hardwareInfoId': 'a',
                                'validators': [{'type': 'REGEX_MATCH', 'value': 'x', 'name': 'y', 'metadata': {}}],
                                'subcomponent': {'name': 'x', 'type': 'BUS', 'version': '1', 'revision': '2'}, 'metadata': {}}},
    {'measurementSeriesElement': {'index': 0, 'measurementSeriesId': '1', 'value': 1.5, 'metadata': {},
                                  'timestamp': '2026-11-21T10:00:00.25+01:00'}},
    {'measurementSeriesEnd': {'measurementSeriesId': '1', 'totalCount': 1}},
    {'file': {'displayName': 'x', 'uri': 'file:///x', 'isSnapshot': False, 'description': 'x', 'contentType': 'x', 'metadata': {}}},
    {'log': {'severity': 'DEBUG', 'message': 'x', 'sourceLocation': {'file': 'x.c', 'line': 7}}},
    {'error': {'symptom': 'x', 'message': 'x', 'softwareInfoIds': ['1'], 'sourceLocation': {'file': 'x.c', 'line': 7}}},
    {'diagnosis': {'verdict': 'x', 'type': 'PASS', 'message': 'x', 'sourceLocation': {'file': 'x.c', 'line': 7}}},
    {'extension': {'name': 'x', 'content': [None]}},
]
VALUES = [None, 7, -1, 1.5, 'x', '', True, [], [7], {}, {'x': 1}]


def shape(value):
    """Lines of one shape are damaged once."""
    if isinstance(value, dict):
        return tuple((key, shape(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return ('list',) + tuple(sorted({shape(item) for item in value}, key=str))
    return type(value).__name__


def places(value, path=()):
    """Every place within a line, free-form objects excepted."""
    yield path
    if path and path[-1] in ('metadata', 'parameters', 'content', 'schemaVersion'):
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, path + (key,))


def at(line, path):
    for key in path:
        line = line[key]
    return line


def damaged(line):
    for path in places(line):
        if isinstance(at(line, path), dict) and (not path or path[-1] not in ('metadata', 'parameters', 'content')):
            other = copy.deepcopy(line)
            at(other, path)['unheardOf'] = 1
            yield other
        if path:
            other = copy.deepcopy(line)
            del at(other, path[:-1])[path[-1]]
            yield other
            for value in VALUES:
                other = copy.deepcopy(line)
                at(other, path[:-1])[path[-1]] = value
                yield other


written = subprocess.run([program], check=True, capture_output=True).stdout.decode('utf-8', 'strict').splitlines()
lines = [json.loads(line) for line in written]
for number, line in enumerate(lines):
    for error in validator.iter_errors(line):
        sys.exit(f'{written[number]}\n{error.message}')
    if line['sequenceNumber'] != number:
        sys.exit(f'{written[number]}\nis not number {number}')

kinds = {key for line in lines for artifact in ('testRunArtifact', 'testStepArtifact') for key in line.get(artifact, {})}
missing = {'testRunStart', 'testRunEnd', 'log', 'error', 'testStepStart', 'testStepEnd', 'measurement', 'diagnosis',
           'extension'} - kinds
if missing:
    sys.exit(f'no line has {missing}')

lines += [{'sequenceNumber': 0, 'timestamp': '2026-11-21T10:00:00Z', 'testStepArtifact': {'testStepId': '1', **other}}
          for other in OTHERS]
seeds = list({shape(line): line for line in lines}.values())
tried = seeds + [other for line in seeds for other in damaged(line)]
for form in ('2026-11-21', '2026-11-21T10:00:00', '2026-11-21 10:00:00Z', '2026-11-21T10:00:00.Z', '2026-11-21T10:00:00+1:00',
             '2026-11-21T10:00:00.123456Z', '2026-11-21T10:00:00-08:00'):
    tried.append({**seeds[0], 'timestamp': form})

text = ''.join(json.dumps(line) + '\n' for line in tried)
judged = subprocess.run([program, 'judge'], input=text, check=True, capture_output=True, text=True).stdout.splitlines()
refused = 0
for line, ours in zip(tried, judged, strict=True):
    valid = validator.is_valid(line)
    refused += not valid
    if valid != (ours == 'ok'):
        sys.exit(f'{json.dumps(line)}\nschema: {"ok" if valid else "refused"}, reader: {ours}')

print(f'{len(written)} lines of ours are valid; of {len(tried)} others both refuse {refused}')
sys.exit(0 if refused > 1000 and len(tried) - refused > 100 else 1)
