# SPDX-License-Identifier: Apache-2.0
"""
A log that witnesses can be asked about, and a reader of what they answer, from the standards alone: RFC 6962 by its recursive
definitions, signatures by openssl(1). It shares no code with what it tests. Imported by the tests of this folder.
"""

import base64
import hashlib
import http.client
import os
import socket
import struct
import subprocess
import time

DASH = '\u2014'


def sha256(*parts):
    return hashlib.sha256(b''.join(parts)).digest()


def b64(data):
    return base64.b64encode(data).decode()


# ---- RFC 6962 section 2.1 ----

def split(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def root(leaves):
    if not leaves:
        return sha256(b'')
    if len(leaves) == 1:
        return sha256(b'\0', leaves[0])
    k = split(len(leaves))
    return sha256(b'\1', root(leaves[:k]), root(leaves[k:]))


def consistency(m, leaves, whole=True):
    n = len(leaves)
    if m == n:
        return [] if whole else [root(leaves)]
    k = split(n)
    if m <= k:
        return consistency(m, leaves[:k], whole) + [root(leaves[k:])]
    return consistency(m - k, leaves[k:], False) + [root(leaves[:k])]


# ---- keys ----

class Key:
    """An Ed25519 key in a file, under a name and a type as notes have them."""

    def __init__(self, path, name, kind):
        self.path, self.name, self.kind = path, name, kind
        if not os.path.exists(path):
            subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', path], check=True)
        der = subprocess.run(['openssl', 'pkey', '-in', path, '-pubout', '-outform', 'DER'], check=True, capture_output=True).stdout
        self.public = der[-32:]
        self.id = sha256(name.encode(), b'\n', bytes([kind]), self.public)[:4]

    @property
    def vkey(self):
        return f'{self.name}+{self.id.hex()}+{b64(bytes([self.kind]) + self.public)}'

    def sign(self, message):
        data = self.path + f'.{time.monotonic_ns()}'
        with open(data, 'wb') as file:
            file.write(message)
        signature = subprocess.run(['openssl', 'pkeyutl', '-sign', '-rawin', '-inkey', self.path, '-in', data], check=True,
                                   capture_output=True).stdout
        os.unlink(data)
        return signature

    def verify(self, message, signature):
        data = self.path + f'.{time.monotonic_ns()}'
        for suffix, content in ('.m', message), ('.s', signature):
            with open(data + suffix, 'wb') as file:
                file.write(content)
        r = subprocess.run(['openssl', 'pkeyutl', '-verify', '-rawin', '-inkey', self.path, '-in', data + '.m', '-sigfile', data + '.s'],
                           capture_output=True).returncode
        os.unlink(data + '.m')
        os.unlink(data + '.s')
        return r == 0

    def line(self, text):
        return f'{DASH} {self.name} {b64(self.id + self.sign(text.encode()))}\n'

    def cosigned(self, text, line):
        """The time of a cosignature line, or None where it is none of this key over TEXT."""
        words = line.rstrip('\n').split(' ')
        if len(words) != 3 or words[0] != DASH or words[1] != self.name:
            return None
        data = base64.b64decode(words[2], validate=True)
        if len(data) != 76 or data[:4] != self.id:
            return None
        when = struct.unpack('>Q', data[4:12])[0]
        return when if self.verify(f'cosignature/v1\ntime {when}\n{text}'.encode(), data[12:]) else None


class Log:
    def __init__(self, key, leaves=()):
        self.key, self.leaves = key, list(leaves)

    def grow(self, n, what=''):
        self.leaves += [f'{what}{len(self.leaves) + i}'.encode() for i in range(n)]
        return self

    def fork(self):
        return Log(self.key, self.leaves)

    def text(self, size=None, origin=None):
        leaves = self.leaves if size is None else self.leaves[:size]
        return f'{origin or self.key.name}\n{len(leaves)}\n{b64(root(leaves))}\n'

    def note(self, size=None, more=''):
        text = self.text(size)
        return f'{text}\n{self.key.line(text)}{more}'

    def request(self, old, size=None, note=None, proof=None):
        """The body of add-checkpoint."""
        leaves = self.leaves if size is None else self.leaves[:size]
        if proof is None:
            proof = consistency(old, leaves) if 0 < old <= len(leaves) else []
        return f'old {old}\n' + ''.join(b64(h) + '\n' for h in proof) + '\n' + (note or self.note(size))


# ---- the witness ----

class Witness:
    """The program under test, in a folder of its own."""

    def __init__(self, program, folder, name, logs, arguments=()):
        self.program, self.folder, self.arguments = program, folder, list(arguments)
        self.process = None
        os.makedirs(folder, exist_ok=True)
        self.key_path = folder + '/witness.pem'
        if not os.path.exists(self.key_path):
            subprocess.run([program, '--make-key', self.key_path], check=True, capture_output=True)
        self.key = Key(self.key_path, name, 4)
        with open(folder + '/witness.conf', 'w', encoding='utf-8') as file:
            file.write(f'# a witness\nname {name}\nkey {self.key_path}\nstate {folder}\nlisten 127.0.0.1:0\n')
            file.writelines(f'log {log.vkey} https://log.example/\n' for log in logs)

    def command(self, *more):
        return [self.program, '--config', self.folder + '/witness.conf', *self.arguments, *more]

    def start(self, **how):
        """Until it is ready, which it tells with its port."""
        self.process = subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True, **how)
        for line in self.process.stderr:
            if ' Ready: ' in line:
                self.port = int(line.split()[-1])
                return self
        raise SystemExit(f'the witness ended with {self.process.wait()}')

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def stop(self):
        """Its status, and what it has said since it was ready."""
        self.process.terminate()
        said = self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait(), said

    def refuses_to_start(self, *more):
        """The status and the words of a start that comes to nothing."""
        done = subprocess.run(self.command(*more), capture_output=True, text=True, timeout=20)
        return done.returncode, done.stderr

    def connect(self):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=20)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def post(self, body, path='/add-checkpoint', method='POST', connection=None):
        """Status, body and type."""
        own = connection or self.connect()
        own.request(method, path, body.encode() if isinstance(body, str) else body)
        answer = own.getresponse()
        result = answer.status, answer.read().decode(), answer.getheader('Content-Type')
        if not connection:
            own.close()
        return result


class Tap:
    """Sentences, each once, as TAP."""

    def __init__(self):
        self.n = 0
        self.failed = 0

    def holds(self, condition, sentence, *found):
        self.n += 1
        self.failed += not condition
        print(('ok' if condition else 'not ok'), self.n, '-', sentence, flush=True)
        if not condition and found:
            print('#', *found, flush=True)

    def done(self):
        print(f'1..{self.n}')
        raise SystemExit(self.failed > 0)
