#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
usage: two-trees-are-never-cosigned.py ASSAY-WITNESS [KILLS]: a witness that is killed, that finds its disk full, or that is given an old
copy of its state, never vouches for two histories of a log.
"""

import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tlog import Key, Log, Tap, Witness  # noqa: E402

program = sys.argv[1]
kills = int(sys.argv[2]) if len(sys.argv) > 2 else 50
folder = tempfile.mkdtemp(prefix='assay-witness.')
tap = Tap()


def held(witness, log):
    """What the witness says that it holds."""
    status, body, _ = witness.post(log.request(2, 3, proof=[]))
    return int(body) if status == 409 else None


def killed(log_key):
    """Two histories at once, each time, and a kill while they are on their way."""
    witness = Witness(program, folder + '/killed', 'fleet.example/witness/w1', [log_key])
    truth, cosigned, lost = Log(log_key).grow(4), [], 0
    random.seed(7)
    witness.start()
    assert witness.post(truth.request(0))[0] == 200
    size = len(truth.leaves)
    for n in range(kills):
        forks = [truth.fork().grow(1 + (n + i) % 3, f'{n}.{i}.') for i in range(2)]
        requests = [fork.request(size) for fork in forks]
        connections = [witness.connect() for _ in forks]

        def ask(i):
            try:
                status, body, _ = witness.post(requests[i], connection=connections[i])
            except Exception:  # noqa: BLE001: killed before it answered
                return
            if status == 200:
                cosigned.append((forks[i], body))

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(random.random() * 0.004)
        witness.kill()
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()

        # Whatever it holds now must be what it has cosigned, or one of the two.
        witness.start()
        size = held(witness, truth)
        answered = [fork for fork, _ in cosigned if fork in forks]
        for fork in answered or forks:
            status, body, _ = witness.post(fork.request(size) if size <= len(fork.leaves) else fork.request(0))
            if status == 200:
                cosigned.append((fork, body))
                lost += not answered
                truth = fork
                break
        else:
            tap.holds(False, f'after kill {n} it holds neither of the two', size, [len(f.leaves) for f in forks])
            break
        # The other one, from whatever it says that it holds.
        other, size = next(fork for fork in forks if fork is not truth), held(witness, truth)
        status, body, _ = witness.post(other.request(size) if size <= len(other.leaves) else other.request(0))
        if status == 200:
            cosigned.append((other, body))

    bad = [fork for fork, line in cosigned if not witness.key.cosigned(fork.text(), line)]
    tap.holds(not bad, f'all of {len(cosigned)} cosignatures verify')
    forks = [fork for fork, _ in cosigned if fork.leaves != truth.leaves[:len(fork.leaves)]]
    tap.holds(not forks, f'{kills} kills with two histories on their way: all that was cosigned is one history')
    tap.holds(len(truth.leaves) >= kills, f'of {len(truth.leaves)} records; {lost} times the answer was lost or never given')
    witness.stop()


def full_disk(log_key):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (80 << 10, 80 << 10))

    witness = Witness(program, folder + '/full', 'fleet.example/witness/w1', [log_key])
    log, last = Log(log_key), 0
    witness.start(preexec_fn=small)
    for _ in range(60):
        log.grow(1)
        status, body, _ = witness.post(log.request(last))
        if status != 200:
            break
        last = len(log.leaves)
    tap.holds(status == 503 and last > 3, f'after {last} checkpoints the disk is full, and it says 503', status, body)
    tap.holds(witness.post(log.request(last))[0] == 503, 'and again')
    status, body, _ = witness.post(log.request(last, last))
    tap.holds(status == 200 and witness.key.cosigned(log.text(last), body), 'what it holds it still cosigns', status, body)
    status, said = witness.stop()
    tap.holds(status == 0 and 'cannot be checked or kept' in said, 'it has said why', said)
    witness.start()
    tap.holds(held(witness, log) == last, 'with room again it holds what it has cosigned')
    tap.holds(witness.post(log.request(last))[0] == 200, 'and goes on')
    witness.stop()


def old_copy(log_key):
    witness = Witness(program, folder + '/copy', 'fleet.example/witness/w1', [log_key])
    state, copy = folder + '/copy', folder + '/old'
    log = Log(log_key).grow(5)
    witness.start()
    tap.holds('another witness' in witness.refuses_to_start()[1], 'a second one over the same state does not start')
    witness.post(log.request(0))
    witness.stop()
    shutil.copytree(state, copy)
    log.grow(5)
    witness.start()
    witness.post(log.request(5))
    witness.stop()
    os.replace(state + '/witness.db', folder + '/newest.db')

    status, said = witness.refuses_to_start()
    tap.holds(status == 3 and 'old copy' in said, 'no database where there was one is refused', status, said)
    os.replace(copy + '/witness.db', state + '/witness.db')
    status, said = witness.refuses_to_start()
    tap.holds(status == 3 and 'old copy' in said, 'so is an old copy', status, said)
    os.replace(folder + '/newest.db', state + '/witness.db')
    witness.start()
    tap.holds(witness.post(log.request(10))[0] == 200, 'the newest is taken')
    witness.stop()


def forgotten(log_key):
    """Folder and anchor restored together, which it cannot tell by itself: it can when it is shown what it has signed."""
    witness = Witness(program, folder + '/all', 'fleet.example/witness/w1', [log_key])
    log = Log(log_key).grow(5)
    witness.start()
    witness.post(log.request(0))
    witness.stop()
    shutil.copytree(folder + '/all', folder + '/before')
    witness.start()
    log.grow(5)
    line = witness.post(log.request(5))[1]
    witness.stop()
    shutil.rmtree(folder + '/all')
    os.replace(folder + '/before', folder + '/all')
    os.unlink(folder + '/all/anchor')
    status, said = witness.refuses_to_start()
    tap.holds(status == 3 and '--accept-state' in said, 'a state without its anchor is refused', status, said)
    witness.arguments = ['--accept-state']
    witness.start()
    status, body, _ = witness.post(log.request(5, note=log.note(more=line)))
    tap.holds(status == 503 and 'old copy' in body, 'shown a cosignature of its own that it knows nothing of, it signs nothing', status, body)
    status, said = witness.stop()
    tap.holds('ALARM' in said, 'and raises an alarm', said)
    with open(folder + '/all/anchor', 'w', encoding='utf-8') as file:
        file.write('7\n')
    witness.arguments = []
    tap.holds(witness.refuses_to_start()[0] == 3, 'an anchor that is none is refused')


def main():
    log_key = Key(folder + '/log.pem', 'fleet.example/stations/st-017', 1)
    killed(log_key)
    full_disk(log_key)
    old_copy(log_key)
    forgotten(log_key)
    tap.done()


try:
    main()
finally:
    shutil.rmtree(folder)
