# SPDX-License-Identifier: Apache-2.0
"""Whether a record agrees with itself, for verify.py: the rules of JUDGING AGAIN in assay-records(7). A record of another version needs one more
function in FORMS, which makes of it the plain shape that judge_chip() and judge_server() take."""
import operator
import re
from datetime import datetime, timedelta

from cryptography.hazmat.primitives import serialization
from envelopes import OURS, Refused, decode64, fingerprint, key_details, sha256

WORSE = ["PASSED", "WARNED", "INCONCLUSIVE", "FAILED"]  # each is worse than the one before
OF_RUNS = ("run-start", "health", "health-summary")
SERVER = re.compile("[a-z][a-z0-9-]{0,30}")
CHIP = re.compile("[a-z][a-z0-9-]{0,30}/chip([0-9]|1[0-5])")
PARTS_MAX, MEASUREMENTS_MAX, PROMISES_MAX = 1024, 8192, 256  # of one entry, and of one record
# A reason that is of neither is a later one, or of both: device-unreachable.
REASONS = {"SKIP": ["not-applicable", "occupied", "claimed", "budget", "not-requested", "prerequisite"],
           "ERROR": ["device-timeout", "device-error", "worker-crashed", "worker-timeout", "protocol", "resource", "cancelled", "ambiguous"]}


def within(limit, value):
    """Numbers are ordered; text and truth values, also numbers that are text because a double cannot hold them, are equal or not."""
    holds = {"EQUAL": operator.eq, "NOT_EQUAL": operator.ne, "LESS_THAN": operator.lt, "LESS_THAN_OR_EQUAL": operator.le,
             "GREATER_THAN": operator.gt, "GREATER_THAN_OR_EQUAL": operator.ge}
    kinds = ["number" if type(side) in (int, float) else type(side) for side in (value, limit["value"])]
    if limit["type"] not in holds or kinds[0] != kinds[1] or kinds[0] != "number" and "THAN" in limit["type"]:
        raise Refused(f"a limit {limit['type']} {limit['value']} for {value} cannot be worked out again")
    return holds[limit["type"]](value, limit["value"])


def worst(words, start="PASSED"):
    return max([start, *words], key=WORSE.index)


def exactly(what, *numbers):
    """Numbers that all readers know, those with doubles alone as well."""
    for number in numbers:
        if type(number) is int and int(float(number)) != number:
            raise Refused(f"{what}: {number} is no number that all readers know")


def plain_chip_v1(predicate):
    """A chip's record as a plain list of steps, whichever version it is of."""
    path = predicate.get("location", {}).get("path")
    for step in predicate["steps"]:
        for measurement in step.get("measurements", []):
            measurement["place"] = measurement.get("component", {"location": path}).get("location")
    lists = {"PASSED": predicate["passedTests"], "WARNED": predicate["warnedTests"], "FAILED": predicate["failedTests"],
             "INCONCLUSIVE": [test["name"] for test in predicate.get("untestedTests", [])]}
    return {"steps": predicate["steps"], "promises": predicate.get("coverage", []), "lists": lists, "untested": predicate.get("untestedTests", [])}


RELATIONS = {"==": "EQUAL", "<=": "LESS_THAN_OR_EQUAL", ">=": "GREATER_THAN_OR_EQUAL"}


def places(names, path):
    """The parts that a list names: "hbm0-3" is four of them below the chip at PATH, "." that chip, "/us0-1" a part by its whole path."""
    found = []
    for name in names:
        ends = re.fullmatch("(.*[^0-9])([0-9]{1,6})-([0-9]{1,6})", name)
        if name[-1:] in ("", "/"):
            raise Refused(f"{name} is no part")
        if ends and not 0 < int(ends[3]) - int(ends[2]) < PARTS_MAX:
            raise Refused(f"{name} is no range of parts")
        each = [f"{ends[1]}{i}" for i in range(int(ends[2]), int(ends[3]) + 1)] if ends and name[0] != "/" else [name]
        found += [path if part == "." else part[1:] if part[0] == "/" else f"{path}/{part}" for part in each]
        if len(found) > PARTS_MAX:
            raise Refused("more parts than anything has")
    return found


