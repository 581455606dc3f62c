#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# python-refuses-what-assayctl-refuses.py BUILD MAKE-EXPORTS EXPORT-RECORDS ALGORITHM: verify.py, which shares nothing with assay but the manual and the
# schemas, and assayctl judge the same records, proofs and logs, as they are and changed; also by who has the key of records. Both must come to the
# status that stands beside each here.
import base64
import contextlib
import copy
import functools
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
import verdicts
import verify  # noqa: E402  says what is missing, and skips
import envelopes as envelopes_module
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from envelopes import PAYLOAD_TYPE, Record, fingerprint, root_of, sha256, spki

HOLDS, FAILED, CANNOT_TELL, REFUSED = range(4)
INDEX = 4  # a chip that failed; 5 is sound, 17 the server's record
WITNESS = "witness.example/w1"
SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "daemon/record"
MARK = b'{"pruned":{"index":%d,"sha256":"%s"}}'
count = failures = 0


def b64(data):
    return base64.b64encode(data).decode()


def flip(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class Signer:
    """A private key, as assay keeps it or a new one, and what it signs."""

    def __init__(self, path=None):
        self.key = serialization.load_pem_private_key(path.read_bytes(), None) if path else ed25519.Ed25519PrivateKey.generate()
        self.public = self.key.public_key()
        self.word = b64(spki(self.public))
        self.raw = spki(self.public)[-32:]

    def sign(self, message):
        return self.key.sign(message) if isinstance(self.key, ed25519.Ed25519PrivateKey) else self.key.sign(message, ec.ECDSA(hashes.SHA256()))

    def pem(self):
        return self.public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()

    def envelope(self, statement):
        payload = statement if isinstance(statement, bytes) else json.dumps(statement, separators=(",", ":")).encode()
        pae = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
        signature = {"keyid": fingerprint(self.public), "sig": b64(self.sign(pae))}
        return json.dumps({"payload": b64(payload), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}, separators=(",", ":")).encode()

    def note_id(self, name, kind):
        return sha256(name.encode(), b"\n", bytes([kind]), self.raw)[:4]

    def vkey(self, name, kind):
        return f"{name}+{self.note_id(name, kind).hex()}+{b64(bytes([kind]) + self.raw)}"

    def note_line(self, text, name, kind, time=None):
        message = text if time is None else b"cosignature/v1\ntime %d\n%s" % (time, text)
        stamp = b"" if time is None else time.to_bytes(8, "big")
        return f"\u2014 {name} {b64(self.note_id(name, kind) + stamp + self.sign(message))}\n".encode()


class Bench:
    def __init__(self, work, build, make_exports, export_records, algorithm):
        self.work, self.assayctl = work, [os.path.join(build, "cli/assayctl"), "--no-pager", "--bus", "unix:path=/nowhere"]
        self.folder, self.other = work / "exports", work / "rotated"
        for folder, program in ((self.folder, [make_exports]), (self.other, [export_records])):
            folder.mkdir()
            subprocess.run([*program, folder, algorithm, *(["all"] if program == [export_records] else [])], check=True)
        self.record_key, self.log_key = Signer(self.folder / "record.key"), Signer(self.folder / "log.key")
        self.witness, self.second = Signer(), Signer()
        self.lines = (self.folder / "records.intoto.jsonl").read_bytes().splitlines()
        self.checkpoint = (self.folder / "checkpoint").read_bytes()
        self.log_name = self.checkpoint.split(b"\n")[0].decode()
        log = f"log {self.log_key.vkey(self.log_name, 1)}\n"
        self.keyrings = {"keys": self.record_key.pem(), "log": self.record_key.pem() + log + "quorum none\n",
                         "witness": f"{self.record_key.pem()}{log}witness w1 {self.witness.vkey(WITNESS, 4)}\nquorum w1\n"}
        second, later = self.second.vkey(WITNESS[:-1] + "2", 4), f"w3+00000000+{b64(bytes([6]) + bytes(1312))}"
        two = self.keyrings["witness"].replace("quorum w1\n", f"witness w2 {second}\nwitness w3 {later}\n")
        self.keyrings |= {"both": two + "group both all w1 w2\nquorum both\n", "any": two + "group any any w1 w2\nquorum any\n", "of three": two + "quorum 2\n",
                          "later": two + "quorum w3\n"}
        for name, key, log in (("elsewhere", self.log_key, "elsewhere.example/log"), ("forged", Signer(), self.log_name)):
            self.keyrings[name] = f"{self.record_key.pem()}log {key.vkey(log, 1)}\nquorum none\n"
        for name, text in self.keyrings.items():
            (work / name).write_text(text)
        self.checks = work / "checks.json"
        self.checks.write_bytes(subprocess.run([os.path.join(build, "checks/assay-run"), "--describe", "--json"], capture_output=True, check=True).stdout)

    def put(self, name, data):
        path = self.work / name
        path.write_bytes(data)
        return path

    def ask(self, what, expected, keyring, verb, *arguments, alone=False):
        """ALONE: of verify.py, where assayctl does not look, or not yet."""
        global count, failures
        count += 1
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            ours = verify.main(["--keyring", str(self.work / keyring), "--checks", str(self.checks), *map(str, arguments)])
        answers = [(ours, said.getvalue())]
        if not alone:
            theirs = subprocess.run([*self.assayctl, verb, *map(str, arguments), "--keyring", str(self.work / keyring)], capture_output=True, text=True)
            answers.append((theirs.returncode, theirs.stdout + theirs.stderr))
        if any(status != expected for status, _ in answers):
            failures += 1
            print(f"FAILED: {what}: expected {expected}, verify.py and assayctl say", *(f"{status}\n{text[:300]}" for status, text in answers))

    def record(self, what, expected, data, keyring="keys", proof=None):
        path = self.put("record.json", data)
        self.ask(what, expected, keyring, "verify", path, *(["--proof", self.put("proof", proof)] if proof is not None else []))

    def log(self, what, expected, lines, checkpoint=None, keyring="log"):
        path = self.put("records.jsonl", b"".join(line + b"\n" for line in lines))
        self.ask(what, expected, keyring, "audit", path, "--checkpoint", self.put("note", self.checkpoint if checkpoint is None else checkpoint))

    def sign_over(self, lines, size=None):
        """What the log signs of its first SIZE records, or of all."""
        leaves = [open_record(line, verify.Keyring(self.keyrings["keys"]), verify.load_schemas(SCHEMAS)).leaf for line in lines[:size]]
        text = f"{self.log_name}\n{len(leaves)}\n{b64(root_of(leaves))}\n".encode()
        return text + b"\n" + self.log_key.note_line(text, self.log_name, 1)

    def tiles(self, what, expected, change, alone=False):
        folder = self.work / "tiles"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "tiles", folder)
        change(folder)
        self.ask(what, expected, "log", "audit", folder, alone=alone)


opened = {}


# Most records of a changed log are as they were: those are opened once.
def open_record(line, keyring, schemas):
    key = (line, *keyring.records, *keyring.bounds.values())
    if key not in opened:
        opened[key] = Record(line, keyring, schemas)
    return opened[key]


verify.Record = open_record
verify.load_schemas = functools.cache(verify.load_schemas)


def statement_of(line):
    return json.loads(base64.b64decode(json.loads(line)["payload"]))


def members(line, **changes):
    return json.dumps({**json.loads(line), **changes}).encode()


# ---- one envelope ----


