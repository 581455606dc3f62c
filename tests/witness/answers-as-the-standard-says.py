#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: answers-as-the-standard-says.py ASSAY-WITNESS: c2sp.org/tlog-witness over real HTTP, each answer with its status."""

import http.client
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tlog import DASH, Key, Log, Tap, Witness, b64, sha256  # noqa: E402

program = sys.argv[1]
folder = tempfile.mkdtemp(prefix='assay-witness.')
tap = Tap()


def dribble(witness, opening, result):
    """Sends OPENING and then a byte now and then, which no idle timeout ends; how long that is borne."""
    start = time.monotonic()
    with socket.create_connection(('127.0.0.1', witness.port)) as s:
        try:
            s.sendall(opening)
            while time.monotonic() - start < 30:
                s.sendall(b'x')
                s.settimeout(0.5)
                try:
                    if s.recv(1000) == b'':
                        break
                except socket.timeout:
                    pass
        except OSError:
            pass
    result.append(time.monotonic() - start)


def served(witness):
    """Whether it answers before long: it learns of connections that are gone when it next looks."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            return witness.post(b'')[0] == 400
        except (OSError, http.client.HTTPException):
            time.sleep(0.02)
    return False


def held(witness, key, method='GET', prefix=''):
    """The newest checkpoint that it has cosigned of KEY's log, as who monitors it asks for it."""
    return witness.post('', f'{prefix}/{sha256(key.name.encode()).hex()}/checkpoint', method)


