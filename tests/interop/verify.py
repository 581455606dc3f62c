#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify.py: judges records of assay again, written from the public standards and assay-records(7), without a line of assay.

    verify.py --keyring FILE [--proof FILE] RECORD.json            one record, as `assayctl export INDEX` writes it
    verify.py --keyring FILE [--checkpoint FILE] RECORDS.jsonl     a log, as `assayctl export 0 N` writes it
    verify.py --keyring FILE [--earlier FILE] FOLDER               a log in tiles: records.intoto.jsonl, checkpoint, tile/...

    --keyring FILE     whose word counts: public keys in PEM form and lines of c2sp.org/tlog-policy, as `assayctl keys show` prints
    --proof FILE       that the record is in its log, c2sp.org/tlog-proof
    --checkpoint FILE  what the log has signed of itself
    --earlier FILE     a checkpoint that the reader has kept: the log must have grown out of it
    --checks FILE      what each check measures and against which limits, as `assay-run --describe --json` prints it; without it that is not judged
    --schemas FOLDER   the JSON schemas (default: daemon/record of this checkout, then /usr/share/assay and /usr/local/share/assay)

It prints a line for each problem, `refused`, `unknown` or `note`, with the index of the record, then what it counted.

    status  of a log                        of one record
    0       it holds                        verified, and PASSED or WARNED
    1       -                               verified, and FAILED
    2       it cannot be told               it cannot be told; INCONCLUSIVE; no verdict
    3       something does not verify       it does not verify
    64      wrong usage                     likewise

It needs Python 3.11, python3-cryptography and python3-jsonschema of Debian 12. It reads no keyring that roots have signed, no bundles, and
no database. Of a heartbeat it takes what is signed, not what the tables of the station's database came to.