def envelopes(bench):
    line, sound = bench.lines[INDEX], bench.lines[5]
    envelope = json.loads(line)
    payload, (signature,) = base64.b64decode(envelope["payload"]), envelope["signatures"]
    raw = base64.b64decode(signature["sig"])
    bench.record("a chip that failed", FAILED, line)
    bench.record("one that passed", HOLDS, sound)
    bench.record("the start of a run", CANNOT_TELL, bench.lines[0])
    for bit in range(0, len(raw) * 8, 23):
        bench.record(f"bit {bit} of the signature", REFUSED, members(line, signatures=[{**signature, "sig": b64(flip(raw, bit))}]))
    for bit in range(0, len(payload) * 8, 997):
        bench.record(f"bit {bit} of the payload", REFUSED, members(line, payload=b64(flip(payload, bit))))
    url = b64(payload).replace("+", "-").replace("/", "_")
    hidden = signature["sig"].rstrip("=")
    hidden = hidden[:-1] + chr(ord(hidden[-1]) + 1) + signature["sig"][len(hidden):]  # of 64 bytes four bits are left, of what openssl signs none or some
    for what, expected, changed in (
            ("the other alphabet", FAILED, members(line, payload=url)), ("members in another order", FAILED, json.dumps(dict(reversed(envelope.items()))).encode()),
            ("members that nobody knows", FAILED, members(line, more=1)), ("no hint of a key", FAILED, members(line, signatures=[{"sig": signature["sig"]}])),
            ("two signatures", REFUSED, members(line, signatures=[signature] * 2)), ("no signature", REFUSED, members(line, signatures=[])),
            ("an envelope that is a bundle of another record", REFUSED, members(line, dsseEnvelope=json.loads(sound), mediaType="application/vnd.dev.sigstore.bundle.v0.3+json")),
            ("a note that is called like a bundle's envelope", FAILED, members(line, note={"dsseEnvelope": {}})),
            ("another payload type", REFUSED, members(line, payloadType="application/json")), ("the payload of its neighbour", REFUSED, members(line, payload=json.loads(sound)["payload"])),
            ("a payload that stands twice", REFUSED, line[:-1] + b',"payload":"' + envelope["payload"].encode() + b'"}'),
            ("base64 with line breaks", REFUSED, members(line, payload=b64(payload)[:76] + "\n" + b64(payload)[76:])),
            ("base64 with more padding", REFUSED, members(line, signatures=[{**signature, "sig": signature["sig"] + "="}])),
            ("base64 with bits that say nothing", REFUSED, members(line, signatures=[{**signature, "sig": hidden}])), ("half of it", REFUSED, line[:len(line) // 2]),
            ("a payload that is a number", REFUSED, members(line, payload=5)), ("no signatures", REFUSED, members(line, signatures=None)), ("a list", REFUSED, b"[" + line + b"]")):
        bench.record(what, expected, changed)
    for what, old, new in (("a member twice", b'"index":4', b'"index":4,"index":4'), ("a number that is none", b'[512,"', b'[NaN,"'),
                           ("a number beyond all numbers", b'[512,"', b'[5e999,"'), ("half of UTF-8", b"stuck", b"\xc3stuck"),
                           ("text behind it", b"]}}", b"]}}x")):
        assert old in payload
        bench.record(f"{what}, well signed", REFUSED, bench.record_key.envelope(payload.replace(old, new)))
    # Go's reader would take the last of them for the payload, whatever its case; others know names with a '_', and letters that fold into ASCII.
    twins = {"Payload": json.loads(sound)["payload"], "PAYLOADTYPE": PAYLOAD_TYPE, "Signatures": json.loads(sound)["signatures"], "\u017fignatures": [], "payload_type": "",
             "dsse_envelope": {}, "DSSEenvelope": {}}
    for name, value in twins.items():
        bench.record(f"an envelope with {name}, too", REFUSED, members(line, **{name: value}))
    for name in ("Sig", "keyID", "\u212aeyid", "key_id"):
        bench.record(f"a signature with {name}, too", REFUSED, members(line, signatures=[{**signature, name: json.loads(sound)["signatures"][0]["sig"]}]))
    bench.put("stranger", Signer().pem().encode())
    bench.record("by a key of somebody else", CANNOT_TELL, line, "stranger")


# ---- contradictions, signed with the station's own key ----


def drop(key):
    return lambda value: value.pop(key)


def put(**members):
    return lambda value: value.update(members)


# What it is, in which record, where, what is done there, and what it comes to.
def identity_of(kind, uri):
    product, serial = uri.split("-", 2)[1:]
    return sha256(f"assay-identity/v1\nkind: {kind}\nmanufacturer: Amazon\nproduct: {product}\nserial: {serial}\n".encode()).hex()


def promised_at(part):
    """A count that is promised, and measured at PART."""
    return lambda predicate: (predicate["steps"]["sparsity"].setdefault("measured", {}).update({"/more": [5, {"at": [part]}]}), predicate.update(coverage={"more": [5, 5]}))


def by_slot(server, slot):
    """A part without a serial: the document of the slot, under a URI that spells it."""
    lines = [f"slot: {slot}", "origin: fleet.example/stations/st-017"] if server == "unknown" else [f"serial: {server}", f"slot: {slot}"]
    digest = sha256("\n".join(["assay-identity/v1", "kind: slot", "manufacturer: Amazon", "product: Trn2", *lines, ""]).encode()).hex()
    return put(uri=f"urn:dev:ops:32473-Trn2-{server}_{slot.replace('/', '_')}", digest={"sha256": digest})


def at(path):
    return {"name": path, "type": "UNSPECIFIED", "location": path}


CONTRADICTIONS = [
    ("nothing changed", INDEX, "", put(), FAILED),
    ("a failed chip called PASSED", INDEX, "", put(result="PASSED"), REFUSED),
    ("a failed chip called INCONCLUSIVE", INDEX, "", put(result="INCONCLUSIVE"), REFUSED),
    ("a sound chip called FAILED", 5, "", put(result="FAILED"), REFUSED),
    ("a failed step called PASSED", INDEX, "steps.1", put(result="PASSED"), REFUSED),
    ("a failed step that was skipped", INDEX, "steps.1", put(status="SKIP", result="INCONCLUSIVE", reason="occupied"), REFUSED),
    ("a finding that is gone from a failed step", INDEX, "steps.1", drop("diagnoses"), FAILED),
    ("a passed step with a finding", 5, "steps.1", put(diagnoses=[{"verdict": "systolic-pe", "type": "FAIL"}]), REFUSED),
    ("a value beyond its limit called PASSED", INDEX, "steps.1.measurements.0", put(result="PASSED"), REFUSED),
    ("another value", 5, "steps.0.measurements.0", put(value=1), REFUSED),
    ("a value within its limit called FAILED", 5, "steps.0.measurements.0", put(result="FAILED"), REFUSED),
    ("a limit that is gone", 5, "steps.1.measurements.0", drop("limits"), REFUSED),
    ("a higher limit", INDEX, "steps.1.measurements.0.limits.0", put(value=512), REFUSED),
    ("a value that is no number", INDEX, "steps.1.measurements.0", put(value="512"), REFUSED),
    ("a step met more often than looked for", INDEX, "steps.1.diagnoses.0", put(reproduced=4), REFUSED),
    ("a finding of which nobody says how often it was looked for", INDEX, "steps.1.diagnoses.0", drop("runs"), REFUSED),
    ("a chip that is nowhere", 5, "location", put(path="us0-2/chip4x"), REFUSED),
    ("a step that is named twice", 5, "steps.1", put(name="hbm"), REFUSED),
    ("two steps of one number", 5, "steps.1", put(id="0"), REFUSED),
    ("a promise that stands twice", 5, "", lambda predicate: predicate["coverage"].append(predicate["coverage"][0]), REFUSED),
    ("a step that the lists leave out", 5, "", put(passedTests=["hbm", "systolic", "neuronlink", "efa", "rounding"]), REFUSED),
    ("a test that no step made", 5, "", put(passedTests=["hbm", "systolic", "neuronlink", "efa", "rounding", "sparsity", "more"]), REFUSED),
    ("a step that never ended", 5, "steps.0", put(status="ERROR"), REFUSED),
    ("a step that has no result", 5, "steps.0", put(result="INCONCLUSIVE"), REFUSED),
    ("no step at all", 5, "", put(steps=[], passedTests=[], coverage=[]), REFUSED),
    ("more covered than counted", 5, "coverage.0", put(reached=103079215105), REFUSED),
    ("a promise that was not kept", 5, "coverage.0", put(promised=103079215105), REFUSED),
    ("another server's digest", 5, "host.digest", put(sha256="0" * 64), REFUSED),
    ("another digest of a chip that it names", 17, "components.4.digest", put(sha256="0" * 64), REFUSED),
    ("a URI of ours that names no part", 5, "...subject.0", put(uri="urn:dev:ops:32473-SERIAL"), REFUSED),
    ("a URI of ours in other letters", 5, "...subject.0", put(uri="URN:DEV:OPS:32473-SERIAL"), REFUSED),
    ("a chip that is a server by its identity", 5, "...subject.0", lambda subject: subject["digest"].update(sha256=identity_of("server", subject["uri"])), REFUSED),
    ("a chip by its own slot", 5, "...subject.0", by_slot("SRV00017", "chip4"), HOLDS),
    ("a chip by its own slot, where nobody knows its server", 5, "...subject.0", by_slot("unknown", "us0-2/chip4"), HOLDS),
    ("a chip by the slot of another one", 5, "...subject.0", by_slot("SRV00017", "chip9"), REFUSED),
    ("a chip by the slot of another server", 5, "...subject.0", by_slot("unknown", "us0-1/chip4"), REFUSED),
    ("a chip by its place, where its server is known", 5, "...subject.0", by_slot("SRV00017", "us0-2/chip4"), REFUSED),
    ("a chip by its slot in a server of another serial", 5, "...subject.0", by_slot("SRV99999", "chip4"), REFUSED),
    ("a component by its slot in a server of another serial", 17, "components.4", by_slot("SRV99999", "chip4"), REFUSED),
    ("chips of two servers, and no place", 17, "", lambda predicate: (predicate.pop("location"), predicate["components"][4]["annotations"].update(slot="us0-7/chip4")), REFUSED),
    ("chips of one server, and no place", 17, "", drop("location"), FAILED),
    ("a component by the slot of another one", 17, "components.4", by_slot("SRV00017", "chip9"), REFUSED),
    ("a component by its own slot", 17, "components.4", by_slot("SRV00017", "chip4"), FAILED),
    ("a run by the slot of another server", 0, "...subject.0", by_slot("unknown", "us0-1"), REFUSED),
    ("a host that names no part", 5, "host", lambda host: (host.update(uri="urn:dev:ops:SRV00017"), host.pop("digest")), REFUSED),
    ("a host by the place of another server", 5, "host", lambda host: (host.update(uri="urn:dev:ops:32473-Trn2-unknown_us0-1"), host.pop("digest")), REFUSED),
    ("a server that is an accelerator by its identity", 17, "...subject.0", lambda subject: subject["digest"].update(sha256=identity_of("accelerator", subject["uri"])), REFUSED),
    ("a name of another kind", 5, "...subject.0", put(uri="https://fleet.example/chips/4"), HOLDS),
    ("regions of no memory", 1, "steps.0.regions", put(partition="sid 3 row 16384/32x"), REFUSED),
    ("regions that lie outside", 1, "steps.0.regions", put(occupied="96"), REFUSED),
    ("regions in another order", 1, "steps.0.regions", put(occupied="40,13"), REFUSED),
    ("regions that stand twice", 1, "steps.0.regions", put(occupied="13-39,39"), REFUSED),
    ("regions that end before they begin", 1, "steps.0.regions", put(occupied="39-13"), REFUSED),
    ("a region that was tested twice", 1, "steps.0.regions.tested.1", put(regions="40-59"), REFUSED),
    ("regions that failed untested in a failed step", 1, "steps.0", lambda step: (step.update(result="FAILED"), step["regions"].update(failed="60")), REFUSED),
    ("regions that failed in a passed step", 1, "steps.0.regions", put(failed="3"), REFUSED),
    ("another version", 5, "...", put(predicateType="urn:assay:attestation:health:v99"), REFUSED),
    ("a member that must be there", 5, "", drop("configuration"), REFUSED),
    ("a member that nobody knows", 5, "", put(more={"some": "thing"}), HOLDS),
    ("the first record following one", 0, "", put(previous={"sha256": "0" * 64}), REFUSED),
    ("a later one following none", 5, "", drop("previous"), REFUSED),
    ("more chips than the server has", 17, "", put(chipCount=15), REFUSED),
    ("servers of a run that are none", 5, "run", put(servers=[""]), REFUSED),
    ("a result without a limit", 5, "steps.0.measurements.0", lambda one: (one.pop("limits"), one.update(result="FAILED")), REFUSED),
    ("an end years before the begin", 5, "run", put(finishedOn="2021-11-21T09:14:09.500Z"), REFUSED),
    ("another chip's digest", 5, "...subject.0.digest", put(sha256="0" * 64), REFUSED),
    ("another chip's name", 5, "...subject.0", put(uri="urn:dev:ops:32473-Trainium2-0123456789abc009"), REFUSED),
    ("a server better than its chips", 17, "", put(result="PASSED"), REFUSED),
    ("a server better than its chips by one", 17, "", put(result="INCONCLUSIVE"), REFUSED),
    ("a failed chip that the server calls sound", 17, "components.3.annotations", put(result="PASSED"), FAILED),
    ("a server with a finding at itself", 17, "", put(diagnoses=[{"verdict": "efa-fabric", "type": "FAIL", "component": at("us0-2")}]), FAILED),
    ("a server with a finding at another one", 17, "", put(diagnoses=[{"verdict": "efa-fabric", "type": "FAIL", "component": at("us0-1")}]), REFUSED),
    ("a server with a value of itself", 17, "", put(measurements=[{"name": "efa_packets_late", "value": 0, "unit": "{packet}", "component": at("us0-2")}]), FAILED),
    ("a server with a value of another one", 17, "", put(measurements=[{"name": "efa_packets_late", "value": 0, "unit": "{packet}", "component": at("us0-1")}]), REFUSED),
    ("a server with a finding of its own", 17, "", put(diagnoses=[{"verdict": "efa-fabric", "type": "FAIL"}]), FAILED),
    ("a chip that stands twice", 17, "components.1.annotations", put(slot="us0-2/chip0"), REFUSED),
    ("a chip of another server", 17, "components.1.annotations", put(slot="us0-1/chip1"), REFUSED),
    ("a slot that is no chip's", 17, "components.1.annotations", put(slot="us0-2/nic1"), REFUSED),
    ("a chip of a later record", 17, "components.1.annotations", put(logIndex=18), REFUSED),
    ("a chip of another record just before", 17, "components.15.annotations", put(recordSha256="0" * 64), REFUSED),
    ("a start of a run that is called PASSED", 0, "", put(result="PASSED"), CANNOT_TELL),
    ("a chip of another number than any has", 5, "location", put(path="us0-2/chip16"), REFUSED),
    ("a chip with a zero before its number", 17, "components.0.annotations", put(slot="us0-2/chip00"), REFUSED),
    ("a chip with a number of 33 bits", 17, "components.0.annotations", put(slot="us0-2/chip4294967297"), REFUSED),
    ("regions that follow on one another, and are no range", 1, "steps.0.regions", put(occupied="13,14"), REFUSED),
    ("regions with a zero before their number", 1, "steps.0.regions", put(occupied="013"), REFUSED),
    ("a region that comes next, and is none", 1, "steps.0.regions", put(position=96), REFUSED),
    ("a step that failed with a reason why it was not tested", INDEX, "steps.1", put(reason="budget"), REFUSED),
    ("a step of version 1 that ended before it began", 5, "steps.0", put(ms=[2, 1]), REFUSED),
    ("a value that only integers have", 5, "steps.0.measurements.0", lambda one: (one.pop("limits"), one.pop("result"), one.update(value=2 ** 53 + 1)), REFUSED),
    ("a value of more than 64 bits", 5, "steps.0.measurements.0", lambda one: (one.pop("limits"), one.pop("result"), one.update(value=2 ** 64)), REFUSED),
    ("a part of a chip in the place of a chip", 5, "location", put(path="us0-2/chip4/core5"), REFUSED),
    ("a slot below a chip", 17, "components.4.annotations", put(slot="us0-2/chip3/core5"), REFUSED),
    ("a run of what is no place", 0, "location", put(path="0x1b7"), REFUSED),
    ("a run of a chip", 0, "location", put(path="us0-2/chip4"), REFUSED),
    ("a run that began when there was no clock", 0, "run", put(startedOn="0026-11-21T09:14:02.000Z"), REFUSED),
    ("an index with a point", 5, "log", put(index=5.0), REFUSED),
    ("a plan of a name that no plan has", 0, "configuration.0", put(name="p" * 64), REFUSED),
    ("a seed with a point", 0, "run", put(seed=0.0), REFUSED),
    ("a text with a zero byte", 5, "", put(more="a\0b"), REFUSED),
    ("a text that spells a zero byte", 5, "", put(more="a\\u0000b"), HOLDS),
    ("half of a surrogate pair", 5, "", put(more="\ud83d"), REFUSED),
    ("an origin that no log has", 5, "log", put(origin="x" * 128), REFUSED),
    ("a step of version 1 that took a word", 5, "steps.0", put(ms="WARNED"), REFUSED),
    ("a step of version 1 that took a fraction", 5, "steps.0", put(ms=[0, 1.0]), REFUSED),
    ("a step of version 1 that began before its run", 5, "steps.0", put(ms=[-1, 1]), REFUSED),
    ("a leap second", 5, "run", put(startedOn="2026-11-21T09:13:60.000Z"), HOLDS),
]


# The same of what version 2 has in another form.
def compared(count):
    """A step of the check sparsity, which passed after it had compared COUNT."""
    def change(step):
        step.update(check="sparsity", counted={"selections_compared": count})
        step["measured"]["mismatched_selections"] = [0, "<=", 0]
    return change


CONTRADICTIONS_V2 = [
    ("nothing changed in version 2", INDEX, "", put(), FAILED),
    ("a failed chip called PASSED", INDEX, "", put(result="PASSED"), REFUSED),
    ("a sound chip called FAILED", 5, "", put(result="FAILED"), REFUSED),
    ("a chip that is nowhere", 5, "", drop("location"), REFUSED),
    ("a chip of which the place is not told", 5, "location", drop("path"), REFUSED),
    ("a chip of which the server is not told", 5, "", drop("host"), REFUSED),
    ("a host by its place", 5, "host", put(uri="urn:dev:ops:32473-Trn2-unknown_us0-2"), HOLDS),
    ("a host by the place of another server", 5, "host", put(uri="urn:dev:ops:32473-Trn2-unknown_us0-1"), REFUSED),
    ("what is left open is no list", INDEX, "steps.systolic", put(open="hbm"), REFUSED),
    ("a sound chip with a status", 5, "", put(status="COMPLETE"), REFUSED),
    ("a failed step called PASSED", INDEX, "steps.systolic", put(result="PASSED"), REFUSED),
    ("a failed step that was skipped", INDEX, "steps.systolic", put(status="SKIP", result="INCONCLUSIVE", reason="occupied"), REFUSED),
    ("another value", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [1, "<=", 0]}), REFUSED),
    ("another value of one of two parts", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [[0, 1], "<=", 0, {"at": ["hbm0-1"]}]}), REFUSED),
    ("values of parts within their limit", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [[0, 1], "<=", 1, {"at": ["hbm0-1"]}]}), HOLDS),
    ("one entry of two beyond its limit", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": {"each": [0, [2, "<=", 1]]}}), REFUSED),
    ("more values than parts", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [[0, 0, 0], "<=", 0, {"at": ["hbm0-1"]}]}), REFUSED),
    ("a range that goes back", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [0, "<=", 0, {"at": ["hbm3-1"]}]}), REFUSED),
    ("a range beyond all parts", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [0, "<=", 0, {"at": ["hbm0-999999"]}]}), REFUSED),
    ("a relation that is none", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": [0, "<", 1]}), REFUSED),
    ("a value that is text", 5, "steps.hbm.measured", put(**{"/mismatched_outputs": "0"}), REFUSED),
    ("a promise that was not kept", 5, "steps.sparsity.measured", put(**{"/hbm-bytes-tested": [1, "of", 2]}), REFUSED),
    ("a promise that is told twice", 5, "", put(coverage={"hbm-bytes-tested": [1, 1]}), REFUSED),
    ("less covered than counted, and called so", 5, "", put(coverage={"hbm-bytes-tested": [1, 103079215104]}, result="INCONCLUSIVE"), CANNOT_TELL),
    ("more covered than counted", 5, "", put(coverage={"more": [2, 1]}), REFUSED),
    ("a limit that only integers have", 5, "steps.hbm.measured", put(more=[2 ** 53, "==", 2 ** 53 + 1]), REFUSED),
    ("an earlier record", 5, "", put(earlier=4, standing=0), HOLDS),
    ("an earlier record that is itself", 5, "", put(earlier=5), REFUSED),
    ("a failure that comes later", 5, "", put(earlier=4, standing=6), REFUSED),
    ("a failure behind the newest record before it", 5, "", put(earlier=3, standing=4), REFUSED),
    ("a failure, of a place where another chip was seen last", 5, "", put(standing=4), HOLDS),
    ("an earlier record of no number", 5, "", put(earlier="4"), REFUSED),
    ("a step that ended before it began", 5, "steps.hbm", put(ms=[2, 1]), REFUSED),
    ("a step that outlived its run", 5, "steps.hbm", put(ms=[2, 10 ** 9]), REFUSED),
    ("a step that never ended", 5, "steps.hbm", put(status="ERROR"), REFUSED),
    ("a step that has no result", 5, "steps.hbm", drop("result"), REFUSED),
    ("no step at all", 5, "", put(steps={}), REFUSED),
    ("a step without a name", 5, "steps", put(**{"": {"result": "PASSED"}}), REFUSED),
    ("regions that failed in a passed step", 1, "steps.hbm.regions", put(failed="3"), REFUSED),
    ("a member that must be there", 5, "", drop("configuration"), REFUSED),
    ("a member that nobody knows", 5, "", put(more={"some": "thing"}), HOLDS),
    ("more regions than the memory is cut into", 1, "steps.hbm.regions", put(total=97), REFUSED),
    ("fewer regions than the memory is cut into", 1, "steps.hbm.regions", put(total=95), REFUSED),
    ("regions that a part of was altered, in a passed step", 1, "steps.hbm.regions", put(altered="41"), REFUSED),
    ("regions that are suspicious, in a passed step", 1, "steps.hbm.regions", put(suspicious="41"), REFUSED),
    ("no region ever tested, in a passed step", 1, "steps.hbm.regions", put(tested=[]), REFUSED),
    ("fewer regions counted than there are", 1, "steps.hbm", put(measured={"/hbm_regions": 32}), REFUSED),
    ("more regions counted than were tested", 1, "steps.hbm", put(counted={"/hbm_regions_tested": [96, "of", 96]}), REFUSED),
    ("more regions in use counted than are told", 1, "steps.hbm", put(counted={"/hbm_regions_occupied": 28}), REFUSED),
    ("a step that passed and compared one", 5, "steps.sparsity", compared(1), HOLDS),
    ("a step that passed and compared nothing", 5, "steps.sparsity", compared(0), REFUSED),
    ("as many regions counted as are told", 1, "steps.hbm", put(counted={"/hbm_regions": 96, "/hbm_regions_tested": 19, "/hbm_regions_occupied": 27}), HOLDS),
    ("every step left open, and none required", 5, "", lambda predicate: [step.update(result="INCONCLUSIVE", status="ERROR", reason="worker-crashed", required=False)
                                                                          for step in predicate["steps"].values()], REFUSED),
    ("a promise that one of its parts keeps", 5, "", promised_at("hbm0"), REFUSED),
    ("a promise that another chip keeps", 5, "", promised_at("/us0-1/chip3"), REFUSED),
    ("a promise that it keeps itself", 5, "", promised_at("."), HOLDS),
    ("more promises than a chip has", 5, "", put(coverage={f"promise-{n}": [0, 0] for n in range(257)}), REFUSED),
    ("more parts than anything has", 5, "steps.hbm.measured", put(more=[0, {"at": ["hbm0-1022", "hbm0-1022"]}]), REFUSED),
    ("more values than a record has", 5, "steps.hbm.measured", put(more={"each": [[0, {"at": ["hbm0-1022"]}]] * 9}), REFUSED),
    ("a part that has no name", 5, "steps.hbm.measured", put(more=[0, {"at": ["/"]}]), REFUSED),
    ("a part that ends in none", 5, "steps.hbm.measured", put(more=[0, {"at": ["hbm0/"]}]), REFUSED),
    ("a part by its whole path, like a range", 5, "steps.hbm.measured", put(more=[[0, 1], {"at": ["/us0-1", "/us0-2"]}]), HOLDS),
    ("a value that is no number, called PASSED", 5, "steps.hbm", put(errors=[{"symptom": "not-a-number", "message": "hot"}]), REFUSED),
]


