#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: strangers-get-nowhere.py ASSAY-WITNESS: what is no request, byte by byte over sockets, and crowds of those who never finish one."""

import os
import re
import select
import shutil
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tlog import Key, Log, Tap, Witness  # noqa: E402

program = sys.argv[1]
folder = tempfile.mkdtemp(prefix='assay-witness.')
tap = Tap()
REQUEST_SEC = 10   # of daemon/witness/server.h
ADDRESS_MAX = 64
CONNECTIONS_MAX = 256
PATH = '/add-checkpoint'
PEAK_KB = 256 * 1024 # 256 connections with heads and bodies have less than a tenth; what a sanitizer adds has room


def head(method='POST', path=PATH, lines=('Content-Length: 1',), version='HTTP/1.1', host=True):
    return '\r\n'.join([f'{method} {path} {version}', *(['Host: w'] if host else []), *lines, '', '']).encode('latin-1')


def connect(witness, address='127.0.0.1'):
    s = socket.create_connection(('127.0.0.1', witness.port), timeout=20, source_address=(address, 0))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def statuses(data):
    """Of the answers in DATA, one after the other."""
    return [int(status) for status in re.findall(rb'HTTP/1\.1 ([2-5][0-9]{2}) ', data)]


def told(witness, data, sec=0.5):
    """What comes back until the other side closes, or has nothing more to say: the first status, None without one, and whether it closed."""
    got = b''
    with connect(witness) as s:
        try:
            s.sendall(data)
        except OSError:
            pass # it does not listen to the end
        while True:
            try:
                if not select.select([s], [], [], sec)[0]:
                    return (statuses(got) or [None])[0], False, got
                piece = s.recv(65536)
            except OSError:
                piece = b''
            if not piece:
                return (statuses(got) or [None])[0], True, got
            got += piece


