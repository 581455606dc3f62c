#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: many-at-once-share-a-sync.py ASSAY-WITNESS SLOW-DISK: 48 logs that ask together are cosigned with a few syncs of the disk, not 48, whoever
asks between them for what is held."""

import hashlib
import os
import shutil
import signal
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

    # Behind each third somebody asks for a checkpoint, of that log or of none that is known. The witness finds all of it together, in that order.
    connections, others = [witness.connect() for _ in range(N)], [witness.connect() for _ in range(N // 3)]
    for connection in connections + others:
        connection.request('GET', '/nobody')
        connection.getresponse().read()
    witness.process.send_signal(signal.SIGSTOP)
    for i, (connection, request) in enumerate(zip(connections, requests)):
        connection.request('POST', '/add-checkpoint', request)
        if i % 3 == 2:
            name = keys[i].name if i % 2 else 'nobody'
            others[i // 3].request('GET', f'/{hashlib.sha256(name.encode()).hexdigest()}/checkpoint')
    witness.process.send_signal(signal.SIGCONT)
    answers = [connection.getresponse() for connection in connections]
    told = [(answer.status, answer.read().decode()) for answer in (other.getresponse() for other in others)]
    bodies = [answer.read().decode() for answer in answers]
    used = os.path.getsize(syncs) - before

    tap.holds(all(answer.status == 200 for answer in answers), 'all are cosigned', [answer.status for answer in answers])
    tap.holds(all(witness.key.cosigned(log.text(), body) for log, body in zip(logs, bodies)), 'each its own checkpoint', bodies[0])
    tap.holds(1 <= used <= N // 4, 'with few syncs, and one at the least', used)
    tap.holds(all(status == 404 for status, _ in told[::2]), 'nothing is told of logs that are not known', told[0])
    tap.holds(all(status == 404 and 'was ever cosigned' in body or status == 200 and log.text() in body
                  for (status, body), log in zip(told[1::2], logs[5::6])), 'and of the others what is held', told[1])

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