def telemetry(result="PASSED", called="PASSED", left_out=(), **measured):
    """A step more, with all that its check measures, but for what is given."""
    values = {"hbm_uncorrected": [[0, 0], "<=", 0, {"at": ["hbm0-1"]}], "hbm_repairable": [0, "<=", 0], "hbm_corrected": [3, "<=", 100],
              "sram_uncorrected": [0, "<=", 0], "sram_corrected": [0, "<=", 10], "temperature": [58.9, "Cel", "<=", 95], "heartbeats": [4, ">=", 1]} | measured
    step = {"result": called, "measured": {name: value for name, value in values.items() if name not in left_out}}
    return lambda predicate: (predicate["steps"].update(telemetry=step), predicate.update(result=result))


def hbm(left_out=(), **measured):
    values = {"bytes_tested": [1024, "By"], "mismatches": [0, "<=", 0], "plants_returned": [720, "==", 720], "samples_wrong": [0, "<=", 0]} | measured
    step = {"check": "hbm", "result": "PASSED", "measured": {name: value for name, value in values.items() if name not in left_out}}
    return lambda predicate: predicate["steps"].update(memory=step)


def step_of(name, **members):
    return lambda predicate: predicate["steps"].update({name: {"result": "PASSED", **members}})


def open_telemetry(status, reason):
    step = {"result": "INCONCLUSIVE", "status": status, "reason": reason, "measured": {"temperature": [99, "Cel"]}}
    return lambda predicate: (predicate["steps"].update(telemetry=step), predicate.update(result="INCONCLUSIVE"))


