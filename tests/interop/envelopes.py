# SPDX-License-Identifier: Apache-2.0
"""Envelopes, keys and trees, for verify.py: RFC 4648, 8259, 8410, 6962 and 9162, DSSE 1.0.2, and C2SP's signed-note, tlog-policy, tlog-checkpoint,
tlog-cosignature and tlog-proof."""
import base64
import errno
import hashlib
import json
import math
import os
import pathlib
import re
from datetime import datetime, timezone

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MEMBERS = ("payload", "payloadType", "signatures", "keyid", "sig", "dsseEnvelope")
OURS = "urn:assay:attestation:"


class Refused(ValueError):
    """What is there contradicts itself, its signature or the log: nobody should act on it."""


class Unknown(ValueError):
    """What is there may be right; it cannot be told."""


# ---- bytes ----


def read_small(path, most=1 << 20):
    """What is no log has its bounds, whoever wrote it."""
    with pathlib.Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def decode64(text):
    """Base64 with either alphabet (DSSE lets signers choose), padded, and written in the one way in which these bytes are."""
    standard = text.replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(standard, validate=True)
    except ValueError:
        raise Refused("that is no base64") from None
    if base64.b64encode(data).decode() != standard:
        raise Refused("the base64 has bits that say nothing")
    return data


def parse_json(data):
    """JSON of which two parsers read the same: UTF-8, no member twice, no number that is none."""
    def members(pairs):
        if len(dict(pairs)) < len(pairs):
            raise Refused("a member stands twice")
        return dict(pairs)

    def integer(text):
        if len(text) > 20 or not -2 ** 63 <= int(text) < 2 ** 63:
            raise Refused("that is no number of 64 bits")
        return int(text)

    def number(text):
        if not math.isfinite(float(text)):
            raise Refused(f"{text} is no number")
        return float(text)

    try:
        if re.search(rb"(?<!\\)(\\\\)*\\u0000", data):
            raise Refused("a text ends within itself for readers in C")
        value = json.loads(data.decode(), object_pairs_hook=members, parse_float=number, parse_int=integer, parse_constant=number)
        json.dumps(value, ensure_ascii=False).encode()  # which half of a surrogate pair cannot be
        return value
    except Refused:
        raise
    except (ValueError, RecursionError) as wrong:
        raise Refused(f"that is no JSON: {wrong}") from None


# ---- keys ----


def spki(key):
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def fingerprint(key):
    """The key ID of a record key: what OpenSSH calls the key's fingerprint."""
    line = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return "SHA256:" + base64.b64encode(sha256(base64.b64decode(line.split()[1]))).decode().rstrip("=")


def key_details(key):
    return "PKIX_ED25519" if isinstance(key, ed25519.Ed25519PublicKey) else "PKIX_ECDSA_P256_SHA_256"


def signature_fits(key, signature, message):
    try:
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
        else:
            key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


class NoteKey:
    """A vkey of c2sp.org/signed-note: 1 signs notes (logs), 4 cosigns checkpoints with the time (witnesses); others count for nothing."""

    def __init__(self, vkey):
        name, key_id, material = vkey.split("+", 2)
        data = base64.b64decode(material, validate=True)
        self.name, self.id, self.type, self.key = name, bytes.fromhex(key_id), data[0], None
        if self.type in (1, 4):
            self.key = ed25519.Ed25519PublicKey.from_public_bytes(data[1:])
            if sha256(name.encode(), b"\n", data)[:4] != self.id:
                raise Unknown(f"{vkey} has the ID of another key")

    def time_of(self, signature, text):
        """When it signed TEXT (0 for a key that tells no time); Refused where it did not."""
        if self.type == 1:
            time, message = 0, text
        else:
            time, signature = int.from_bytes(signature[:8], "big"), signature[8:]
            message = b"cosignature/v1\ntime %d\n%s" % (time, text)
        if not signature_fits(self.key, signature, message) or self.type == 4 and time == 0:
            raise Refused(f"the signature of {self.name} does not fit")
        return time