def values_of(entry, path):
    """Of a number or a list that stands for measurements of the chip at PATH: each with its place; their unit, or None; what each is held against; and what was
    promised."""
    if not isinstance(entry, list):
        return [(path, entry)], None, [], None
    first, rest, unit = entry[0], entry[1:], None
    if rest and isinstance(rest[0], str) and rest[0] not in RELATIONS and rest[0] != "of":
        unit, rest = rest[0], rest[1:]
    limits = [{"type": RELATIONS[rest[0]], "value": rest[1]}] if rest and isinstance(rest[0], str) and rest[0] in RELATIONS else []
    rest = rest[2:] if limits else rest
    promised, rest = (rest[1], rest[2:]) if rest and rest[0] == "of" else (None, rest)
    where = places(rest[0].get("at", ["."]) if rest else ["."], path)
    values = first if isinstance(first, list) else [first] * len(where)
    if len(rest) > 1 or len(values) != len(where) or promised is not None and where != [path]:
        raise Refused(f"{entry} says not as much as it must, or more")
    return list(zip(where, values)), unit, limits, promised


def plain_chip_v2(predicate):
    """The same of version 2, in which steps stand under their names and measurements under theirs, without what follows from them."""
    steps, promised, reached, count, path = [], {}, {}, 0, predicate.get("location", {}).get("path")
    for name, told in predicate["steps"].items():
        step = {**told, "id": name, "name": name, "status": told.get("status", "COMPLETE"), "required": told.get("required", True), "measurements": []}
        for key, entries in [*told.get("counted", {}).items(), *told.get("measured", {}).items()]:
            whole = key[1:] if key[0] == "/" else told.get("check", name).replace("-", "_") + "_" + key
            for entry in entries["each"] if isinstance(entries, dict) else [entries]:
                values, unit, limits, of = values_of(entry, path)
                parts = entry[-1] if isinstance(entry, list) and isinstance(entry[-1], dict) else {}
                series = next(({"statistic": key, "count": count} for key, count in parts.items() if key != "at"), {})
                step["measurements"] += [{"name": whole, "value": value, "unit": unit, "limits": limits, "place": place, **series} for place, value in values]
                count += len(values)
                if count > MEASUREMENTS_MAX:
                    raise Refused("more measurements than a record has")
                if of is not None and promised.setdefault(whole, of) != of:
                    raise Refused(f"{whole} is promised twice")
                if of is not None and step["status"] == "COMPLETE":
                    reached[whole] = max(reached.get(whole, 0), values[0][1])
        steps.append(step)
    told = predicate.get("coverage", {})
    if any(promised.get(name, pair[1]) != pair[1] for name, pair in told.items()):
        raise Refused("one promise is told twice")
    promises = {name: {"name": name, "reached": reached.get(name, 0), "promised": of} for name, of in promised.items()}
    promises |= {name: {"name": name, "reached": pair[0], "promised": pair[1]} for name, pair in told.items()}
    if len(promises) > PROMISES_MAX:
        raise Refused("more promises than a chip has")
    untested = [{"name": step["name"], "reason": step["reason"], "coverage": step.get("open", [])} for step in steps if step["status"] != "COMPLETE"]
    lists = {word: [step["name"] for step in steps if step["result"] == word] for word in WORSE}
    return {"steps": steps, "promises": list(promises.values()), "lists": lists, "untested": untested}


def named(part):
    return part.get("uri"), part.get("digest", {}).get("sha256")


def plain_server_v1(predicate):
    """A server's record: what lies between its chips is one step more, which the roll-up does not judge by itself."""
    chips = [{"result": chip["annotations"]["result"], "slot": chip["annotations"]["slot"], "index": chip["annotations"]["logIndex"],
              "id": chip["annotations"]["recordSha256"], "subject": named(chip)} for chip in predicate["components"]]
    own = {"name": "server", "measurements": predicate.get("measurements", []), "diagnoses": predicate.get("diagnoses", [])}
    return {"own": own, "chips": chips, "chip_count": predicate.get("chipCount")}