HOT = [99, "Cel", "<=", 95]
# What a check measures each time and against which limit is known to who has asked it, and to assayctl.
VALUES = [
    ("all values of a check", telemetry(), HOLDS),
    ("all values of a check, and a warning", telemetry("WARNED", "WARNED", hbm_corrected=[101, "<=", 100]), HOLDS),
    ("a value that is left out", telemetry(left_out=["temperature"]), REFUSED),
    ("a value that is left out and called WARNED", telemetry("WARNED", "WARNED", left_out=["temperature"]), REFUSED),
    ("all values that are left out", step_of("telemetry"), REFUSED),
    ("all values that are left out of a failure", telemetry("FAILED", "FAILED", left_out=["temperature", "heartbeats"]), FAILED),
    ("a limit that is taken out", telemetry(temperature=[99, "Cel"]), REFUSED),
    ("a limit that is taken out, called WARNED", telemetry("WARNED", "WARNED", temperature=[99, "Cel"]), REFUSED),
    ("a limit that is taken out of one of two parts", telemetry(hbm_uncorrected={"each": [[0, "<=", 0], [3, {"at": ["hbm1"]}]]}), REFUSED),
    ("a limit the other way round", telemetry(temperature=[99, "Cel", ">=", 95]), REFUSED),
    ("a higher limit where it is fixed", telemetry(hbm_uncorrected=[1, "<=", 1]), REFUSED),
    ("a higher limit where it is the plan's", telemetry(temperature=[58.9, "Cel", "<=", 96]), HOLDS),
    ("another unit", telemetry(temperature=[58.9, "K", "<=", 95]), REFUSED),
    ("no unit", telemetry(temperature=[58.9, "<=", 95]), REFUSED),
    ("a value that fails called WARNED", telemetry("WARNED", "WARNED", temperature=HOT), REFUSED),
    ("a value that fails called FAILED", telemetry("FAILED", "FAILED", temperature=HOT), FAILED),
    ("a value that would fail, of a step that could not judge", open_telemetry("ERROR", "protocol"), CANNOT_TELL),
    ("a value that would fail, of a step that was skipped", open_telemetry("SKIP", "budget"), CANNOT_TELL),
    ("a value that needs no limit there", hbm(), HOLDS),
    ("the same with a limit", hbm(bytes_tested=[1024, "By", ">=", 1024]), HOLDS),
    ("the same left out", hbm(left_out=["bytes_tested"]), REFUSED),
    ("a limit where the table has none", hbm(rows_guarded=[7, ">=", 1]), HOLDS),
    ("a finding's value without its limit", hbm(reads_wrong=3), REFUSED),
    ("a value of the worker without its limit", hbm(**{"/device_answers_garbled": 3}), REFUSED),
    ("values of which none has a limit", step_of("host-link", measured={"bytes_moved": [268435456, "By"]}), REFUSED),
    ("values of which one has a limit", step_of("host-link", measured={"bandwidth_min": [228.4, "Gbit/s", ">=", 200, {"min": 8}]}), HOLDS),
    ("values of another chip", telemetry(hbm_uncorrected=[0, "<=", 0, {"at": ["/us0-1/chip9/hbm0"]}]), REFUSED),
    ("values of a part that there is not", telemetry(hbm_uncorrected=[0, "<=", 0, {"at": ["hbm9"]}]), REFUSED),
    ("values of all parts and of the chip", telemetry(hbm_uncorrected=[0, "<=", 0, {"at": ["hbm0-3", "."]}]), HOLDS),
    ("two values of one part", telemetry(hbm_uncorrected=[[0, 0], "<=", 0, {"at": ["hbm0", "hbm0"]}]), REFUSED),
    ("one value under both forms of its name", telemetry(**{"/telemetry_temperature": [20, "Cel", "<=", 95]}), REFUSED),
    ("a count below none", telemetry(hbm_corrected=[-3, "<=", 100]), REFUSED),
    ("a count of half of less than one", telemetry(hbm_uncorrected=[-0.5, "<=", 0]), REFUSED),
    ("a chip colder than anything", telemetry(temperature=[-300, "Cel", "<=", 95]), REFUSED),
    ("a chip that is cold", telemetry(temperature=[-40, "Cel", "<=", 95]), HOLDS),
    ("no bytes, and no limit", hbm(bytes_tested=[0, "By"]), REFUSED),
    ("two values of one part of what is not said each time", telemetry(temperature_rise={"each": [[1, "K", "<=", 5], [4, "K", "<=", 5]]}), REFUSED),
    ("bytes below none", hbm(bytes_tested=[-5, "By"]), REFUSED),
    ("a limit that no plan has", telemetry(temperature=[1e300, "Cel", "<=", 1e308]), REFUSED),
    ("a rate that no plan asks for", step_of("host-link", measured={"bandwidth_min": [0, "Gbit/s", ">=", 0, {"min": 8}]}), REFUSED),
    ("the most where the least decides", step_of("host-link", measured={"bandwidth_min": [228.4, "Gbit/s", ">=", 200, {"max": 8}]}), REFUSED),
    ("one where the least of many decides", step_of("host-link", measured={"bandwidth_min": [228.4, "Gbit/s", ">=", 200]}), REFUSED),
    ("the least of none", step_of("host-link", measured={"bandwidth_min": [228.4, "Gbit/s", ">=", 200, {"min": 0}]}), REFUSED),
    ("the most of no lanes", step_of("neuronlink", measured={"lane_errors": [0, "<=", 0, {"max": 0}]}), REFUSED),
    ("the most of a lane", step_of("neuronlink", measured={"lane_errors": [0, "<=", 0, {"max": 1}]}), HOLDS),
    ("a limit of a value of later versions alone", step_of("host-link", measured={"later": [0, "<=", 0]}), REFUSED),
    ("a check of later versions", step_of("later"), HOLDS),
    ("a value of later versions", telemetry(later=[5, "lx"]), HOLDS),
]