class Keyring:
    """PEM blocks of record keys, which may sign anything, and lines (KEYRINGS in assay-records(7)). A line of an unknown word is a remark."""

    def __init__(self, text):
        self.records, self.bounds, self.first = {}, {}, {}
        self.logs, self.members, self.quorum = [], {}, None
        pem = r"-----BEGIN PUBLIC KEY-----\n.*?-----END PUBLIC KEY-----\n"
        for block in re.findall(pem, text, re.S):
            key = serialization.load_pem_public_key(block.encode())
            self.records[fingerprint(key)] = key
        for line in re.sub(pem, "", text, flags=re.S).splitlines():
            try:
                self.add(*line.split())
            except (TypeError, LookupError) as wrong:
                raise Unknown(f"the keyring has a line that is not as it must be: {line} ({wrong})") from None

    def add(self, word="", name="", *rest):
        if word == "log":
            self.logs.append(NoteKey(name))
        elif word == "witness":
            self.members[name] = NoteKey(rest[0])
        elif word == "group":
            k = {"all": len(rest) - 1, "any": 1}.get(rest[0]) or int(rest[0])
            self.members[name] = (k, [self.members[member] for member in rest[1:]])
        elif word == "quorum" and (name == "none" or name.isdigit()):
            self.quorum = (int(name) if name.isdigit() else 0, [key for key in self.members.values() if isinstance(key, NoteKey)])
        elif word == "quorum":
            self.quorum = self.members[name]
        elif word == "record":
            key = serialization.load_der_public_key(base64.b64decode(name, validate=True))
            producer, origin, since, until = (*rest[:4], *("0", "9" * 16)[len(rest[:4]) - 2:])
            self.records[fingerprint(key)] = key
            self.bounds[fingerprint(key)] = producer, origin, int(since), int(until)
        elif word == "min":
            self.first[name] = int(rest[0])
        elif word == "expires":
            if datetime.fromisoformat(name) < datetime.now(timezone.utc):
                raise Unknown("the keyring has expired")

    def check_bounds(self, record):
        """A key that is bound signs for its producer, in its log, the indices that it may."""
        producer, origin, since, until = self.bounds.get(fingerprint(record.key), (None, None, 0, record.index))
        log = record.predicate["log"]
        if producer is not None and (producer, origin) != (record.predicate["producer"]["id"], log["origin"]) or not since <= record.index <= until:
            raise Refused("its key may not sign that, by the keyring")

    def note_keys(self):
        return self.logs + [key for key in self.members.values() if isinstance(key, NoteKey)]


def has_quorum(rule, signers):
    if isinstance(rule, NoteKey):
        return rule in signers
    return rule is None or sum(has_quorum(member, signers) for member in rule[1]) >= rule[0]


class Checkpoint:
    """c2sp.org/tlog-checkpoint, signed by a log of the keyring and perhaps by witnesses (tlog-cosignature)."""

    def __init__(self, note, keyring):
        named = note.partition(b"\n")[0].decode(errors="replace")
        if named not in [key.name for key in keyring.logs]:
            raise Unknown("the checkpoint is of no log that the keyring names, or none")
        text, blank, lines = note.rpartition(b"\n\n")
        text += b"\n"
        head = text.decode().split("\n")
        if not blank or len(head) < 4 or not re.fullmatch("0|[1-9][0-9]*", head[1]):
            raise Refused("that is no checkpoint")
        self.origin, self.size, self.root = head[0], int(head[1]), decode64(head[2])
        self.signers = {}
        for line in lines.decode().splitlines():
            dash, name, data = line.split(" ")
            data = decode64(data)
            for key in keyring.note_keys():
                if dash == "\u2014" and (key.name, key.id) == (name, data[:4]) and key.key:
                    self.signers[key] = key.time_of(data[4:], text)
        logs = [key for key in self.signers if key in keyring.logs and key.name == self.origin]
        if not logs:
            raise Refused(f"no key that the keyring has of {self.origin} has signed its checkpoint")
        self.witnesses = {key.name: time for key, time in self.signers.items() if key.type == 4}
        self.is_witnessed = has_quorum(keyring.quorum, self.signers)


# ---- envelopes ----