def main():
    log_key = Key(folder + '/log.pem', 'fleet.example/stations/st-017', 1)
    other_key = Key(folder + '/other.pem', log_key.name, 1)  # same name, not known
    silent_key = Key(folder + '/silent.pem', 'fleet.example/stations/st-019', 1)
    foreign_key = Key(folder + '/foreign.pem', 'fleet.example/stations/st-018', 1)
    witness = Witness(program, folder + '/w1', 'fleet.example/witness/w1', [log_key, silent_key]).start()
    log = Log(log_key).grow(20)

    slow = []
    threads = [threading.Thread(target=dribble, args=(witness, opening, slow)) for opening in
               (b'POST /add-checkpoint HTTP/1.1\r\nHost: ', b'POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 5000\r\n\r\nold ')]
    for thread in threads:
        thread.start()

    printed = subprocess.run(witness.command('--print-vkey'), capture_output=True, text=True, check=True).stdout
    tap.holds(printed == witness.key.vkey + '\n', 'the vkey printed is the one the standard makes of name and key', printed)

    status, body, kind = witness.post(log.request(0, 0))
    tap.holds(status == 200 and witness.key.cosigned(log.text(0), body), 'an empty log is cosigned', status, body)
    status, body, kind = witness.post(log.request(0, 0, proof=[sha256(b'')]))
    tap.holds(status == 422, 'a proof from nothing is refused with 422', status, body)

    before = int(time.time())
    status, body, kind = witness.post(log.request(0, 5))
    when = witness.key.cosigned(log.text(5), body)
    tap.holds(status == 200 and when and before <= when <= time.time(), '200: a first checkpoint is cosigned, now', status, body, kind)
    tap.holds(body.startswith(DASH + ' ') and body.count('\n') == 1, 'the answer is one signature line', body)
    tap.holds(witness.key.cosigned(log.text(6), body) is None, 'which is of no other checkpoint')

    time.sleep(1.1)
    status, body, kind = witness.post(log.request(5, 5))
    again = witness.key.cosigned(log.text(5), body)
    tap.holds(status == 200 and again and again > when, '200: the same checkpoint is cosigned afresh', status, again, when)

    status, body, kind = witness.post(log.request(5, 5, proof=[sha256(b'')]))
    tap.holds(status == 422, '422: a proof where nothing is to prove', status)
    for old in 0, 3, 6, 11:
        status, body, kind = witness.post(log.request(old, 11))
        tap.holds((status, body, kind) == (409, '5\n', 'text/x.tlog.size'), f'409: old {old}, and the size held is told', status, body, kind)

    request = log.request(5, 11)
    lines = request.split('\n')
    at = lines.index('')
    for i in range(1, at):
        broken = lines.copy()
        broken[i] = b64(sha256(broken[i].encode()))
        tap.holds(witness.post('\n'.join(broken))[0] == 422, f'422: hash {i} of the proof is another')
    tap.holds(witness.post('\n'.join(lines[:1] + lines[2:]))[0] == 422, '422: a hash is left out')
    tap.holds(witness.post('\n'.join(lines[:at] + [b64(sha256(b'x'))] + lines[at:]))[0] == 422, '422: a hash too many')
    status, body, kind = witness.post('\n'.join(lines[:1] + lines[at:]))
    tap.holds((status, kind) == (422, 'text/plain') and 'does not show' in body, '422: no proof at all, and a sentence says so', status, body, kind)

    text = log.text(11, origin='fleet.example/stations/nobody')
    tap.holds(witness.post(f'old 5\n\n{text}\n{log_key.line(text)}')[0] == 404, '404: a log that nobody knows')
    tap.holds(witness.post(Log(foreign_key, log.leaves).request(0, 5))[0] == 404, '404: another log')
    tap.holds(witness.post(Log(other_key, log.leaves).request(5, 11))[0] == 403, '403: another key under the name of the log')
    text = log.text(11)
    tap.holds(witness.post(f'old 5\n{chr(10).join(lines[1:at])}\n\n{text}\n{log_key.line(log.text(12))}')[0] == 403, '403: a signature of another checkpoint')
    tap.holds(witness.post(log.request(12, 11))[0] == 400, '400: the old size is above the new one')

    malformed = {
        'nothing': '', 'no old': '\n' + log.note(11), 'words': 'old five\n\n' + log.note(11), 'a zero in front': 'old 05\n\n' + log.note(11),
        'a sign': 'old +5\n\n' + log.note(11), 'two blanks': 'old  5\n\n' + log.note(11), 'a carriage return': log.request(5, 11).replace('\n', '\r\n'),
        'no empty line': 'old 5\n' + log.note(11), 'URL-safe base64': 'old 5\n' + '-' * 43 + '=\n\n' + log.note(11),
        'a short hash': 'old 5\nAAAA\n\n' + log.note(11), '64 hashes': log.request(5, 11, proof=[sha256(b'')] * 64),
        'no note': 'old 5\n\n' + log.text(11), 'no end': log.request(5, 11)[:-1], 'a NUL': log.request(5, 11) + '\0',
        'a size with zeros': f'old 5\n\nfleet.example/stations/st-017\n011\n{b64(sha256(b""))}\n\n{log_key.line("x")}',
        'a size beyond all': f'old 5\n\nfleet.example/stations/st-017\n{2**64 + 11}\n{b64(sha256(b""))}\n\n{log_key.line("x")}',
        '65 signatures': log.note(11).join(['old 5\n\n', log_key.line('x') * 65]),
    }
    for name, body in malformed.items():
        status = witness.post(body)[0]
        tap.holds(status == 400, f'400: {name}', status)

    tap.holds(witness.post('x' * 80000)[0] == 413, '413: a body that no request has')
    connection = witness.connect()
    connection.putrequest('POST', '/add-checkpoint')
    connection.putheader('Transfer-Encoding', 'chunked')
    connection.endheaders()
    for _ in range(20):
        connection.send(b'1000\r\n' + b'x' * 4096 + b'\r\n')
    connection.send(b'0\r\n\r\n')
    tap.holds(connection.getresponse().status == 413, '413: nor in pieces')
    connection.close()
    tap.holds(witness.post('', '/')[0] == 404, '404: another path')
    tap.holds(witness.post('', method='GET')[0] == 405, '405: another method')
    tap.holds(held(witness, log_key, method='POST')[0] == 405, '405: nor can what is held be posted')
    try:
        status = witness.post('x', '/' + 'y' * 9000)[0]
    except (OSError, http.client.HTTPException):
        status = 414 # it does not even listen to the end
    tap.holds(status in (414, 431), '414 or 431: a head that is too long', status)

    connection = witness.connect()
    status, body, _ = witness.post(log.request(5, 11), '/some/prefix/add-checkpoint', connection=connection)
    tap.holds(status == 200 and witness.key.cosigned(log.text(11), body), 'a grown log is cosigned, under a prefix', status, body)
    status, body, _ = witness.post(log.request(11, 16), connection=connection)
    tap.holds(status == 200 and witness.key.cosigned(log.text(16), body), 'and again over the same connection', status, body)
    connection.close()
    foreign = Key(folder + '/w9.pem', 'some.example/witness', 4)
    more = f'{DASH} {foreign.name} {b64(foreign.id + bytes(2428))}\n{DASH} x {b64(bytes(5))}\n'
    status, body, _ = witness.post(log.request(16, 17, note=log.note(17, more)))
    when = witness.key.cosigned(log.text(17), body)
    tap.holds(status == 200, 'lines of keys that are not known are passed over', status, body)

    fetched = subprocess.run(['curl', '-sS', '-w', '%{http_code} %{content_type}', '--data-binary', '@-', f'http://127.0.0.1:{witness.port}/add-checkpoint'],
                             input=log.request(3, 20), capture_output=True, text=True, check=True).stdout
    tap.holds(fetched == '17\n409 text/x.tlog.size', 'curl gets the same', fetched)
    status, body, kind = held(witness, log_key, prefix='/some/prefix')
    tap.holds((status, kind) == (200, 'text/plain') and body.startswith(log.text(17) + '\n' + log_key.line(log.text(17))) and foreign.name not in body,
              'what it holds is handed out with the signature of the log, and of no stranger', status, body, kind)
    tap.holds(witness.key.cosigned(log.text(17), body[len(log.text(17)) + 1:].splitlines(True)[-1]) == when, 'and with the cosignature that it gave', body)
    tap.holds(len(body.splitlines()) == 6, 'and with nothing else', body)
    tap.holds(held(witness, foreign_key)[0] == 404, '404: nothing is held of a log that nobody knows')
    tap.holds(held(witness, silent_key)[0] == 404, '404: nor of one that has never asked')
    for path in ('/checkpoint', '/' + 'g' * 64 + '/checkpoint', '/' + sha256(log_key.name.encode()).hex()[1:] + '/checkpoint',
                 '/' + sha256(log_key.name.encode()).hex().upper() + '/checkpoint', '/x' + sha256(log_key.name.encode()).hex() + '/checkpoint'):
        tap.holds(witness.post('', path, 'GET')[0] == 404, f'404: {path[:20]} is no hash of an origin')

    # Threat 9: two logs of one name and key, for two readers.
    one, two = log.fork().grow(3, 'one'), log.fork().grow(3, 'two')
    tap.holds(witness.post(one.request(17))[0] == 200, 'one of two continuations is cosigned')
    tap.holds(witness.post(two.request(23))[:2] == (409, '23\n'), 'split view: the other of the same size is refused with 409')
    tap.holds(witness.post(two.request(17))[:2] == (409, '23\n'), 'split view: from the size before too')
    two.grow(5, 'two')
    tap.holds(witness.post(two.request(23))[0] == 422, 'split view: grown further it is refused with 422')
    # Threats 8 and 12: whoever has the log's key and its database writes another history.
    forged = Log(log_key).grow(30, 'forged')
    tap.holds(witness.post(forged.request(23))[0] == 422, 'a history written anew is refused with 422')
    # Threat 10: the log's machine was restored.
    tap.holds(witness.post(one.request(20, 20))[:2] == (409, '23\n'), 'a log that was rolled back is told the size it had')
    tap.holds(witness.post(one.request(0, 5))[:2] == (409, '23\n'), 'also from nothing')

    # Two at once from the same size: one is first, and no two trees are cosigned.
    left, right = one.fork().grow(1, 'left'), one.fork().grow(2, 'right')
    bodies, answers = [left.request(23), right.request(23)], {}
    race = [threading.Thread(target=lambda i=i: answers.update({i: witness.post(bodies[i])[0]})) for i in range(2)]
    for thread in race:
        thread.start()
    for thread in race:
        thread.join()
    tap.holds(sorted(answers.values()) == [200, 409], 'of two at once one is cosigned and one refused', answers)

    crowd = [socket.create_connection(('127.0.0.1', witness.port)) for _ in range(70)]
    closed, until = set(), time.monotonic() + 20
    while len(closed) < 6 and time.monotonic() < until:
        closed.update(select.select([s for s in crowd if s not in closed], [], [], 0.1)[0])
    time.sleep(0.1) # for one that is closed and should not be
    closed.update(select.select([s for s in crowd if s not in closed], [], [], 0)[0])
    for s in crowd:
        s.close()
    tap.holds(6 <= len(closed) <= 10, 'one address gets 64 connections and no more', len(closed))
    tap.holds(served(witness), 'and is served when they are gone')

    for thread in threads:
        thread.join()
    tap.holds(len(slow) == 2 and all(9 < s < 25 for s in slow), 'who dribbles a head or a body is cut off after ten seconds', slow)
    status, said = witness.stop()
    tap.holds(status == 0, 'it ends in good order', status)
    tap.holds(said.count('ALARM') == 2 and 'of the same size with another root' in said, 'that the log has signed two trees was told of', said)
    tap.holds(said.count('does not show') == 12 and said.count('\n') == 14, 'so were proofs that do not hold, and no stranger', said)

    # A log whose own key is the witness's would vouch for itself.
    own = Witness(program, folder + '/own', 'fleet.example/witness/own', [])
    status, said = Witness(program, folder + '/own', own.key.name, [Key(own.key_path, 'fleet.example/stations/own', 1)]).refuses_to_start()
    tap.holds(status == 64 and 'is that of the log fleet.example/stations/own' in said, 'the key of a log is none of a witness', status, said)
    tap.done()


try:
    main()
finally:
    shutil.rmtree(folder)