def as_v1(statement):
    """As assayd wrote it when there was version 1 alone; of anything but a chip it stays."""
    if not statement["predicateType"].endswith("health:v2"):
        return statement
    predicate, plain = statement["predicate"], verdicts.plain_chip_v2(statement["predicate"])
    statement["predicateType"] = statement["predicateType"].replace("v2", "v1")
    predicate["producer"]["scanner"] = {"name": "assayd", "uri": "pkg:generic/assayd@0.1.0"}
    predicate["run"]["clock"] = {"source": "none", "synchronized": False}
    predicate["host"] |= {"name": "server", "digest": {"sha256": "ffc716206b799058c6bb3179e0b55289326b25df7364c165a4d929fd2763d0db"}}
    lists = {f"{word.lower()}Tests": plain["lists"][word] for word in ("PASSED", "WARNED", "FAILED")}
    for number, step in enumerate(plain["steps"]):
        step["id"] = str(number)
        for measurement in step["measurements"]:
            measurement["unit"] = "1"
            if measurement["limits"]:
                measurement["result"] = "PASSED" if all(verdicts.within(limit, measurement["value"]) for limit in measurement["limits"]) else "FAILED"
    predicate.update(status="COMPLETE", steps=plain["steps"], coverage=plain["promises"], **lists)
    return statement


def contradictions(bench):
    for what, change, expected in VALUES:
        statement = statement_of(bench.lines[5])
        change(statement["predicate"])
        bench.record(what, expected, bench.record_key.envelope(statement))
    for what, index, path, change, expected in CONTRADICTIONS + CONTRADICTIONS_V2:
        statement = statement_of(bench.lines[index])
        if (what, index, path, change, expected) not in CONTRADICTIONS_V2:
            statement = as_v1(statement)
        place = statement if path.startswith("...") else statement["predicate"]
        for part in filter(None, path.strip(".").split(".")):
            place = place[int(part)] if isinstance(place, list) else place[part]
        change(place)
        bench.record(what, expected, bench.record_key.envelope(statement))
    for what, expected, status, reason in (("a step that is left open", CANNOT_TELL, "ERROR", "protocol"), ("a part in service", CANNOT_TELL, "SKIP", "occupied"),
                                           ("a reason of either", CANNOT_TELL, "SKIP", "device-unreachable"), ("a reason that is of a skip", REFUSED, "ERROR", "occupied"),
                                           ("a reason that is of an error", REFUSED, "SKIP", "protocol"), ("a reason that is a later one", CANNOT_TELL, "SKIP", "tired")):
        statement = as_v1(statement_of(bench.lines[5]))
        predicate = statement["predicate"]
        predicate.update(result="INCONCLUSIVE", untestedTests=[{"name": "hbm", "reason": reason}], passedTests=predicate["passedTests"][1:])
        predicate["steps"][0].update(status=status, result="INCONCLUSIVE", reason=reason)
        bench.record(what, expected, bench.record_key.envelope(statement))
        if expected == CANNOT_TELL:
            predicate["steps"][0]["required"] = False
            bench.record(f"{what}, of a test that is not required, and still INCONCLUSIVE", REFUSED, bench.record_key.envelope(statement))
            predicate["result"] = "PASSED"
            bench.record(f"{what}, of a test that is not required", HOLDS, bench.record_key.envelope(statement))
            predicate["untestedTests"][0]["reason"] = "budget"
            bench.record(f"{what}, with another reason beside it", REFUSED, bench.record_key.envelope(statement))
    statement = statement_of(bench.lines[17])  # a sound server, and one with a chip too few
    for component in statement["predicate"]["components"]:
        component["annotations"]["result"] = "PASSED"
    statement["predicate"]["result"] = "PASSED"
    bench.record("a sound server", HOLDS, bench.record_key.envelope(statement))
    zero, much = ([{"type": "LESS_THAN_OR_EQUAL", "value": limit}] for limit in (0, 1000))
    for what, expected, result, name, value, limits, said in (
            ("errors without their limit", REFUSED, "PASSED", "telemetry_hbm_uncorrected", 249, None, None),
            ("errors beyond their limit", REFUSED, "WARNED", "telemetry_hbm_uncorrected", 249, zero, "FAILED"),
            ("errors within another limit", REFUSED, "PASSED", "telemetry_hbm_uncorrected", 249, much, "PASSED"),
            ("fewer errors than none", REFUSED, "PASSED", "telemetry_hbm_uncorrected", -1, zero, "PASSED"),
            ("errors that leave it open", CANNOT_TELL, "INCONCLUSIVE", "telemetry_hbm_uncorrected", 249, zero, "FAILED"),
            ("no errors", HOLDS, "PASSED", "telemetry_hbm_uncorrected", 0, zero, "PASSED"),
            ("a value of later versions", HOLDS, "PASSED", "later", 249, None, None)):
        own = {"name": name, "value": value, "unit": "{error}"} | ({"limits": limits, "result": said} if limits else {})
        bench.record(f"a server of its own with {what}", expected, bench.record_key.envelope(
            {**statement, "predicate": {**statement["predicate"], "result": result, "measurements": [own]}}))
    last = statement["predicate"]["components"].pop()
    bench.record("a sound server of which a chip is left out", REFUSED, bench.record_key.envelope(statement))
    statement["predicate"]["chipCount"] = 15
    bench.record("a Trn2 that says it had a chip less", REFUSED, bench.record_key.envelope(statement))
    del statement["predicate"]["chipCount"]
    bench.record("a Trn2 of which a chip is left out", REFUSED, bench.record_key.envelope(statement))
    last["annotations"]["result"] = "INCONCLUSIVE"
    statement["predicate"]["components"].append(last)
    bench.record("a sound server with a chip that is not", REFUSED, bench.record_key.envelope(statement))


# ---- proofs ----