FORMS = {OURS + "health:v1": plain_chip_v1, OURS + "health:v2": plain_chip_v2, OURS + "health-summary:v1": plain_server_v1}


def judge_values(step, table=None):
    """Each measurement again; the least that the step must be called by what it measured and found. TABLE: what checks say of their values."""
    found = {"FAIL": "FAILED", "UNKNOWN": "WARNED", "PASS": "PASSED"}
    least = "PASSED"
    for diagnosis in step.get("diagnoses", []):
        least = worst([least], found[diagnosis["type"]])
        if int(diagnosis.get("reproduced", 0)) > int(diagnosis.get("runs", 0)):
            raise Refused(f"{diagnosis['verdict']} was met more often than it was looked for")
    for measurement in step.get("measurements", []):
        name, limits, said = measurement["name"], measurement.get("limits", []), measurement.get("result")
        exactly(name, measurement["value"], *(limit["value"] for limit in limits))
        result = "PASSED" if all(within(limit, measurement["value"]) for limit in limits) else "FAILED"
        if said is not None and not limits:
            raise Refused(f"{step['name']}: {name} is called {said} without a limit")
        if said not in (None, result):
            raise Refused(f"{step['name']}: {name} is {measurement['value']}, which is {result} by its limit, and called {said}")
        if result == "FAILED":
            least = worst([least], table.least(step, measurement) if table else "WARNED")  # a value beyond its limit is no pass
    for error in step.get("errors", []):
        if error["symptom"] == "not-a-number" or error["symptom"] != step.get("reason"):
            least = worst([least], "WARNED")
    return least


def judge_step(step, is_second, table, chip):
    least, is_open = judge_values(step, table), step["status"] != "COMPLETE"
    if is_second and table and step["result"] in ("PASSED", "WARNED"):
        table.judge(step, chip)
    if "regions" in step:
        sets = check_regions(step["regions"], is_second)
        if sets["failed"]:
            least = "FAILED"
        if is_second and step["result"] in ("PASSED", "WARNED"):
            check_counts(step, sets, chip)
    if is_open != (step["result"] == "INCONCLUSIVE"):
        raise Refused(f"{step['name']} is {step['status']} and called {step['result']}")
    if WORSE.index(step["result"]) < WORSE.index(least) or is_open and least == "FAILED":
        raise Refused(f"{step['name']} is called {step['result']}, and is {least} by what it measured and found")
    if is_open != ("reason" in step):
        raise Refused(f"{step['name']} was tested and has a reason why not, or the other way round")
    other = {"SKIP": "ERROR", "ERROR": "SKIP"}.get(step["status"])
    if is_open and step["reason"] in REASONS[other]:
        raise Refused(f"{step['name']}: {step['reason']} is no reason for {step['status']}")


