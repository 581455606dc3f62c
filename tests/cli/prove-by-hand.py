#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# prove-by-hand.py FOLDER: keys, keyrings, checkpoints, proofs and bundles for the records in FOLDER (records.intoto.jsonl and
# record.key.pub, of export-records), by OpenSSL and the standards alone.

import base64
import hashlib
import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
ORIGIN = "fleet.example/stations/st-017"
PRODUCER = "https://fleet.example/stations/st-017"
INDEX = 4  # a chip that failed; 1 is sound


def b64(data):
    return base64.b64encode(data).decode()


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def openssl(*arguments, data=b""):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


class Key:
    def __init__(self, name):
        self.path = folder / f"{name}.pem"
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.path)
        self.pem = openssl("pkey", "-in", self.path, "-pubout").decode()
        (folder / f"{name}.pub.pem").write_text(self.pem)

    def sign(self, message):
        (folder / "message").write_bytes(message)
        return openssl("pkeyutl", "-sign", "-inkey", self.path, "-rawin", "-in", folder / "message")


def spki(pem):
    return openssl("pkey", "-pubin", "-outform", "DER", data=pem.encode())


def fingerprint(pem):
    return "SHA256:" + b64(sha256(b"\0\0\0\x0bssh-ed25519\0\0\0\x20", spki(pem)[-32:])).rstrip("=")


def write(name, text):
    (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))


# ---- c2sp.org/signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof; RFC 6962 ----


def key_id(name, key, kind):
    public = bytes([kind]) + spki(key.pem)[-32:]
    return sha256(name.encode() + b"\n" + public)[:4], public


def vkey(name, key, kind):
    digest, public = key_id(name, key, kind)
    return f"{name}+{digest.hex()}+{b64(public)}"


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1", root(leaves[:k]), root(leaves[k:]))


def path(leaves, m):
    if len(leaves) == 1:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return path(leaves[:k], m) + [root(leaves[k:])] if m < k else path(leaves[k:], m - k) + [root(leaves[:k])]


def checkpoint(leaves, witnesses):
    text = f"{ORIGIN}\n{len(leaves)}\n{b64(root(leaves))}\n"
    note = text + f"\n— {ORIGIN} " + b64(key_id(ORIGIN, log, 1)[0] + log.sign(text.encode())) + "\n"
    for name, key in witnesses.items():
        time = 1795252500
        signature = key.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
        note += f"— {name} " + b64(key_id(name, key, 4)[0] + time.to_bytes(8, "big") + signature) + "\n"
    return note


def proof(index, leaves, witnesses):
    hashes = "".join(b64(h) + "\n" for h in path(leaves, index))
    return f"c2sp.org/tlog-proof@v1\nindex {index}\n{hashes}\n{checkpoint(leaves, witnesses)}"


# ---- DSSE and hashedrekord ----


def pae(kind, payload):
    return b"DSSEv1 %d %s %d " % (len(kind), kind.encode(), len(payload)) + payload


def body(envelope, pem):
    digest = sha256(pae(envelope["payloadType"], base64.b64decode(envelope["payload"])))
    return json.dumps({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": {
        "data": {"algorithm": "SHA2_256", "digest": b64(digest)},
        "signature": {"content": envelope["signatures"][0]["sig"], "verifier": {
            "keyDetails": "PKIX_ED25519", "publicKey": {"rawBytes": b64(spki(pem))}}}}}}, separators=(",", ":")).encode()


def bundle(index, leaves, witnesses):
    envelope = records[index]
    return {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {
        "publicKey": {"hint": envelope["signatures"][0]["keyid"]}, "tlogEntries": [{
            "logIndex": str(index), "logId": {"keyId": b64(sha256(ORIGIN.encode() + b"\n" + key_id(ORIGIN, log, 1)[1]))},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"}, "integratedTime": "0",
            "inclusionProof": {"logIndex": str(index), "rootHash": b64(root(leaves)), "treeSize": str(len(leaves)),
                               "hashes": [b64(h) for h in path(leaves, index)],
                               "checkpoint": {"envelope": checkpoint(leaves, witnesses)}},
            "canonicalizedBody": b64(body(envelope, record_pem))}]}, "dsseEnvelope": envelope}