def proofs(bench):
    line, proof = bench.lines[5], (bench.folder / "5.tlog-proof").read_bytes()
    head, _, note = proof.partition(b"\n\n")
    lines, text = head.split(b"\n"), note.rpartition(b"\n\n")[0] + b"\n"
    producer = f"record {bench.record_key.word} https://fleet.example/stations/st-017 {bench.log_name}"
    for what, expected, rules in (("a key that is bound", HOLDS, producer), ("to some indices", HOLDS, f"{producer} 5 5"), ("until the one before", REFUSED, f"{producer} 0 4 stolen"),
                                  ("from the one after", REFUSED, f"{producer} 6"), 
                                  ("to another log", REFUSED, producer + "x"), ("to another producer", REFUSED, producer.replace("st-017 ", "st-018 ")),
                                  ("in a log that counts from there", HOLDS, f"{producer}\nmin {bench.log_name} 5"),
                                  ("in a log that counts from later", REFUSED, f"{producer}\nmin {bench.log_name} 6"),
                                  ("for a while", HOLDS, f"{producer}\nexpires 2999-01-01T00:00:00Z"), ("no longer", CANNOT_TELL, f"{producer}\nexpires 2026-01-01T00:00:00Z"),
                                  ("with remarks", HOLDS, f"# of the station\n{producer}\nsomebody said so")):
        keys = f"log {bench.log_key.vkey(bench.log_name, 1)}\nquorum none\n{rules}\n"
        bench.put("bound", keys.encode())
        bench.record(f"{what}: {rules[-30:]}", expected, line, "bound", proof)
    bench.record("no proof, where the keyring names logs", CANNOT_TELL, line, "log")
    bench.record("a keyring of another log", CANNOT_TELL, line, "elsewhere", proof)
    bench.record("a keyring of another key of the log", REFUSED, line, "forged", proof)
    bench.record("its proof", HOLDS, line, "log", proof)
    bench.record("its proof, with extra data", HOLDS, line, "log", proof.replace(b"\nindex", b"\nextra AAAA\nindex", 1))
    bench.record("the proof of its neighbour", REFUSED, line, "log", (bench.folder / "6.tlog-proof").read_bytes())
    for at in range(2, len(lines)):
        for bit in (0, 131, 255):
            bad = b64(flip(base64.b64decode(lines[at]), bit)).encode()
            bench.record(f"bit {bit} of hash {at - 2}", REFUSED, line, "log", b"\n".join(lines[:at] + [bad] + lines[at + 1:]) + b"\n\n" + note)
    for what, changed in (("a hash too few", lines[:-1]), ("a hash too many", lines + lines[-1:]), ("hashes in another order", lines[:2] + lines[:1:-1]),
                          ("another index", [lines[0], b"index 7"] + lines[2:]), ("an index beyond the log", [lines[0], b"index 288"] + lines[2:]),
                          ("another kind of proof", [b"c2sp.org/tlog-proof@v2"] + lines[1:])):
        bench.record(what, REFUSED, line, "log", b"\n".join(changed) + b"\n\n" + note)
    signature = re.search(rb"[^ ]+\n$", note)[0].strip()
    root = text.split(b"\n")[2]
    for bit in range(32, 544, 61):
        bench.record(f"bit {bit} of the checkpoint's signature", REFUSED, line, "log", proof.replace(signature, b64(flip(base64.b64decode(signature), bit)).encode()))
    for bit in range(0, 256, 37):
        bench.record(f"bit {bit} of the root", REFUSED, line, "log", proof.replace(root, b64(flip(base64.b64decode(root), bit)).encode()))
    bench.record("another size", REFUSED, line, "log", proof.replace(b"\n288\n", b"\n287\n"))
    bench.record("another key's signature alone", REFUSED, line, "log", head + b"\n\n" + text + b"\n" + Signer().note_line(text, bench.log_name, 1))
    bench.record("a line of a key that nobody knows", HOLDS, line, "log", proof + Signer().note_line(text, "other.example", 1))
    other = text.replace(bench.log_name.encode(), b"other.example/log")
    bench.record("the checkpoint of another log", REFUSED, line, "log", head + b"\n\n" + other + b"\n" + bench.log_key.note_line(other, "other.example/log", 1))

    for what, odd in (("a size with a zero before it", text.replace(b"\n288\n", b"\n0288\n")), ("a root that is no base64", text.replace(root, root[:-1] + b"!")),
                      ("no root", text.replace(root + b"\n", b""))):
        bench.record(f"{what}, well signed", REFUSED, line, "log", head + b"\n\n" + odd + b"\n" + bench.log_key.note_line(odd, bench.log_name, 1))

    good = bench.witness.note_line(text, WITNESS, 4, 1795252442)
    raw = base64.b64decode(good.split()[2])
    bench.record("no witness, where one is asked for", CANNOT_TELL, line, "witness", proof)
    bench.record("a witness", HOLDS, line, "witness", proof + good)
    both = good + bench.second.note_line(text, WITNESS[:-1] + "2", 4, 1795252443)
    for what, expected, keyring, lines in (("one witness where both are asked for", CANNOT_TELL, "both", good), ("both", HOLDS, "both", both), ("any", HOLDS, "any", good),
                                           ("one where two of three are", CANNOT_TELL, "of three", good), ("two of three", HOLDS, "of three", both),
                                           ("a witness whose key is of a later kind", CANNOT_TELL, "later", both)):
        bench.record(f"a quorum: {what}", expected, line, keyring, proof + lines)
    bench.record("a witness that tells no time", REFUSED, line, "witness", proof + bench.witness.note_line(text, WITNESS, 4, 0))
    bench.record("a witness of another root", REFUSED, line, "witness", proof + bench.witness.note_line(other, WITNESS, 4, 1795252442))
    bench.record("a stranger in its name", CANNOT_TELL, line, "witness", proof + Signer().note_line(text, WITNESS, 4, 1795252442))
    for bit in range(32, len(raw) * 8, 41):
        bench.record(f"bit {bit} of a cosignature", REFUSED, line, "witness", proof + f"\u2014 {WITNESS} {b64(flip(raw, bit))}\n".encode())


# ---- a log ----


def archive_of(bench, index, previous, dropped, **more):
    start = statement_of(bench.lines[0])
    return {"_type": start["_type"], "predicateType": start["predicateType"].replace("run-start", "archive"),
            "subject": [{"name": "records-000000000000.intoto.jsonl", "digest": {"sha256": "1" * 64}}],
            "predicate": {"producer": start["predicate"]["producer"], "log": {"origin": bench.log_name, "index": index}, "previous": {"sha256": previous},
                          "sentOn": "2026-11-21T09:20:00.000Z", "range": {"first": 0, "end": 256}, "size": 1000, "dropped": dropped, **more}}


def edit(name, change):
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def logs(bench):
    lines, text = bench.lines, bench.checkpoint.rpartition(b"\n\n")[0] + b"\n"
    ids = [sha256(b"DSSEv1 %d %s %d " % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload)), payload)
           for payload in (base64.b64decode(json.loads(line)["payload"]) for line in lines)]
    changed = statement_of(lines[INDEX])
    changed["predicate"]["more"] = 1
    forged = bench.record_key.envelope(changed)
    bench.log("a log", HOLDS, lines)
    bench.log("a log without a checkpoint that can be read", CANNOT_TELL, lines, b"")
    bench.log("a checkpoint that is none", CANNOT_TELL, lines, b"[" * 100000)
    bench.log("a checkpoint that is no text", CANNOT_TELL, lines, b"\xff" + bench.checkpoint)
    bench.log("a checkpoint that ends behind its name", REFUSED, lines, text.partition(b"\n")[0] + b"\n")
    bench.log("a checkpoint that goes on and on", 64, lines, bench.checkpoint + b"\n" * (1 << 20))
    bench.log("a checkpoint of which the key is not known", CANNOT_TELL, lines, None, "keys")
    bench.log("a checkpoint of another log", CANNOT_TELL, lines, None, "elsewhere")
    bench.log("a checkpoint of another key of the log", REFUSED, lines, None, "forged")
    for size in (0, 1, 18, 287):
        bench.log(f"a log of which {size} records are signed", CANNOT_TELL, lines, bench.sign_over(lines, size))
    bench.log("a record called pruned", CANNOT_TELL, lines[:INDEX] + [MARK % (INDEX, ids[INDEX].hex().encode())] + lines[INDEX + 1:])
    bench.log("a record called pruned, with another ID", REFUSED, lines[:INDEX] + [MARK % (INDEX, ids[5].hex().encode())] + lines[INDEX + 1:])
    for what, wrong in (("a record that is gone", lines[:INDEX] + lines[INDEX + 1:]), ("the first one gone", lines[1:]), ("the last one gone", lines[:-1]),
                        ("two that changed places", lines[:7] + [lines[8], lines[7]] + lines[9:]), ("one that stands twice", lines[:8] + lines[7:]),
                        ("one that was written again with the station's key", lines[:INDEX] + [forged] + lines[INDEX + 1:]),
                        ("the last one written again", lines[:-1] + [bench.record_key.envelope({**statement_of(lines[-1]), "more": 1})])):
        bench.log(what, REFUSED, wrong)
    start = statement_of(lines[0])

    def archive(dropped):
        return bench.record_key.envelope(archive_of(bench, len(lines), ids[-1].hex(), dropped))

    for what, expected, dropped in (("an archive", HOLDS, "2"), ("an archive of a chip that failed", REFUSED, "2,4"), ("an archive of its server", REFUSED, "17")):
        bench.log(what, expected, lines + [archive(dropped)], bench.sign_over(lines + [archive(dropped)]))
    other = archive_of(bench, len(lines), ids[-1].hex(), "2")
    other["subject"][0]["name"] = "records-000000000256.intoto.jsonl"
    bench.log("an archive of another name", REFUSED, lines + [bench.record_key.envelope(other)])
    for what, dropped in (("with what is a range", "2,3"), ("with nothing", ""), ("with a record of the next one", "256")):
        bench.log(f"an archive {what}", REFUSED, lines + [archive(dropped)])
    for expected, records, first, end in ((HOLDS, 2, 2, 7), (REFUSED, 3, 2, 7), (REFUSED, 2, 1, 7), (REFUSED, 2, 2, 8), (REFUSED, 0, 2, 7)):
        pruned = {"records": records, "range": {"first": first, "end": end}, "sha256": "2" * 64}
        told = lines + [bench.record_key.envelope(archive_of(bench, len(lines), ids[-1].hex(), "2,6", pruned=pruned))]
        bench.log(f"an archive that binds {records} records of {first} to {end}", expected, told, bench.sign_over(told) if expected == HOLDS else None)
    for what, index in (("that nobody can have", b"9" * 16), ("that no number is", b"9" * 5000)):
        mark = MARK.replace(b"%d", b"%b") % (index, b"0" * 64)
        bench.log(f"a mark of an index {what}", REFUSED, lines + [mark])
        bench.tiles(f"a mark of an index {what}, in tiles", REFUSED, edit("records.intoto.jsonl", lambda data, mark=mark: data + mark + b"\n"))
    start["predicate"]["log"]["index"], start["predicate"]["previous"] = 2 ** 53 - 1, {"sha256": "0" * 64}
    far = bench.record_key.envelope(start)
    bench.tiles("a record of the last index that there is", REFUSED, edit("records.intoto.jsonl", lambda data: data + far + b"\n"))
    bench.tiles("no checkpoint", CANNOT_TELL, lambda folder: (folder / "checkpoint").unlink())
    signature = re.search(rb"[^ ]+\n$", bench.checkpoint)[0].strip()
    bench.log("another signature of the checkpoint", REFUSED, lines, bench.checkpoint.replace(signature, b64(flip(base64.b64decode(signature), 99)).encode()))
    smaller = text.replace(b"\n288\n", b"\n287\n")
    bench.log("a checkpoint of another tree, signed by the log", REFUSED, lines, smaller + b"\n" + bench.log_key.note_line(smaller, bench.log_name, 1))

    def without(data, first, last):
        return b"".join(line + b"\n" for at, line in enumerate(data.splitlines()) if not first <= at <= last)

    jsonl = "records.intoto.jsonl"
    bench.tiles("a log in tiles", HOLDS, lambda folder: None)
    bench.tiles("a line that is withheld", CANNOT_TELL, edit(jsonl, lambda data: without(data, INDEX, INDEX)))
    bench.tiles("the first forty withheld", CANNOT_TELL, edit(jsonl, lambda data: without(data, 0, 39)))
    bench.tiles("the last ten withheld", CANNOT_TELL, edit(jsonl, lambda data: without(data, 278, 287)))
    bench.tiles("all withheld", CANNOT_TELL, edit(jsonl, lambda data: b""))
    bench.tiles("a record written again", REFUSED, edit(jsonl, lambda data: data.replace(lines[INDEX], forged)))
    for bit in range(100, 256 * 256, 9973):
        bench.tiles(f"bit {bit} of a tile", REFUSED, edit("tile/0/000", lambda data, bit=bit: flip(data, bit)))
    for name in ("tile/entries/000", "tile/entries/001.p/32", "tile/1/000.p/1"):
        bench.tiles(f"a bit of {name}", REFUSED, edit(name, lambda data: flip(data, len(data) * 4)), alone=True)
    bench.tiles("a tile that nobody needs", HOLDS, lambda folder: shutil.rmtree(folder / "tile/0/001.p"))