def set_of(text, total):
    """A set of numbers below TOTAL, "0-12,40": from low to high, what follows on one another in one range, and so in one way alone."""
    numbers = []
    for part in text.split(",") if text else []:
        ends = re.fullmatch("(0|[1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, -1)
        if not (numbers[-1] + 1 if numbers else -1) < first <= last < total or ends[2] and first == last:
            raise Refused(f"{text} is no set of {total}")
        numbers += range(first, last + 1)
    return set(numbers)


def check_regions(regions, is_second):
    """Of a memory that is tested region by region: the sets of it."""
    parts = re.fullmatch("sid ([1-9][0-9]{0,2}) row ([1-9][0-9]{0,7})/([1-9][0-9]{0,2})", regions["partition"])
    if not parts:
        raise Refused(f"{regions['partition']} is no memory")
    total = int(parts[1]) * int(parts[3])
    if total > 256 or int(parts[3]) > int(parts[2]) or regions["position"] >= total or is_second and regions["total"] != total:
        raise Refused(f"{regions['total']} is not the number of regions of {regions['partition']}, or {regions['position']} is none of them")
    sets = {name: set_of(regions[name], total) for name in
            ("occupied", "unproven", "altered", "suspicious", "joined", "together", "failed") if name in regions}
    tested = [region for one in regions["tested"] for region in set_of(one["regions"], total)]
    if len(set(tested)) < len(tested) or sets["failed"] - set(tested):
        raise Refused("a region was tested twice, or failed untested")
    return {"unproven": set(), "altered": set(), "suspicious": set(), **sets, "tested": set(tested), "all": range(total)}


def check_counts(step, sets, chip):
    """Of a step that passed or warned: its regions do not tell otherwise, and it counted as many as they are."""
    if sets["altered"] or sets["suspicious"] and step["result"] == "PASSED" or not sets["tested"]:
        raise Refused(f"{step['name']} is called {step['result']}, and its regions are altered, suspicious, or were never tested")
    for name, least, most in (("hbm_regions", "all", "all"), ("hbm_regions_tested", None, "tested"), ("hbm_regions_occupied", "occupied", "occupied"),
                              ("hbm_regions_unproven", "unproven", "unproven")):
        if any(one["name"] == name and one["place"] == chip and not (len(sets[least]) if least else 1) <= one["value"] <= len(sets[most]) for one in step["measurements"]):
            raise Refused(f"{step['name']}: {name} is not what its regions come to")


def judge_chip(record, plain, table):
    steps, path = plain["steps"], record.predicate.get("location", {}).get("path")
    if path is not None and not CHIP.fullmatch(path):
        raise Refused(f"{path} is no chip of a server")
    run = record.predicate["run"]
    lasted = (time_of(run["finishedOn"]) - time_of(run["startedOn"])).total_seconds() * 1000
    for step in steps:
        if "ms" in step and not ({type(each) for each in step["ms"][:2]} == {int} and 0 <= step["ms"][0] <= step["ms"][1] <= (lasted if lasted >= 0 else 2 ** 32 - 1)):
            raise Refused(f"{step['name']} began or ended when it cannot have")
        judge_step(step, record.type.endswith(":v2"), table, path)
    for what, names in (("id", [step["id"] for step in steps]), ("name", [step["name"] for step in steps]),
                        ("promise", [promise["name"] for promise in plain["promises"]])):
        if len(set(names)) < len(names):
            raise Refused(f"one {what} stands twice")
    for word, names in plain["lists"].items():
        if sorted(names) != sorted(step["name"] for step in steps if step["result"] == word):
            raise Refused(f"the list of {word} tests is not that of the steps")
    result = worst([step["result"] for step in steps if step["required"] or step["result"] != "INCONCLUSIVE"],
                   "PASSED" if any(step["result"] != "INCONCLUSIVE" for step in steps) else "INCONCLUSIVE")
    broken = set()
    for promise in plain["promises"]:
        exactly(promise["name"], promise["reached"], promise["promised"])
        counted = [measurement["value"] for step in steps if step["status"] == "COMPLETE" for measurement in step.get("measurements", [])
                   if measurement["name"] == promise["name"] and measurement["place"] == path]
        if promise["reached"] > max([0, *counted]):
            raise Refused(f"{promise['name']} is said to have reached {promise['reached']}, and no step counted that")
        if promise["reached"] < promise["promised"]:
            result = worst([result], "INCONCLUSIVE")
            broken.add(promise["name"])
    for test in plain["untested"]:
        if test["reason"] != next(step["reason"] for step in steps if step["name"] == test["name"]):
            raise Refused(f"{test['name']} has two reasons")
        if set(test.get("coverage", [])) - broken:
            raise Refused(f"{test['name']} is said to leave open what was covered")
    if record.predicate["result"] != result:
        raise Refused(f"it is called {record.predicate['result']}, and its steps and coverage come to {result}")
    unknown = [step["name"] for step in steps if table and step["result"] == "PASSED" and not table.knows(step)]
    return f"not known here: {', '.join(unknown)}" if unknown and result == "PASSED" else None


def judge_server(record, plain, table):
    chips, stated, said = plain["chips"], plain["chip_count"] or 0, record.predicate["result"]
    count = max(stated, {"Trn2": 16}.get((record.subject.get("uri", "").split("-") + ["", ""])[1], 0))
    for what in ("slot", "index", "id"):
        if len({chip[what] for chip in chips}) < len(chips):
            raise Refused(f"one {what} stands twice among the chips")
    if stated and len(chips) > stated:
        raise Refused(f"it tells of {len(chips)} chips and says that the server has {stated}")
    server = record.predicate.get("location", {}).get("path", chips[0]["slot"].split("/")[0] if chips else None)
    for part in plain["own"]["measurements"] + plain["own"]["diagnoses"]:
        if server and part.get("component", {"location": server})["location"].split("/")[0] != server:
            raise Refused(f"{part['component']['location']} is not in {server}")
    for chip in chips:
        if not CHIP.fullmatch(chip["slot"]) or chip["slot"].split("/")[0] != server or chip["index"] >= record.index:
            raise Refused(f"{chip['slot']} is not in the server, or its record not before this one")
        if chip["index"] == record.index - 1 and chip["id"] != record.predicate["previous"]["sha256"]:
            raise Refused(f"the record of {chip['slot']} is not the one before this")
    own = [judge_values(plain["own"])] + [word for word in map(table.of_server, plain["own"]["measurements"]) if word] if table else [judge_values(plain["own"])]
    result = worst(own + [chip["result"] for chip in chips], "PASSED" if len(chips) >= (count or 1) else "INCONCLUSIVE")
    if WORSE.index(said) < WORSE.index(result):
        raise Refused(f"it is called {said}, and is {result} by what it says")
    return f"it is called {said}, and no more than {result} by what it says" if said != result and record.predicate["status"] == "COMPLETE" else None


def time_of(text):
    """A leap second is the next minute's first."""
    leap = re.search(":6([01])[.Z]", text)
    text = re.sub(r"(\.[0-9]{1,6})[0-9]*", r"\1", text)
    return datetime.fromisoformat(text.replace(":6" + leap[1], ":59") if leap else text) + timedelta(seconds=1 + int(leap[1]) if leap else 0)


def judge(record, table=None):
    """Whether a record agrees with itself, and with the TABLE of what checks measure; returns what is odd about it and no contradiction, or None."""
    run = record.predicate["run"] if record.kind() in OF_RUNS else {}
    for text in (record.predicate.get("sentOn"), run.get("startedOn"), run.get("finishedOn")):
        if text is not None and time_of(text).timestamp() < 0:
            raise Refused(f"{text} is no time")
    if "finishedOn" in run and time_of(run["finishedOn"]) + timedelta(days=1) < time_of(run["startedOn"]):
        raise Refused("it ended before it began")
    if (record.index == 0) == ("previous" in record.predicate):
        raise Refused("only the first record follows none")
    if record.kind() == "health":
        earlier, standing = record.predicate.get("earlier", record.index - 1), record.predicate.get("standing", -1)
        if earlier >= record.index or standing > earlier:
            raise Refused("it refers to no record before it, or to a failure behind the newest of them")
    check_subject(record)
    if record.kind() == "archive":
        archived(record)
    if record.kind() == "log-decision":
        check_decision(record)
    form = FORMS.get(record.type)
    if form is None:
        return None
    return (judge_chip if record.kind() == "health" else judge_server)(record, form(record.predicate), table)


def check_decision(record):
    """What the log key had signed is more than what was kept where records are lost, and no more where others stand there; what was pruned is before it."""
    cause, signed, kept = record.predicate["cause"], record.predicate.get("signed"), record.predicate["kept"]["size"]
    if cause == "records-lost" and not (signed and signed["size"] > kept) or cause == "forked" and not (signed and signed["size"] <= kept):
        raise Refused(f"what was signed and what is kept are no reason for {cause}")
    pruned = record.predicate.get("pruned")
    if pruned is None:
        if cause == "records-pruned":
            raise Refused("it tells of no record that was pruned")
        return
    first, end = pruned["range"]["first"], pruned["range"]["end"]
    if not (first < end <= record.index and pruned["records"] <= end - first and (pruned["records"] == 1) == (end - first == 1)):
        raise Refused("the records that were pruned are none before it, or more or fewer than there can be")


def archived(record):
    """Which records may be missing since this one: an archive has them."""
    first, end = record.predicate["range"]["first"], record.predicate["range"]["end"]
    if first % 256 or end - first != 256 or end > record.index:
        raise Refused("it archives other records than those of a bundle before it")
    if record.subject["name"] != f"records-{first:012}.intoto.jsonl":
        raise Refused("its archive is called like another one")
    dropped = set_of(record.predicate["dropped"], 256)
    if not dropped:
        raise Refused("it drops nothing")
    pruned = record.predicate.get("pruned")  # its digest is of what the station's table says, which no reader has
    if pruned and (pruned["records"], pruned["range"]["first"], pruned["range"]["end"]) != (len(dropped), first + min(dropped), first + max(dropped) + 1):
        raise Refused("it binds others than it drops")
    return {first + each for each in dropped}


def check_subject(record):
    """A key by its SPKI; hardware by the identity document that its URI spells out (assay-records(7), RECORDS)."""
    predicate = record.predicate
    if record.kind() in ("heartbeat", "key-rotation"):
        key = record.spki if record.kind() == "heartbeat" else decode64(predicate["spki"])
        if sha256(key).hex() != record.subject["digest"]["sha256"]:
            raise Refused("the subject is another key")
    if record.kind() == "key-rotation":
        check_keys(predicate)
    if record.kind() not in OF_RUNS:
        return
    own, path = "accelerator" if record.kind() == "health" else "server", predicate.get("location", {}).get("path", "")
    if own == "server" and path and not SERVER.fullmatch(path):
        raise Refused(f"{path} is no server")
    of_chips = predicate.get("components", []) if record.kind() == "health-summary" else []
    chips = [("accelerator", chip, chip["annotations"]["slot"]) for chip in of_chips]
    host = predicate.get("host", {}) if record.kind() != "run-start" else {}
    for kind, part, place in [(own, record.subject, path), ("server", host, path.split("/")[0]), *chips]:
        if part.get("uri", "").lower().startswith("urn:dev:ops:"):
            check_identity(kind, part["uri"], part.get("digest", {}).get("sha256"), predicate["log"]["origin"], place)
            server = (record.subject if record.kind() == "health-summary" else host).get("uri", "")
            begin, is_slot, _ = part["uri"].partition("_")
            if kind == "accelerator" and is_slot and not begin.endswith("-unknown") and server.lower().startswith("urn:dev:ops:") and begin != server:
                raise Refused(f"{part['uri']} is not in {server}")


def check_keys(rotation):
    """The new key and the one that it replaces are what their IDs and algorithms say, and two."""
    for named in (rotation, rotation["replaces"]):
        key = serialization.load_der_public_key(decode64(named["spki"]))
        if named["keyid"] != fingerprint(key) or named["algorithm"] != {"PKIX_ED25519": "ed25519"}.get(key_details(key), "ecdsa-p256"):
            raise Refused("a key is not what its ID and algorithm say")
    if rotation["keyid"] == rotation["replaces"]["keyid"]:
        raise Refused("the key replaces itself")


def check_identity(kind, uri, digest, origin, place):
    """PLACE: where the part is, "" where that is not told. A part that is known by its slot is there."""
    parts = re.fullmatch("urn:dev:ops:[0-9]+-([^-]*)-(.*)", uri)
    if not parts or len(uri) >= 320:
        raise Refused(f"{uri} names no part")
    product, serial = parts.groups()
    server, is_slot, slot = serial.partition("_")
    slot = slot.replace("_", "/")
    if is_slot and place and slot != (place if server == "unknown" else place.partition("/")[2]):
        raise Refused(f"{uri} is not at {place}")
    lines = [f"serial: {serial}"] if not is_slot else [f"slot: {slot}", f"origin: {origin}"] if server == "unknown" else [f"serial: {server}", f"slot: {slot}"]
    document = ["assay-identity/v1", f"kind: {'slot' if is_slot else kind}", "manufacturer: Amazon", f"product: {product}", *lines, ""]
    if digest is not None and sha256("\n".join(document).encode()).hex() != digest:
        raise Refused(f"the digest is not that of {uri}")
