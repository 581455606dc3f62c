#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: many-at-once-share-a-sync.py ASSAY-WITNESS SLOW-DISK: 48 logs that ask together are cosigned with a few syncs of the disk, not 48."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tlog import Key, Log, Tap, Witness  # noqa: E402

N = 48
program, slow_disk = sys.argv[1:]
folder = tempfile.mkdtemp(prefix='assay-witness.')
os.symlink(slow_disk, folder + '/slow-disk.so')  # LD_PRELOAD ends a path at a space
syncs = folder + '/syncs'
tap = Tap()


def main():
    keys = [Key(f'{folder}/{i}.pem', f'us0-{i}.example/assayd', 1) for i in range(N)]
    logs = [Log(key).grow(7) for key in keys]
    witness = Witness(program, folder + '/w1', 'witness.example/w1', keys)
    witness.start(env={**os.environ, 'LD_PRELOAD': folder + '/slow-disk.so', 'SYNCS': syncs, 'ASAN_OPTIONS': 'verify_asan_link_order=0'})
    requests = [log.request(0).encode() for log in logs]
    before = os.path.getsize(syncs)

    connections = [witness.connect() for _ in range(N)]
    for connection, request in zip(connections, requests):
        connection.request('POST', '/add-checkpoint', request)
    answers = [connection.getresponse() for connection in connections]
    bodies = [answer.read().decode() for answer in answers]
    used = os.path.getsize(syncs) - before

    tap.holds(all(answer.status == 200 for answer in answers), 'all are cosigned', [answer.status for answer in answers])
    tap.holds(all(witness.key.cosigned(log.text(), body) for log, body in zip(logs, bodies)), 'each its own checkpoint', bodies[0])
    tap.holds(1 <= used <= N // 4, 'with few syncs, and one at the least', used)

    witness.kill()
    witness.start()
    held = [witness.post(log.request(3))[:2] for log in logs]
    tap.holds(all(h == (409, '7\n') for h in held), 'and what was told is held after a kill', held[0])
    witness.stop()
    tap.done()


try:
    main()
finally:
    shutil.rmtree(folder)
