#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A room is entered through its doors, by the rooms that may: the file `rooms` beside this says which, and what it does not say is refused.
What it says and nobody needs is refused too, so it stays as short as the truth. No circle leads from room to room, neither of includes nor
of symbols; a room holds at most MOST files (a .c and its .h are one), and HACKING.md says what each is for."""

import collections
import json
import os
import re
import subprocess
import sys

MOST = 20
AREAS = ('checks/', 'sim/', 'daemon/', 'cli/')
INCLUDE = re.compile(r'^ *# *include *"([^"]*)"', re.M)
ENDING = re.compile(r'\.(c\.in|c|h)$')
# Generated lists of all checks, all models and all verbs: no other file may point at every room. Who asks them declares them (check.h, plan.h, model.h, verb.h).
LISTS = ('checks/registry.c', 'checks/words.c', 'sim/models.c', 'cli/verbs.c')

top, style, build = sys.argv[1:4]
wrong = []


def room_of(path):
    return os.path.dirname(path)


class Room:
    def __init__(self):
        self.most, self.doors, self.uses = MOST, set(), {} # uses: room -> set of headers, or None for all of its doors


def read_use(word):
    some = re.fullmatch(r'(.*)/\{(.*)\}', word)
    return (some[1], {f'{some[1]}/{name}.h' for name in some[2].split(',')}) if some else (word, None)


def read_table():
    rooms = {}
    room = field = None
    for line in open(os.path.join(style, 'rooms')):
        words = line.split('#')[0].split()
        if words and not line[0].isspace():
            name, room, field = words[0], rooms.setdefault(words[0], Room()), None
        elif words:
            if words[0].endswith(':'):
                field = words.pop(0)
            if field == 'most:':
                room.most = int(words[0])
            elif field == 'doors:':
                room.doors |= {f'{name}/{word}.h' for word in words}
            elif field == 'uses:':
                room.uses.update(map(read_use, words))
            else:
                sys.exit(f'rooms: {line.rstrip()}: neither doors, uses nor most')
    return rooms


def read_files():
    out = subprocess.run([os.path.join(style, 'sources'), top], check=True, capture_output=True, text=True).stdout
    return [file for file in out.splitlines() if file.startswith(AREAS) and ENDING.search(file)]


def read_symbols():
    """{(file, file): one name that the first uses of the second}, of all that was built."""
    sources, defined, wanted = {}, {}, []
    real_top, real_build = os.path.realpath(top), os.path.realpath(build)
    for command in json.load(open(os.path.join(build, 'compile_commands.json'))):
        source = os.path.realpath(os.path.join(command['directory'], command['file']))
        source = os.path.relpath(source, real_build if source.startswith(real_build + '/') else real_top) # some are generated
        written = os.path.join(command['directory'], command['output'])
        if source.startswith(AREAS) and source not in LISTS and os.path.exists(written):
            sources[written] = source
    nm = subprocess.run(['nm', '--print-file-name', '--extern-only', *sources], check=True, capture_output=True, text=True).stdout
    for line in nm.splitlines():
        written, entry = line.rsplit(':', 1)
        *_, kind, name = entry.split()
        if kind in 'Uw':
            wanted.append((sources[written], name))
        else:
            defined[name] = sources[written]
    return {(source, defined[name]): name for source, name in wanted if name in defined}


def check_include(rooms, file, header, used):
    here, there = room_of(file), room_of(header)
    if not os.path.exists(os.path.join(top, header)):
        wrong.append(f'{file}: "{header}" is no path from the top of the repository')
    elif here != there:
        some = rooms[here].uses.get(there, set())
        if header not in rooms[there].doors:
            wrong.append(f'{file}: {header} is no door of {there}')
        elif some is not None and header not in some:
            wrong.append(f'{file}: {here} does not use {header}')
        used[here, there].add(header)


def check_needed(rooms, used):
    for name, room in rooms.items():
        for other, some in room.uses.items():
            for header in some or set():
                if header not in used[name, other]:
                    wrong.append(f'rooms: {name} includes no {header}')
            if not used[name, other]:
                wrong.append(f'rooms: {name} includes nothing of {other}')
        opened = set().union(*(headers for (_, other), headers in used.items() if other == name))
        wrong.extend(f'rooms: {door} is a door that no other room uses' for door in sorted(room.doors - opened))


def circle(edges):
    """A list of rooms each of which uses the next and the last the first, or None."""
    graph = collections.defaultdict(set)
    for one, other in edges:
        graph[one].add(other)
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room):]
        if room in done:
            return None
        path.append(room)
        found = next(filter(None, map(visit, sorted(graph[room]))), None)
        path.pop()
        done.add(room)
        return found

    return next(filter(None, map(visit, sorted(graph))), None)


def check_circles(includes, symbols):
    edges = {}
    for file, header in includes:
        edges[room_of(file), room_of(header)] = f'{file} includes {header}'
    for (file, other), name in symbols.items():
        edges.setdefault((room_of(file), room_of(other)), f'{file} calls {name}() of {other}')
    found = circle(edge for edge in edges if edge[0] != edge[1])
    if found:
        wrong.append('rooms in a circle:')
        wrong.extend('        ' + edges[one, other] for one, other in zip(found, found[1:] + found[:1]))


def check_sizes(rooms, files):
    count = collections.Counter(map(room_of, {ENDING.sub('', file) for file in files}))
    said = open(os.path.join(top, 'HACKING.md')).read()
    for name in sorted(set(count) | set(rooms)):
        if name not in rooms or name not in count:
            wrong.append(f'{name}: ' + ('stands in no line of rooms' if name in count else 'has no files'))
            continue
        if count[name] > rooms[name].most:
            wrong.append(f'{name}: {count[name]} files, at most {rooms[name].most}')
        if rooms[name].most != MOST and count[name] != rooms[name].most:
            wrong.append(f'rooms: {name} has {count[name]} files now, and `most:` says {rooms[name].most}')
        if f'| `{name}/` |' not in said:
            wrong.append(f'{name}: HACKING.md does not say what it is for')


rooms, files = read_table(), read_files()
includes = [(file, header) for file in files for header in INCLUDE.findall(open(os.path.join(top, file)).read())]
check_sizes(rooms, files)
if not wrong:
    used = collections.defaultdict(set)
    for file, header in includes:
        if room_of(header) in rooms:
            check_include(rooms, file, header, used)
        else:
            wrong.append(f'{file}: "{header}" stands in no room')
    check_needed(rooms, used)
symbols = read_symbols()
check_circles(includes, symbols)
print('\n'.join(wrong))
print(f'{len(rooms)} rooms, {len(files)} files, {len(includes)} includes, {len(symbols)} uses of other files')
sys.exit(1 if wrong or len(includes) < 100 or len(symbols) < 100 else 0)