Read it from top to bottom: bytes (RFC 4648, 8259), keys (RFC 8410, C2SP signed-note, tlog-policy), envelopes (DSSE 1.0.2), the tree (RFC 6962,
9162), verdicts (assay-records(7), JUDGING AGAIN), the log. Another version of a record is another function in FORMS.
"""
import argparse
import itertools
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
try:
    from jsonschema import Draft202012Validator, validators
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from envelopes import Checkpoint, Keyring, Record, Refused, Tree, Unknown, check_proof, decode64, fingerprint, read_small, root_of, sha256, spki
    from values import Table
    from verdicts import FORMS, OF_RUNS, archived, judge, named
except ImportError as error:
    print(f"skipped: no {error.name}; python3-cryptography and python3-jsonschema are needed")
    sys.exit(77)


LINE_MAX = 1 << 20  # bytes of an envelope
TOLD_MAX = 10000  # problems of single lines, behind which a file is no log
TILE_MAX = 256 * (2 + 0xffff)


# ---- the log ----


class Log:
    """Records by their indices, of each of them its ID and leaf, and what is to be said of them."""

    def __init__(self, keyring, schemas, table=None):
        self.keyring, self.schemas, self.table = keyring, schemas, table
        self.records, self.ids, self.leaves = {}, {}, {}
        self.told = {"refused": [], "unknown": [], "note": []}
        self.size = 0
        self.present = set()  # indices at which a line stands that is no mark; the other ones below the size are gone
        self.archived, self.never = set(), set()  # gone with leave, and those that may not be
        self.changes = []  # records between which the key changed, and others are gone

    def tell(self, weight, where, text):
        self.told[weight].append((where, str(text)))  # an error holds on to all that its functions had

    def attempt(self, where, function, *arguments):
        """Calls FUNCTION; what it refuses or cannot tell is told of WHERE, and None comes back."""
        try:
            return function(*arguments)
        except Unknown as doubt:
            self.tell("unknown", where, doubt)
        except Refused as wrong:
            self.tell("refused", where, wrong)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, UnsupportedAlgorithm) as wrong:
            self.tell("refused", where, f"it is malformed: {wrong}")
        return None

    def attempt_and_note(self, where, function, *arguments):
        note = self.attempt(where, function, *arguments)
        if note:
            self.tell("note", where, note)

    def read(self, lines, end):
        """Where lines are missing, tiles may still have their hashes, as far as the END of what the log has signed (0: no tiles); beyond that is a gap."""
        for line in lines:
            if len(self.told["refused"]) + len(self.told["unknown"]) >= TOLD_MAX:
                self.tell("refused", self.size, "given up: there are too many problems before this record")
                break
            here, mark = self.size, self.pruned(line)
            record = mark or self.attempt(here, Record, line, self.keyring, self.schemas)
            index = mark["index"] if mark else record.index if record else here
            if index < here:
                self.tell("refused", here, f"record {index} stands in its place")
            if record is None or index < here:
                self.present.add(here)
                self.size += 1
                continue
            if index > max(here, end):
                self.tell("refused", here, f"records {here} to {index - 1} are missing")
            self.size = index + 1
            if mark:
                self.ids[index] = bytes.fromhex(mark["sha256"])
                continue
            self.present.add(index)
            self.records[index], self.ids[index], self.leaves[index] = record, record.id, record.leaf
            self.attempt_and_note(index, judge, record, self.table)

    @staticmethod
    def pruned(line):
        """The mark that stands in the place of a record of which the log has no more than its ID."""
        mark = re.fullmatch(rb'{"pruned":{"index":(0|[1-9][0-9]{0,15}),"sha256":"([0-9a-f]{64})"(?:,"archive":"[^"]*")?}}', line)
        return mark and {"index": int(mark[1]), "sha256": mark[2].decode()}

    def n_gone(self):
        return self.size - len(self.present)

    def check_archives(self):
        """What is gone and no record of this log calls archived is withheld, and so is what a roll-up calls FAILED."""
        failed = {index for index, record in self.records.items() if record.result() == "FAILED"}
        for index, record in sorted(self.records.items()):
            if record.kind() == "archive":
                dropped = self.attempt(index, archived, record) or set()
                if dropped & failed:
                    self.tell("refused", index, "it drops a record that FAILED")
                self.archived |= dropped - self.never - self.present
        for last, index in self.changes:
            if all(gone in self.archived for gone in range(last + 1, index)):  # neither a rotation nor what follows one
                self.tell("refused", index, "another key has signed it, which no rotation names")
        index = 0
        for end in sorted(self.present | self.archived | {self.size}):
            if index < end:
                self.tell("unknown", index, f"withheld: of {end - index} records there is no more than a hash")
            index = end + 1

    def check_chain(self):
        """Each follows the one before, in one log; only a rotation changes the key; roll-ups tell what their records tell."""
        origin = current = last = None
        starts, rolled, begun, chips, once = {}, set(), {}, {}, set()
        for index, record in sorted(self.records.items()):
            predicate = record.predicate
            origin = origin or predicate["log"]["origin"]
            if predicate["log"]["origin"] != origin:
                self.tell("refused", index, "it is of another log")
            before = self.ids.get(index - 1)
            if before and predicate.get("previous", {}).get("sha256") != before.hex():
                self.tell("refused", index, "it does not follow the record before it")
            if current and record.spki != current:
                self.changes.append((last, index))
            current, last = record.spki, index
            if record.kind() == "key-rotation":
                self.attempt(index, self.check_rotation, record)
                current = decode64(predicate["spki"])
            if record.kind() in OF_RUNS:
                self.attempt(index, self.check_order, record, begun, rolled, once)
                first = begun.setdefault(predicate["run"]["id"], record)
            if record.kind() == "run-start":
                starts[predicate["run"]["id"]] = record
            elif record.kind().startswith("health"):
                self.attempt_and_note(index, self.check_begin, record, first)
                if predicate["run"]["id"] not in starts and not self.n_gone():
                    self.tell("note", index, "its run never began")
            if record.kind() == "health":
                self.attempt(index, self.check_earlier, record, chips)
            if record.kind() == "health-summary":
                rolled.add(predicate["run"]["id"])
                self.attempt_and_note(index, self.check_roll_up, record)
        for run in starts.keys() - rolled:
            self.tell("note", starts[run].index, "the run has no end")

    @staticmethod
    def check_rotation(record):
        old, new = record.predicate["replaces"], record.predicate
        for named, key in ((old, record.key), (new, serialization.load_der_public_key(decode64(new["spki"])))):
            if decode64(named["spki"]) != spki(key) or named["keyid"] != fingerprint(key):
                raise Refused("the rotation names another key than it has")

    def check_decisions(self):
        """Each is held against the root of all before it, of which there is one tree that grows."""
        tree = Tree()
        for index, record in sorted(self.records.items()):
            if record.kind() == "log-decision":
                while tree.size < index and tree.size in self.leaves:
                    tree.append(self.leaves[tree.size])
                self.attempt_and_note(index, self.check_decision, record, tree)

    @staticmethod
    def check_decision(record, tree):
        """Somebody went on with a log that had lost what its key has signed: what he says that he kept are the records before this one."""
        kept = record.predicate["kept"]
        if kept["size"] != record.index or tree.size == record.index and tree.root().hex() != kept["sha256"]:
            raise Refused("the decision is about another log than this")
        return f"somebody went on with what was left ({record.predicate['cause']}): {record.predicate['note']}"

    @staticmethod
    def check_order(record, begun, rolled, once):
        run, place = record.predicate["run"]["id"], record.predicate.get("location", {}).get("path")
        if record.kind() == "health" and place and (run, place) in once:
            raise Refused("its run has a result of this chip already")
        once.add((run, place))
        if run in rolled or record.kind() == "run-start" and run in begun:
            raise Refused("other records of its run should follow it, and are before it")

    def check_earlier(self, record, chips):
        """What a chip's record says of those before it: the newest in its place, of the same chip; and one in which it FAILED, which no archive may have alone."""
        predicate, digest = record.predicate, record.subject["digest"]
        before = chips.setdefault(predicate.get("location", {}).get("path", digest["sha256"]), [])
        newest, earlier, standing = before[-1] if before else None, predicate.get("earlier"), predicate.get("standing")
        before.append(record)
        if record.type.endswith(":v1") and "v2" in chips:
            raise Refused("it is of version 1, behind one of version 2")
        if record.type.endswith(":v2"):
            chips["v2"] = True
        if earlier is not None and not (earlier == newest.index and newest.subject["digest"] == digest if newest and earlier <= newest.index else earlier not in self.records):
            raise Refused(f"the newest record before it of its chip is not {earlier}")
        if standing is None:
            return
        if standing not in self.records:
            self.never.add(standing)
        elif not any(one.index == standing and one.subject["digest"] == digest and one.predicate["result"] == "FAILED" for one in before):
            raise Refused(f"its chip did not fail in record {standing}")

    @staticmethod
    def check_begin(record, first):
        """All records of a run tell what it began with, as far as they tell it, and the FIRST that is here for all; of what may have an innocent reason there is a note."""
        run, began = record.predicate["run"], first.predicate["run"]
        paths = [one.predicate.get("location", {}).get("path", "").partition("/") for one in (record, first)]
        told = [("server", *(path[0] or None for path in paths)), ("operator", *(one.get("operator", {}).get("uid") for one in (run, began))), ("note", run.get("note"), began.get("note")), ("servers", run.get("servers"), began.get("servers"))]
        for name, now, then in told:  # a chip leaves most to its server
            if None not in (now, then) and now != then:
                raise Refused(f"its run began with another {name}")
        for name in ("stage", "challenge"):
            if run.get(name) != began.get(name):
                raise Refused(f"its run began with another {name}")
        if paths[0][2] and "chips" in began and int(paths[0][2].removeprefix("chip")) not in began["chips"]:
            raise Refused("its run began without this chip")
        plans = [one.predicate["configuration"] for one in (record, first)]
        for name, now, then in (("begin", run["startedOn"], began["startedOn"]), ("seed", run.get("seed", began.get("seed")), began.get("seed", run.get("seed"))),
                                ("plan", plans[0][:len(plans[1])], plans[1][:len(plans[0])])):
            if now != then:
                return f"its run began with another {name}"
        return None

    def check_roll_up(self, roll_up):
        chips, run = FORMS[roll_up.type](roll_up.predicate)["chips"], roll_up.predicate["run"]["id"]
        for chip in chips:
            record = self.records.get(chip["index"])
            if record is None:
                if chip["result"] == "FAILED":
                    self.never.add(chip["index"])
                continue
            if (record.id.hex(), record.result(), named(record.subject), record.kind() == "health" and record.predicate["run"]["id"],
                    record.predicate.get("location", {}).get("path")) != (chip["id"], chip["result"], chip["subject"], run, chip["slot"]):
                raise Refused(f"it tells of {chip['slot']} otherwise than that chip's record")
            host, server = named(record.predicate.get("host", {})), named(roll_up.subject)
            if not any(host) or any(own not in (None, other) for own, other in zip(host, server)):
                raise Refused(f"{chip['slot']} was scanned in another server")
        told = {chip["index"] for chip in chips}
        for index in range(roll_up.index - 1, -1, -1):
            record = self.records.get(index)
            if record is None or not record.kind().startswith("health") or record.predicate["run"]["id"] != run:
                break
            if index not in told:
                raise Refused(f"it leaves out record {index} of its run")
        identities = [chip["subject"][1] for chip in chips if chip["subject"][1]]
        return "two of its chips have one identity" if len(set(identities)) < len(identities) else None

    def check_checkpoint(self, checkpoint, what="the checkpoint"):
        """That the records, or what is left of them, make the tree that the log has signed."""
        if checkpoint.size > self.size:
            raise Refused(f"{what} is of {checkpoint.size} records, and there are {self.size}: the end is missing")
        unknown = checkpoint.size - sum(index < checkpoint.size for index in self.leaves)
        if unknown:
            raise Unknown(f"{what} cannot be worked out: {unknown} leaves are not known")
        leaves = [self.leaves[index] for index in range(checkpoint.size)]
        if root_of(leaves) != checkpoint.root:
            raise Refused(f"{what} has another root than the records make")
        origins = {record.predicate["log"]["origin"] for record in self.records.values()}
        if origins - {checkpoint.origin}:
            raise Refused(f"{what} is of another log, {checkpoint.origin}")
        if what == "the checkpoint" and checkpoint.size < self.size:
            self.tell("unknown", checkpoint.size, f"of the {self.size - checkpoint.size} records from here on the log has signed nothing")

    def summary(self):
        kinds = [record.kind() for record in self.records.values()]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
        return f"{self.size} records: {len(kinds)} verified ({counts or 'none'}), {len(self.archived)} archived, {self.n_gone() - len(self.archived)} withheld"


