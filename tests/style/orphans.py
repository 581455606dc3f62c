#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every .c file is compiled into something: a source that no meson.build lists is dead, and its tests never ran."""

import json
import os
import subprocess
import sys

top, style, build, *meson = sys.argv[1:]
files = subprocess.run([os.path.join(style, 'sources'), top], check=True, capture_output=True, text=True).stdout
here = {os.path.realpath(os.path.join(top, file)) for file in files.splitlines() if file.endswith('.c')}
targets = json.loads(subprocess.run([*meson, 'introspect', '--targets', build], check=True, capture_output=True, text=True).stdout)
built = {os.path.realpath(source) for target in targets for group in target['target_sources']
         for source in group.get('sources', [])}

orphans = sorted(os.path.relpath(file, os.path.realpath(top)) for file in here - built)
for file in orphans:
    print(f'{file}: no meson.build lists it')
print(f'{len(here)} sources')
sys.exit(1 if orphans or len(here) < 20 else 0)