def said_wrongly(witness, log):
    """Each a request, the statuses it may come to, and whether nothing may follow over the same connection."""
    body = log.request(5, 5).encode()
    chunked = f'{len(body):x}\r\n'.encode() + body + b'\r\n0\r\n\r\n'
    length = f'Content-Length: {len(body)}'
    return {
        **{f'the method {method}': (head(method, lines=()), [405], True)
           for method in ('GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'PATCH', 'post', 'X' * 50)},
        **{f'the path {path[:40]}': (head(path=path) + b'x', [404], True)
           for path in ('/', '*', '/add-checkpoint/', '/ADD-CHECKPOINT', '/xadd-checkpoint', 'add-checkpoint', '/add-checkpoint;x', '/add-checkpoint%00',
                        '/add-checkpoint%00x', '/%00/add-checkpoint%2f', '/%61dd-checkpoint', '/a%2fadd-checkpoint', '/add-checkpoint%', '/add-checkpoint#x',
                        '/add-checkpoint/../..', '/\xff\xfe')},
        **{f'a length of {n!r}': (head(lines=[f'Content-Length: {n}']) + b'hello', [400, 413], True)
           for n in ('-1', '+5', '0x5', '5 5', '5,5', '', '99999999999999999999', str(2**64), str(2**63), str(2**64 + 5), '65537000')},
        'two lengths': (head(lines=['Content-Length: 5', 'Content-Length: 6']) + b'hello!', [400], True),
        'the same length twice': (head(lines=[length, length]) + body, [400], True),
        'a length, and pieces': (head(lines=[length, 'Transfer-Encoding: chunked']) + chunked, [400], True),
        'pieces, and a length': (head(lines=['Transfer-Encoding: chunked', 'Content-Length: 3']) + chunked, [400], True),
        'a piece of no size': (head(lines=['Transfer-Encoding: chunked']) + b'zz\r\nhello\r\n0\r\n\r\n', [400], True),
        'a piece of a negative size': (head(lines=['Transfer-Encoding: chunked']) + b'-1\r\nhello\r\n0\r\n\r\n', [400], True),
        'a piece larger than all': (head(lines=['Transfer-Encoding: chunked']) + b'f' * 18 + b'\r\nhello\r\n0\r\n\r\n', [400, 413], True),
        'a piece that goes on': (head(lines=['Transfer-Encoding: chunked']) + b'1\r\nhello\r\n0\r\n\r\n', [400], True),
        'a thousand headers': (head(lines=[f'X-{i}: y' for i in range(1000)]), [431], True),
        'a header of 100 kB': (head(lines=['X: ' + 'y' * 100000]), [431], True),
        'a method of 100 kB': (b'Y' * 100000, [400, 405, 414, 431, None], True),
        'no host': (head(host=False) + b'x', [400], True),
        'HTTP 2.0': (head(version='HTTP/2.0') + b'x', [505, 400], True),
        'HTTP 9.9': (head(version='HTTP/9.9') + b'x', [505, 400], True),
        'HTTP without a number': (head(version='HTTP/') + b'x', [400, 505, None], True),
        'the greeting of HTTP/2': (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [505, 400, 405], True),
        'HTTP 0.9': (b'GET /\r\n\r\n', [400, 404, None], True),
        'a hundred thousand bytes of nothing': (bytes(range(128, 256)) * 800 + b'\r\n\r\n', [400, 405, 414, 431, None], True),
        'a body that is expected to be too large': (head(lines=['Content-Length: 1000000', 'Expect: 100-continue']), [413], True),
        'what is no checkpoint': (head() + b'x', [400], False),
        'a length that ends in a zero': (head(lines=['Content-Length: 5\0']) + b'hello', [400], False),
        'a query': (head(path=PATH + '?x=%00&y', lines=[length]) + body, [200], False),
        'pieces': (head(lines=['Transfer-Encoding: chunked']) + chunked, [200], False),
        'a body that is expected': (head(lines=[length, 'Expect: 100-continue']) + body, [200], False),
        'HTTP 1.0': (head(version='HTTP/1.0', lines=[length]) + body, [200], True),
    }


def used(witness):
    """Descriptors, and kilobytes of memory at the most."""
    with open(f'/proc/{witness.process.pid}/status', encoding='utf-8') as file:
        peak = [int(line.split()[1]) for line in file if line.startswith('VmHWM')][0]
    return len(os.listdir(f'/proc/{witness.process.pid}/fd')), peak


def serves(witness, log, address='127.0.0.9'):
    """How long another one waits for an answer."""
    start = time.monotonic()
    body = log.request(7, 7).encode()
    with connect(witness, address) as s:
        s.sendall(head(lines=[f'Content-Length: {len(body)}', 'Connection: close']) + body)
        got = b''
        while piece := s.recv(65536):
            got += piece
    return time.monotonic() - start if statuses(got) == [200] else 1e9


def closed(crowd, until):
    """How many of a crowd were cut off by then."""
    left = list(crowd)
    while left and time.monotonic() < until:
        for s in select.select(left, [], [], 0.1)[0]:
            try:
                over = s.recv(65536) == b''
            except OSError:
                over = True
            if over:
                left.remove(s)
    return len(crowd) - len(left)


def goes_back_to(witness, n_fds):
    until = time.monotonic() + REQUEST_SEC + 5
    while used(witness)[0] > n_fds and time.monotonic() < until:
        time.sleep(0.1)
    return used(witness)[0] <= n_fds


def main(log_key, witness):
    log = Log(log_key).grow(20)
    tap.holds(witness.post(log.request(0, 5))[0] == 200, 'it serves')
    n_fds, _ = used(witness)

    for name, (data, expected, ends) in said_wrongly(witness, log).items():
        status, over, got = told(witness, data)
        tap.holds(status in expected and over == ends, f'{"/".join(str(s) for s in expected)}: {name}', status, over, got[:300])
    _, _, got = told(witness, head('OPTIONS', lines=()))
    tap.holds(b'\r\nAllow: POST\r\n' in got, '405 says what is allowed', got)
    _, _, got = told(witness, head('HEAD', lines=()))
    tap.holds(got.endswith(b'\r\n\r\n') and got.count(b'\r\n\r\n') == 1, 'HEAD has no body', got)

    # Requests one behind the other are answered in that order, and what follows a body is the next one.
    bodies = [log.request(*sizes).encode() for sizes in ((5, 6), (5, 6), (6, 7), (7, 7))]
    one_go = b''.join(head(lines=[f'Content-Length: {len(body)}']) + body for body in bodies)
    _, over, got = told(witness, one_go, 1)
    tap.holds(statuses(got) == [200, 409, 200, 200] and not over, 'four in one go get four answers', statuses(got), over)
    longer = head(lines=[f'Content-Length: {len(bodies[3])}']) + bodies[3] + head('GET', '/smuggled', ())
    _, over, got = told(witness, longer, 1)
    tap.holds(statuses(got) == [200, 404] and over, 'what stands behind a body is another request', statuses(got), over)

    # Who stops in the middle, in each of the ways there are, and who reads no answers.
    request = head(lines=[f'Content-Length: {len(bodies[3])}']) + bodies[3]
    openings = [b'', b'P', request[:30], head(lines=['Content-Length: 5000']) + b'old ', head(lines=['Transfer-Encoding: chunked']) + b'5\r\nold',
                head(lines=['Transfer-Encoding: gzip']), b'\r\n' * 3, bytes(5000), bytes.fromhex('16030100c8010000c40303') + bytes(190)]
    start = time.monotonic()
    crowd = [connect(witness, f'127.0.0.{2 + i % 3}') for i in range(3 * (ADDRESS_MAX - 1))]
    for i, s in enumerate(crowd):
        s.sendall(openings[i % len(openings)])
        if i % 5 == 4:
            s.shutdown(socket.SHUT_WR)
    deaf = connect(witness, '127.0.0.5')
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    deaf.setblocking(False)
    try:
        while time.monotonic() - start < 3:
            deaf.send(request * 20)
    except OSError:
        pass # it is not read any more either
    waited = [serves(witness, log) for _ in range(20)]
    tap.holds(max(waited) < 2, f'beside {len(crowd)} who never finish others are served', max(waited))
    tap.holds(closed(crowd, start + REQUEST_SEC + 5) == len(crowd), 'who has not finished is cut off', time.monotonic() - start)
    tap.holds(time.monotonic() - start > REQUEST_SEC - 4, 'but not at once', time.monotonic() - start)
    for s in [*crowd, deaf]:
        s.close()
    tap.holds(goes_back_to(witness, n_fds), 'nothing of them is left', used(witness), n_fds)

    # More than all connections there are, from six addresses and at once: who comes last waits until the first are cut off.
    start = time.monotonic()
    crowd = [connect(witness, f'127.0.0.{10 + i % 6}') for i in range(CONNECTIONS_MAX + ADDRESS_MAX)]
    n = closed(crowd, start + 2 * REQUEST_SEC + 10)
    tap.holds(n == len(crowd), 'with all connections taken the rest get theirs in the end', n, len(crowd))
    try:
        waited = serves(witness, log)
    except OSError as error:
        waited = error
    tap.holds(isinstance(waited, float) and waited < 2, 'and when they are gone others are served', waited)
    for s in crowd:
        s.close()
    tap.holds(goes_back_to(witness, n_fds), 'nothing of these is left either', used(witness), n_fds)
    peak = used(witness)[1]
    tap.holds(peak < PEAK_KB, 'and it never had much memory', peak)
    status, said = witness.stop()
    tap.holds(status == 0 and 'ALARM' not in said, 'it ends in good order', status, said[-500:])
    tap.done()


the_key = Key(folder + '/log.pem', 'fleet.example/stations/st-017', 1)
the_witness = Witness(program, folder + '/w1', 'fleet.example/witness/w1', [the_key]).start()
try:
    main(the_key, the_witness)
finally:
    the_witness.process.kill()
    shutil.rmtree(folder)
