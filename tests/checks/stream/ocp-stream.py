#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ocp-stream.py STREAM SCHEMA: the lines of STREAM are one run of OCP Test & Validation output 2.0, by the rules that no schema of lines can
tell: numbers without a gap, the version first, one start and one end, steps that end and go by what was said, hardware that was named, status
and result that go together. And no stream that breaks one of them."""

import copy
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print('skipped: no python3-jsonschema with draft 2020-12')
    sys.exit(77)

RUN_PAIRS = {('COMPLETE', 'PASS'), ('COMPLETE', 'FAIL'), ('ERROR', 'NOT_APPLICABLE'), ('SKIP', 'NOT_APPLICABLE')}


def artifact(line):
    for kind in ('testRunArtifact', 'testStepArtifact'):
        if kind in line:
            names = [name for name in line[kind] if name != 'testStepId']
            return names[0], line[kind][names[0]], line[kind].get('testStepId')
    return 'schemaVersion', line['schemaVersion'], None


def wrong_with(lines, validator):
    """A sentence, or None."""
    if not lines or 'schemaVersion' not in lines[0]:
        return 'the version is not first'
    open_steps, ended, hardware, start, end = {}, set(), set(), None, None
    failed = False
    for number, line in enumerate(lines):
        if not validator.is_valid(line):
            return f'line {number} is none'
        if line['sequenceNumber'] != number:
            return f'line {number} has another number'
        if not line['timestamp'].endswith('Z'):
            return f'line {number} has a time without zone'
        name, what, step = artifact(line)
        if end:
            return 'something follows the end'
        if name == 'schemaVersion':
            if number > 0:
                return 'a second version'
        elif name == 'testRunStart':
            if start or number != 1:
                return 'the start is not the second line'
            start, hardware = what, {info['hardwareInfoId'] for info in what['dutInfo'].get('hardwareInfos', [])}
        elif not start:
            return f'{name} before the start'
        elif name == 'testRunEnd':
            if (what['status'], what['result']) not in RUN_PAIRS:
                return 'status and result do not go together'
            end = what
        elif name == 'testStepStart':
            if step in open_steps or step in ended:
                return f'step {step} starts twice'
            open_steps[step] = what
        elif step is not None and step not in open_steps:
            return f'{name} of {step}, which is not under way'
        elif name == 'testStepEnd':
            del open_steps[step]
            ended.add(step)
        if isinstance(what, dict) and what.get('hardwareInfoId', None) not in hardware | {None}:
            return f'{name} of hardware that was not named'
        failed = failed or (name == 'diagnosis' and what['type'] == 'FAIL')
    if not end:
        return 'no end'
    if open_steps:
        return 'steps without an end'
    if failed and end['result'] == 'PASS':
        return 'it passes with a failure'
    return None


def twins(lines):
    """Each breaks one rule."""
    def twin(change):
        other = copy.deepcopy(lines)
        change(other)
        return other

    def renumber(change):
        def both(other):
            change(other)
            for number, line in enumerate(other):
                line['sequenceNumber'] = number
        return both

    def first(name):
        return next(i for i, line in enumerate(lines) if artifact(line)[0] == name)

    def end_with(status, result):
        return lambda other: other[-1]['testRunArtifact']['testRunEnd'].update(status=status, result=result)

    yield 'a line less', twin(lambda other: other.pop(5))
    yield 'two lines changed about', twin(lambda other: other.insert(3, other.pop(7)))
    yield 'no version', twin(renumber(lambda other: other.pop(0)))
    yield 'two versions', twin(renumber(lambda other: other.insert(4, other[0])))
    yield 'no start', twin(renumber(lambda other: other.pop(1)))
    yield 'no end', twin(lambda other: other.pop())
    yield 'two ends', twin(renumber(lambda other: other.append(copy.deepcopy(other[-1]))))
    yield 'a step without a start', twin(renumber(lambda other: other.pop(first('testStepStart'))))
    yield 'a step without an end', twin(renumber(lambda other: other.pop(first('testStepEnd'))))
    yield 'a step twice', twin(renumber(lambda other: other.insert(-1, copy.deepcopy(other[first('testStepStart')]))))
    yield 'ERROR and PASS', twin(end_with('ERROR', 'PASS'))
    yield 'COMPLETE without a verdict', twin(end_with('COMPLETE', 'NOT_APPLICABLE'))
    if lines[-1]['testRunArtifact']['testRunEnd']['result'] == 'FAIL':
        yield 'PASS with a failure', twin(end_with('COMPLETE', 'PASS'))
    yield 'hardware of another run', twin(lambda other: artifact(other[first('measurement')])[1].update(hardwareInfoId='x'))
    yield 'a time without zone', twin(lambda other: other[2].update(timestamp='2026-11-21T10:00:00'))
    yield 'a member nobody knows', twin(lambda other: other[2].update(x=1))


def main(stream, schema):
    with open(schema, encoding='utf-8') as file:
        validator = Draft202012Validator(json.load(file))
    with open(stream, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    why = wrong_with(lines, validator)
    if why:
        sys.exit(f'{stream}: {why}')
    refused = 0
    for name, other in twins(lines):
        if not wrong_with(other, validator):
            sys.exit(f'{name}: taken')
        refused += 1
    print(f'{len(lines)} lines are one run, {refused} twins are none')


main(*sys.argv[1:])