def keyring(version, signers, expires="2126-11-20T00:00:00Z", producer=PRODUCER, until=""):
    text = f"version {version}\nexpires {expires}\nthreshold 2\n" + "".join(f"root {b64(spki(k.pem))}\n" for k in roots)
    text += f"record {b64(spki(record_pem))} {producer} {ORIGIN} 0 {until}".rstrip() + "\n"
    text += f"log {vkey(ORIGIN, log, 1)}\nwitness w1 {vkey('w1', w1, 4)}\nquorum 1\n"
    payload, kind = text.encode(), "application/vnd.assay.keyring"
    return {"payload": b64(payload), "payloadType": kind, "signatures": [
        {"keyid": fingerprint(k.pem), "sig": b64(k.sign(pae(kind, payload)))} for k in signers]}


def signed_by_record_key(payload):
    (folder / "message").write_bytes(pae(records[INDEX]["payloadType"], payload))
    signature = openssl("pkeyutl", "-sign", "-inkey", folder / "record.key", "-rawin", "-in", folder / "message")
    return {**records[INDEX], "payload": b64(payload), "signatures": [{**records[INDEX]["signatures"][0], "sig": b64(signature)}]}


records = [json.loads(line) for line in (folder / "records.intoto.jsonl").read_text().splitlines()]
record_pem = (folder / "record.key.pub").read_text()
log, w1, w2 = Key("log"), Key("w1"), Key("w2")
roots = [Key("root1"), Key("root2"), Key("root3")]
leaves = [sha256(b"\0", body(envelope, record_pem)) for envelope in records]
other = leaves[:-1] + [sha256(b"\0another")]
both = {"w1": w1, "w2": w2}

for index in (0, 1, INDEX):
    write(f"{index}.json", records[index])
    write(f"{index}.proof", proof(index, leaves, both))
# The same place in the same log signed a second time.
twin = base64.b64decode(records[INDEX]["payload"]).replace(b'[512,', b'[513,', 1)
write("twin.json", signed_by_record_key(twin))
# Earlier assayds signed this beside it.
told = json.loads(base64.b64decode(records[INDEX]["payload"]))
predicate = told["predicate"]
named = {"name": told["predicateType"],
         "digest": {"sha256": sha256(pae(records[INDEX]["payloadType"], base64.b64decode(records[INDEX]["payload"]))).hex()},
         "annotations": {"origin": ORIGIN, "index": INDEX, "result": predicate["result"], "finishedOn": predicate["run"]["finishedOn"]}}
write("companion.json", json.dumps(signed_by_record_key(json.dumps({
    "_type": told["_type"], "subject": told["subject"], "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
    "predicate": {"result": predicate["result"], "configuration": predicate["configuration"] + [named]}}).encode())) + "\n")
write("old.proof", proof(INDEX, leaves[:10], {"w1": w1}))
write("unseen.proof", proof(INDEX, leaves, {"w2": w2}))
write("unseen-old.proof", proof(INDEX, leaves[:10], {}))
write("other.proof", proof(INDEX, other, both))
write("4.sigstore.json", bundle(INDEX, leaves, both))
write("unseen.sigstore.json", bundle(INDEX, leaves, {"w2": w2}))
write("keyring", record_pem + f"log {vkey(ORIGIN, log, 1)}\nwitness w1 {vkey('w1', w1, 4)}\nwitness w2 {vkey('w2', w2, 4)}\nquorum w1\n")
write("unwitnessed", record_pem + f"log {vkey(ORIGIN, log, 1)}\nquorum none\n")
write("roots", "".join(k.pem for k in roots) + "threshold 2\n")
write("ring-7.json", keyring(7, roots[:2]))
write("ring-7-one.json", keyring(7, roots[:1]))
write("ring-8.json", keyring(8, roots[1:], until=INDEX - 1))
write("ring-9-expired.json", keyring(9, roots[:2], expires="2026-11-21T00:00:00Z"))
write("ring-other.json", keyring(7, roots[:2], producer=PRODUCER + "/2"))
(folder / "message").unlink()