class Record:
    """One envelope: opened, its signature and schema checked. Its ID is the SHA-256 of what is signed."""

    def __init__(self, line, keyring, schemas):
        envelope = parse_json(line)
        if not isinstance(envelope, dict) or not isinstance(envelope.get("signatures"), list):
            raise Refused("that is no DSSE envelope")
        for name in (*envelope, *(name for signature in envelope["signatures"] for name in signature)):
            if name not in MEMBERS and (not name.isascii() or name.replace("_", "").lower() in map(str.lower, MEMBERS)):
                raise Refused(f"other readers take the member {name} for another one")
        if "dsseEnvelope" in envelope:
            raise Refused("it is an envelope and a bundle")
        if envelope.get("payloadType") != PAYLOAD_TYPE or len(envelope["signatures"]) != 1:
            raise Refused("that is no record: another payload type, or not one signature")
        payload, signature = decode64(envelope["payload"]), decode64(envelope["signatures"][0]["sig"])
        pae = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
        self.id = sha256(pae)
        hint = envelope["signatures"][0].get("keyid")
        # The hint is not signed, so it decides nothing but which key is tried first.
        keys = sorted(keyring.records, key=lambda name: name != hint)
        self.key = next((keyring.records[name] for name in keys if signature_fits(keyring.records[name], signature, pae)), None)
        if self.key is None and hint in keyring.records:
            raise Refused("the signature does not fit")
        if self.key is None:
            raise Unknown("no key of the keyring has signed it")
        self.spki = spki(self.key)
        self.leaf = sha256(b"\0", leaf_data(self.id, signature, key_details(self.key), self.spki))
        self.statement = parse_json(payload)
        self.type = self.statement.get("predicateType") if isinstance(self.statement, dict) else None
        if self.type not in schemas:
            raise Refused(f"a record of a type that is not known here, {self.type}")
        wrong = next(schemas[self.type].iter_errors(self.statement), None)
        if wrong:
            raise Refused(f"it does not fit its schema: {'.'.join(map(str, wrong.absolute_path))}: {wrong.message[:100]}")
        self.predicate = self.statement["predicate"]
        self.subject = self.statement["subject"][0]
        self.index = self.predicate["log"]["index"]
        if len(self.predicate["log"]["origin"].encode()) >= 128:
            raise Refused("its origin is too long")
        if self.predicate.get("configuration") and len(self.predicate["configuration"][0]["name"].encode()) >= 64:
            raise Refused("the name of its plan is too long")
        keyring.check_bounds(self)

    def result(self):
        """What a verdict says; None of a record that is none, whatever it says."""
        return self.predicate.get("result") if self.kind() in ("health", "health-summary") else None

    def kind(self):
        return self.type[len(OURS):].rpartition(":")[0]


def leaf_data(record_id, signature, details, public):
    """What the log has of a record: a hashedrekord 0.0.2 of Rekor v2, its members in the order of RFC 8785."""
    text = [base64.b64encode(part).decode() for part in (record_id, signature, public)]
    return json.dumps({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": {
        "data": {"algorithm": "SHA2_256", "digest": text[0]},
        "signature": {"content": text[1], "verifier": {"keyDetails": details, "publicKey": {"rawBytes": text[2]}}}}}},
        separators=(",", ":")).encode()


# ---- the tree ----


def node(left, right):
    return sha256(b"\1", left, right)


class Tree:
    """RFC 6962, 2.1, from the left: one hash for each set bit of the number of leaves so far."""

    def __init__(self):
        self.size, self.stack = 0, []

    def append(self, leaf):
        count, self.size = self.size, self.size + 1
        while count & 1:
            leaf, count = node(self.stack.pop(), leaf), count >> 1
        self.stack.append(leaf)

    def root(self):
        if not self.stack:
            return sha256()
        *rest, root = self.stack
        while rest:
            root = node(rest.pop(), root)
        return root


def root_of(leaves):
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root()


def root_of_inclusion(index, size, leaf, path):
    """RFC 9162, 2.1.3.2: the root that LEAF and its PATH make."""
    if index >= size:
        raise Refused("the proof is of a record beyond its log")
    first, last, root = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise Refused("the proof is too long")
        if first & 1 or first == last:
            root = node(sibling, root)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            root = node(root, sibling)
        first, last = first >> 1, last >> 1
    if last:
        raise Refused("the proof is too short")
    return root


def check_proof(text, record, keyring):
    """c2sp.org/tlog-proof: that RECORD is in its log, at the index that it says."""
    head, _, note = text.partition(b"\n\n")
    lines = head.decode().split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1":
        raise Refused("that is no tlog-proof")
    lines = lines[2:] if lines[1].startswith("extra ") else lines[1:]
    if lines[0] != f"index {record.index}":
        raise Refused(f"the proof is of another record: {lines[0]}, and this one is {record.index}")
    if record.predicate["log"]["origin"] not in [key.name for key in keyring.logs]:
        raise Unknown("the keyring does not know the log")
    try:
        checkpoint = Checkpoint(note, keyring)
    except Unknown as wrong:
        raise Refused(f"the proof: {wrong}") from None
    if checkpoint.origin != record.predicate["log"]["origin"]:
        raise Refused("the proof is of another log")
    if root_of_inclusion(record.index, checkpoint.size, record.leaf, [decode64(line) for line in lines[1:]]) != checkpoint.root:
        raise Refused("the proof does not lead to the root that the log has signed")
    if not checkpoint.is_witnessed:
        raise Unknown("too few witnesses have seen the proof's checkpoint")
    return checkpoint