# ---- tiles ----


def tile_path(level, number, width):
    path = f"{number % 1000:03}"
    while number >= 1000:
        number //= 1000
        path = f"x{number % 1000:03}/{path}"
    return f"tile/{level}/{path}" + (f".p/{width}" if width < 256 else "")


def read_tiles(folder, level, count):
    """The first COUNT hashes of a level, and which tiles they stand in."""
    for number in range((count + 255) // 256):
        width = min(256, count - number * 256)
        path = folder / tile_path(level, number, width)
        if not path.is_file():
            path = folder / tile_path(level, number, 256)  # a log may drop a partial tile once there is the full one
        yield number, width, read_small(path, TILE_MAX) if path.is_file() else None


def check_tiles(log, folder, checkpoint):
    """Each level against the one below it, entries against the leaves; leaves of withheld records come from here."""
    below, level, leaves = [], 0, []
    while level == 0 or len(below) >= 256:
        made = [root_of(below[at:at + 256]) for at in range(0, len(below) - 255, 256)]
        below = []
        for number, width, data in read_tiles(folder, level, len(made) if level else checkpoint.size):
            if data is None or len(data) % 32 or len(data) < width * 32:
                log.tell("note", "-", f"{tile_path(level, number, 256)} or a part of it is missing: tiles are compared as far as here")
                return
            below += [data[at:at + 32] for at in range(0, width * 32, 32)]
        if level and below != made:
            raise Refused(f"the tiles of level {level} are not made of those below")
        leaves, level = leaves or below, level + 1
    for index, leaf in enumerate(leaves):
        if log.leaves.get(index) not in (None, leaf):
            log.tell("refused", index, "the tile has another leaf than the record makes")
        log.leaves[index] = leaf
    for number, width, data in read_tiles(folder, "entries", checkpoint.size):
        for index in range(number * 256, number * 256 + width) if data is not None else ():
            length = int.from_bytes(data[:2], "big")
            if sha256(b"\0", data[2:2 + length]) != leaves[index] or len(data) < 2 + length:
                log.tell("refused", index, "the entry in the tiles is not the leaf")
                break
            data = data[2 + length:]


# ---- what is asked ----


# A number with a point is no integer to readers whose integers and doubles are two types.
Validator = validators.extend(Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda checker, value: type(value) is int))