def rewrite(bench, changes, left_out=(), behind=(), size=36, key=None, since=0):
    """The first two scans, changed and written again by who has both keys: the lines, and the checkpoint over them; BEHIND them some of their records. KEY
    signs those SINCE one of them."""
    lines, ids, leaves = [], {}, []
    bench.named = ids
    for index in [index for index in range(size) if index not in left_out] + list(behind):
        statement = statement_of(bench.lines[index])
        predicate = statement["predicate"]
        predicate["log"]["index"] = len(lines)
        for chip in predicate.get("components", []):
            chip["annotations"].update(zip(("logIndex", "recordSha256"), ids[chip["annotations"]["logIndex"]]))
        changes.get(index, put())(statement)
        predicate.pop("previous", None)
        if lines:
            predicate["previous"] = {"sha256": last}
        lines.append((key if key and index >= since else bench.record_key).envelope(statement))
        record = Record(lines[-1], verify.Keyring(bench.keyrings["keys"] + (key.pem() if key else "")), verify.load_schemas(SCHEMAS))
        leaves.append(record.leaf)
        last = record.id.hex()
        ids[index] = len(lines) - 1, last
    text = f"{bench.log_name}\n{len(lines)}\n{b64(root_of(leaves))}\n".encode()
    return lines, text + b"\n" + bench.log_key.note_line(text, bench.log_name, 1)


def twin_of(bench):
    return {name: statement_of(bench.lines[5])["subject"][0][name] for name in ("uri", "digest")}


def rewritten(bench):
    def at(path, change):
        def apply(statement):
            place = statement["predicate"]
            for part in filter(None, path.split(".")):
                place = place[int(part)] if isinstance(place, list) else place[part]
            change(place)
        return apply

    def swap_slots(components):
        for one, other in ((0, "us0-2/chip1"), (1, "us0-2/chip0")):
            components[one]["annotations"]["slot"] = other

    def forget(predicate):
        del predicate["components"][5]

    def server(statement):
        uri = "urn:dev:ops:32473-Trn2-OTHER"
        statement["subject"][0].update(uri=uri, digest={"sha256": identity_of("server", uri)})

    def twin(statement):
        statement["subject"][0].update(twin_of(bench))

    digest, other = {"sha256": "0" * 64}, "urn:dev:ops:32473-Trainium2-OTHER"
    for what, expected, changes, left_out in (
            ("two scans written again", HOLDS, {}, ()),
            ("a result of another stage than its run", REFUSED, {5: at("run", put(stage="INFLEET"))}, ()),
            ("a result with another challenge", REFUSED, {5: at("run", put(challenge="AAAA"))}, ()),
            ("a result with another begin", HOLDS, {5: at("run", put(startedOn="2026-11-21T09:14:01.000Z"))}, ()),
            ("a result with another seed", HOLDS, {5: at("run", put(seed=8))}, ()),
            ("a result by another plan", HOLDS, {5: at("configuration.0", put(digest=digest))}, ()),
            ("a result of another server", REFUSED, {5: at("location", put(path="us0-1/chip4"))}, ()),
            ("a roll-up that calls a failed chip sound", REFUSED, {17: at("components.3.annotations", put(result="PASSED"))}, ()),
            ("a roll-up that calls a sound chip failed", REFUSED, {17: at("components.4.annotations", put(result="FAILED"))}, ()),
            ("a roll-up of another chip", REFUSED, {17: at("components.4", put(digest=digest))}, ()),
            ("a roll-up of another chip by its URI alone", REFUSED, {17: at("components.4", lambda chip: (chip.pop("digest"), chip.update(uri=other)))}, ()),
            ("a roll-up of a chip by its URI alone", REFUSED, {17: at("components.4", lambda chip: chip.pop("digest"))}, ()),
            ("a roll-up of a chip by its digest alone", REFUSED, {17: at("components.4", lambda chip: chip.pop("uri"))}, ()),
            ("a roll-up of a chip by two digests", HOLDS, {17: at("components.4.digest", put(sha512="0" * 128))}, ()),
            ("a roll-up that confuses two slots", REFUSED, {17: at("components", swap_slots)}, ()),
            ("a roll-up of another server than that of its chips", REFUSED, {17: server}, ()),
            ("a chip of another server than its roll-up", REFUSED, {5: at("host", put(uri="urn:dev:ops:32473-Trn2-OTHER"))}, ()),
            ("a roll-up of one chip in two slots", HOLDS, {3: twin, 17: at("components", lambda components: components[2].update(twin_of(bench)))}, ()),
            ("a roll-up that names another record", REFUSED, {17: at("components.4.annotations", put(recordSha256="0" * 64))}, ()),
            ("a roll-up that leaves out a chip", REFUSED, {17: at("", forget)}, ()),
            ("a run that never began", HOLDS, {}, (0, *range(18, 36))),
            ("its result of another stage", REFUSED, {5: at("run", put(stage="INFLEET"))}, (0, *range(18, 36))),
            ("its roll-up of another challenge", REFUSED, {17: at("run", put(challenge="AAAA"))}, (0, *range(18, 36))),
            ("its roll-up of another plan", HOLDS, {17: at("configuration.0", put(digest=digest))}, (0, *range(18, 36))),
            ("a run that two people began", REFUSED, {0: at("run", put(operator={"uid": 1000})), 17: at("run", put(operator={"uid": 0}))}, ()),
            ("a run of somebody whose account was renamed meanwhile", HOLDS, {0: at("run", put(operator={"uid": 1000, "name": "a"})), 17: at("run", put(operator={"uid": 1000}))}, ()),
            ("a run that began with another note", REFUSED, {0: at("run", put(note="as ordered")), 17: at("run", put(note="once more"))}, ()),
            ("results of chips that their run began without", REFUSED, {0: at("run", put(chips=[0, 1]))}, ()),
            ("results of chips that their run began with", HOLDS, {0: at("run", put(chips=list(range(16))))}, ()),
            ("a result of a run of other servers", REFUSED, {0: at("run", put(servers=["us0-1", "us0-2"])), 5: at("run", put(servers=["us0-2", "us0-3"]))}, ()),
            ("a run that has no end", HOLDS, {}, (17, *range(18, 36))),
            ("a record of another log", REFUSED, {20: at("log", put(origin="fleet.example/stations/st-018"))}, ())):
        bench.log(what, expected, *rewrite(bench, changes, left_out))

    # The chip of 5 and 23 passed; that of 4 and 22 failed.
    for what, expected, changes in (("a record of the newest before it", HOLDS, {23: at("", put(earlier=5))}),
                                    ("a record of one of another chip", REFUSED, {23: at("", put(earlier=6))}),
                                    ("a record that skips the newest before it", REFUSED, {23: at("", put(earlier=3))}),
                                    ("a record of none before it", REFUSED, {5: at("", put(earlier=4))}),
                                    ("a record of a failure of its chip", HOLDS, {22: at("", put(earlier=4, standing=4))}),
                                    ("a record of a run-start as a failure", REFUSED, {23: at("", put(earlier=5, standing=0))}),
                                    ("a record of a failure of another chip", REFUSED, {23: at("", put(earlier=5, standing=4))}),
                                    ("a record of a pass as a failure", REFUSED, {23: at("", put(earlier=5, standing=5))}),
                                    ("a record of version 1 behind one of version 2", REFUSED, {23: as_v1}),
                                    ("a log of version 1, and then 2", HOLDS, {index: as_v1 for index in range(1, 17)})):
        bench.log(what, expected, *rewrite(bench, changes))

    def name_old(server):
        chip = server["components"][3]["annotations"]
        chip.update(zip(("logIndex", "recordSha256"), bench.named[INDEX]), result="PASSED")

    def mark(lines, *gone):
        return [MARK % (index, Record(line, verify.Keyring(bench.keyrings["keys"]), verify.load_schemas(SCHEMAS)).id.hex().encode()) if index in gone else line
                for index, line in enumerate(lines)]

    # A roll-up is the last record of its run, a run-start the first; and a record that is not here hides none that is.
    bench.log("a chip twice in a run that has no end", REFUSED, *rewrite(bench, {}, range(17, 36), (4,)))
    for what, left_out, behind in (("a chip of a run behind its roll-up", (), (4,)), ("a start of a run behind its roll-up", (0,), (0,)),
                                   ("a start of a run behind its chips", (0, *range(17, 36)), (0, 17)), ("two roll-ups of one run", (), (17,))):
        bench.log(what, REFUSED, *rewrite(bench, {}, left_out, behind))
    alone = {22: at("run", put(id="01934a6e-5e00-7000-8000-000000009999")), 35: at("", name_old)}
    for what, expected, changes, gone in (("two scans without a start", CANNOT_TELL, {}, (18,)), ("a roll-up of an old record without a start", REFUSED, alone, (18,)),
                                          ("a roll-up of an old record without a chip", REFUSED, alone, (34,))):
        lines, note = rewrite(bench, changes)
        bench.log(what, expected, mark(lines, *gone), note)