def read_lines(file):
    while line := file.readline(LINE_MAX + 1):
        yield line.removesuffix(b"\n")


def load_schemas(folder):
    schemas = {}
    for path in sorted(folder.rglob("*.schema.json")):
        schema = json.loads(path.read_text())
        schemas[schema["properties"]["predicateType"]["const"]] = Validator(schema)
    return schemas


def check_log(log, lines, folder, options):
    note = options.checkpoint
    if note is None and folder and (folder / "checkpoint").is_file():
        note = read_small(folder / "checkpoint")
    checkpoint = log.attempt("-", Checkpoint, note, log.keyring) if note is not None else None
    log.read(lines, checkpoint.size if folder and checkpoint else 0)
    log.check_chain()
    if checkpoint is None:
        if note is None:
            log.tell("unknown", "-", "without a checkpoint nobody can tell whether the end is missing")
    else:
        if folder and checkpoint.size > log.size:
            log.size = checkpoint.size
        if folder:
            log.attempt("-", check_tiles, log, folder, checkpoint)
        log.attempt("-", log.check_checkpoint, checkpoint)
        if not checkpoint.is_witnessed:
            log.tell("unknown", "-", "too few witnesses have signed the checkpoint")
        print(f"checkpoint: {checkpoint.origin}, {checkpoint.size} records, witnesses: {checkpoint.witnesses or 'none'}")
    if options.earlier is not None:
        earlier = log.attempt("-", Checkpoint, options.earlier, log.keyring)
        if earlier:
            log.attempt("-", log.check_checkpoint, earlier, "the earlier checkpoint")
    log.check_decisions()
    log.check_archives()
    if not log.records:
        log.tell("unknown", "-", "nothing was verified")
    return 3 if log.told["refused"] else 2 if log.told["unknown"] else 0


def check_record(log, line, options):
    record = log.attempt("-", Record, line, log.keyring, log.schemas)
    if record is None:
        return 3 if log.told["refused"] else 2
    log.records[record.index], log.size = record, 1
    if record.index < log.keyring.first.get(record.predicate["log"]["origin"], 0):
        log.tell("refused", record.index, "the keyring counts nothing of this log that is so old")
    log.attempt_and_note(record.index, judge, record, log.table)
    if options.proof is not None:
        log.attempt(record.index, check_proof, options.proof, record, log.keyring)
    elif log.keyring.logs:
        log.tell("unknown", record.index, "the keyring names logs, and there is no proof")
    if log.told["refused"] or log.told["unknown"]:
        return 3 if log.told["refused"] else 2
    print(f"record {record.id.hex()}, index {record.index}, {record.kind()}: {record.result() or 'no verdict'}")
    return {"PASSED": 0, "WARNED": 0, "FAILED": 1}.get(record.result(), 2)


def main(arguments):
    """Whatever happens here, it is not told by 1, which means FAILED."""
    try:
        return run(arguments)
    except OSError as wrong:
        print(wrong, file=sys.stderr)
        return 64
    except Exception as wrong:
        print(f"unknown  -  {type(wrong).__name__}: {wrong}")
        return 2


def run(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("keyring", "proof", "checkpoint", "earlier", "checks", "schemas"):
        parser.add_argument("--" + name, type=pathlib.Path if name == "schemas" else read_small, required=name == "keyring", metavar="FILE")
    parser.add_argument("path", type=pathlib.Path)
    try:
        options = parser.parse_args(arguments)
        here = pathlib.Path(__file__).resolve().parents[2] / "daemon/record"
        places = [options.schemas] if options.schemas else [here, pathlib.Path("/usr/share/assay"), pathlib.Path("/usr/local/share/assay")]
        schemas = next(filter(None, map(load_schemas, places)), None)
        folder = options.path if options.path.is_dir() else None
        lines = read_lines((folder / "records.intoto.jsonl" if folder else options.path).open("rb"))
        keyring_text = options.keyring.decode()
        table = Table(options.checks.decode()) if options.checks else None
        if not schemas:
            parser.error("no schemas: use --schemas")
    except SystemExit as usage:
        return 64 if usage.code else 0
    except UnicodeDecodeError as wrong:
        print(wrong, file=sys.stderr)
        return 64
    try:
        log = Log(Keyring(keyring_text), schemas, table)
    except (ValueError, UnsupportedAlgorithm) as wrong:
        print(f"unknown  -  {wrong}")
        return 2
    first = list(itertools.islice(lines, 2))
    is_log = folder or options.checkpoint is not None or options.earlier is not None or len(first) != 1
    status = check_log(log, itertools.chain(first, lines), folder, options) if is_log else check_record(log, first[0], options)
    for weight, told in log.told.items():
        for where, text in told:
            print(f"{weight:8} {where}  {text}")
    print(log.summary())
    print({0: "holds", 1: "holds, and FAILED", 2: "cannot tell", 3: "does not hold"}[status])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