def changed_keys(bench):
    """A key of the keyring takes over behind a record that is gone, which may be a rotation, or that an archive has, which none is."""
    other = Signer()
    bench.put("two", (bench.keyrings["log"] + other.pem()).encode())
    lines, note = rewrite(bench, {}, size=288, key=other, since=36)
    ids = dict(bench.named.values())
    for what, expected, gone, dropped in (("all are here", REFUSED, None, "2"), ("a record before is archived", REFUSED, 33, "33"), ("the last before is gone", CANNOT_TELL, 35, "2"),
                                          ("the last before is archived", REFUSED, 35, "35")):
        marked = [MARK % (at, ids[at].encode()) if at == gone else line for at, line in enumerate(lines)]
        bench.log(f"another key signs, {what}", expected, marked + [other.envelope(archive_of(bench, len(lines), ids[287], dropped))], note, "two")


def rotations(bench):
    """A log that ends in the rotation of its key, and what may follow."""
    lines = (bench.other / "records.intoto.jsonl").read_bytes().splitlines()
    old, new, stranger = Signer(bench.other / "record.key"), Signer(bench.other / "record.key.next"), Signer()
    bench.put("keys", (old.pem() + new.pem() + stranger.pem()).encode())

    def next_line(key):
        statement = copy.deepcopy(statement_of(lines[-2]))  # a heartbeat
        envelope = json.loads(lines[-1])
        payload = base64.b64decode(envelope["payload"])
        statement["subject"][0]["digest"]["sha256"] = sha256(spki(key.public)).hex()
        statement["predicate"]["log"]["index"] = len(lines)
        statement["predicate"]["previous"]["sha256"] = sha256(b"DSSEv1 %d %s %d " % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload)), payload).hex()
        return key.envelope(statement)

    def swap(replaces):
        statement = statement_of(lines[-1])
        statement["predicate"]["replaces"] = replaces
        return old.envelope(statement)

    for what, change in (("a rotation whose subject is no key", lambda statement: statement["subject"][0]["digest"].update(sha256="0" * 64)),
                         ("a rotation of another algorithm", lambda statement: statement["predicate"].update(algorithm="ecdsa-p256")),
                         ("a rotation to itself", lambda statement: statement["predicate"].update({key: statement["predicate"]["replaces"][key] for key in ("keyid", "spki")}))):
        statement = statement_of(lines[-1])
        change(statement)
        bench.record(what, REFUSED, old.envelope(statement))
    decision = statement_of(lines[0])
    assert decision["predicateType"].endswith(":log-decision:v1")
    for kind in ("heartbeat", "log-decision"):
        statement = next(copy.deepcopy(each) for each in map(statement_of, lines) if f":{kind}:" in each["predicateType"])
        statement["predicate"].update(result="PASSED", steps={"hbm": {"result": "PASSED"}})
        bench.record(f"a {kind} that is called PASSED", CANNOT_TELL, old.envelope(statement))
        never = {**statement, "predicate": {**statement["predicate"], "sentOn": "2026-02-30T09:14:09Z"}}
        bench.record(f"a {kind} of a day that never was", REFUSED, old.envelope(never))
        statement["predicate"].update(run=5, components=[6], host=7)
        bench.record(f"a {kind} with members of others", CANNOT_TELL, old.envelope(statement))
    history, index = {"size": 9, "sha256": "1" * 64}, 9
    for what, expected, cause, size, pruned in (
            ("fewer records than were signed", CANNOT_TELL, "records-lost", 10, None), ("as many", REFUSED, "records-lost", 9, None), ("more", REFUSED, "records-lost", 3, None),
            ("nobody knows how many", REFUSED, "records-lost", 0, None), ("others than were signed", CANNOT_TELL, "forked", 9, None),
            ("others than were signed, and fewer", REFUSED, "forked", 10, None), ("others than nobody signed", REFUSED, "forked", 0, None),
            ("what was pruned", CANNOT_TELL, "records-pruned", 0, (3, 2, 9)), ("one that was pruned", CANNOT_TELL, "records-pruned", 0, (1, 2, 3)),
            ("no word of what was pruned", REFUSED, "records-pruned", 0, None), ("more pruned than there are", REFUSED, "records-pruned", 0, (5, 0, 3)),
            ("one pruned that is two", REFUSED, "records-pruned", 0, (1, 2, 4)), ("an end before its first", REFUSED, "records-pruned", 0, (1, 8, 3)),
            ("an end that is its first", REFUSED, "checkpoints-lost", 0, (1, 3, 3)), ("what comes behind it", REFUSED, "anchor-damaged", 0, (3, 7, 10))):
        told = copy.deepcopy(decision)
        told["predicate"].update(log={**told["predicate"]["log"], "index": index}, previous={"sha256": "0" * 64}, kept=history, cause=cause)
        told["predicate"].pop("signed", None)
        if size:
            told["predicate"]["signed"] = {**history, "size": size}
        if pruned:
            told["predicate"]["pruned"] = {"records": pruned[0], "range": {"first": pruned[1], "end": pruned[2]}, "sha256": "1" * 64}
        bench.record(f"a decision to go on with {what}", expected, old.envelope(told))
    for what, expected, kept in (("a decision to go on with nothing", CANNOT_TELL, {}), ("with what is not here", REFUSED, {"size": 1}), ("with something else", REFUSED, {"sha256": "0" * 64})):
        decision["predicate"]["kept"].update(kept)
        bench.ask(what, expected, "keys", "audit", bench.put("records.jsonl", old.envelope(decision) + b"\n" + MARK % (1, b"0" * 64)))
    # There is no checkpoint: whether the end is missing cannot be told, and nothing else.
    for what, expected, more in (("a rotation", CANNOT_TELL, lines), ("the new key after it", CANNOT_TELL, lines + [next_line(new)]),
                                 ("the old key after it", REFUSED, lines + [next_line(old)]), ("a third key after it", REFUSED, lines + [next_line(stranger)]),
                                 ("a rotation of a key that did not sign", REFUSED, lines[:-1] + [swap({"keyid": fingerprint(stranger.public), "algorithm": "ed25519", "spki": b64(spki(stranger.public))})])):
        bench.ask(what, expected, "keys", "audit", bench.put("records.jsonl", b"".join(line + b"\n" for line in more)))


def bounds(bench):
    """Lines that are no records are told so far, and then no more: a file of millions of them takes no memory."""
    global failures
    log, read = verify.Log(verify.Keyring(bench.keyrings["keys"]), verify.load_schemas(SCHEMAS)), []
    log.read((read.append(1) or b"{}" for _ in range(verify.TOLD_MAX * 2)), 0)
    if len(read) > verify.TOLD_MAX + 1 or not all(isinstance(text, str) for _, text in log.told["refused"]):
        failures += 1
        print(f"FAILED: {len(read)} lines read that are no records")


def costs(bench):
    """A log of decisions alone, each of which names the root of all before it, takes verify.py a few hashes for each, not one for each pair."""
    global failures
    log, size, node, calls = verify.Log(None, None), 512, envelopes_module.node, []
    log.leaves = {index: sha256(b"%d" % index) for index in range(size)}
    for index in range(size):
        kept = {"size": index, "sha256": root_of([log.leaves[at] for at in range(index)]).hex()}
        log.records[index] = types.SimpleNamespace(index=index, kind=lambda: "log-decision", predicate={"kept": kept, "cause": "behind", "note": "costs"})
    envelopes_module.node = lambda left, right: calls.append(1) or node(left, right)
    log.check_decisions()
    envelopes_module.node = node
    if log.told["refused"] or len(log.told["note"]) != size or len(calls) > size * size.bit_length():
        failures += 1
        print(f"FAILED: {size} decisions took {len(calls)} hashes", log.told["refused"][:3])


def main(*arguments):
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(pathlib.Path(work), *arguments)
        # Where keys are of the other algorithm, no rule is another one.
        for part in (envelopes, contradictions, proofs, logs, rewritten, changed_keys, rotations, bounds, costs) if arguments[-1] == "ed25519" else (envelopes, proofs):
            part(bench)
    print(f"{count} records, proofs and logs judged twice, {failures} failures")
    return 1 if failures else 0


sys.exit(main(*sys.argv[1:]))
