# SPDX-License-Identifier: Apache-2.0
"""What the checks of assay say they measure, for verify.py: the table that `assay-run --describe --json` prints, and whether the values of a step are
those that its check says each time, against the limits that it says. What the table does not know is of a later assay, and is taken as it is."""
import functools
import json
import math
import re

from envelopes import Refused

LIMITS = {"no limit": None, "at most": "LESS_THAN_OR_EQUAL", "at least": "GREATER_THAN_OR_EQUAL", "exactly": "EQUAL"}
BELOW = {"Cel": -273.15, "1": -math.inf, "K": -math.inf}  # a value of another unit is not below 0: a ratio may be a logarithm, a rise a fall
PART = re.compile("(hbm[0-3]|core[0-7]|nic([0-9]|1[0-5])|link-[xyz][+-])(/.+)?")  # of a chip
LEAST = {"fail": "FAILED", "warn": "WARNED"}


@functools.cache
def family(text, check):
    """`#` stands for a number, `<a|b>` for one of two words, `@` for the check's own."""
    parts = {"#": "(0|[1-9][0-9]{0,9})", "@": check.replace("-", "_")}
    return re.compile("".join(parts.get(part) or (f"({part[1:-1]})" if part[0] == "<" else re.escape(part)) for part in re.findall("<[^>]*>|.", text)))


class Table:
    def __init__(self, text):
        described = json.loads(text)
        self.rows = {check["name"]: check["measurements"] for check in described["checks"]}
        self.of_all = described["measurements"]

    @functools.cache
    def row(self, check, name):
        return next((row for row in self.rows.get(check, []) + self.of_all if family(row["name"], check).fullmatch(name)), None)

    def wrong(self, row, check, measurement):
        """Why a value may not have this unit or this limit, or None."""
        limits = measurement["limits"]
        unit = measurement.get("unit") or (row["unit"] if row["unit"].startswith("{") and not re.search("[#<@]", row["unit"]) else "1")
        if not family(row["unit"], check).fullmatch(unit):
            return "has another unit"
        if not limits:
            return None if "unlimited" in row else "lacks its limit"
        if len(limits) > 1 or limits[0]["type"] != LIMITS[row["limit"]]:
            return "has a limit of another kind"
        least, most = row.get("least", row.get("value")), row.get("most", row.get("value"))
        return None if least <= limits[0]["value"] <= most else "has another limit"

    @staticmethod
    def impossible(row, measurement):
        """Why a value cannot be, or None."""
        if measurement["value"] < BELOW.get(row["unit"], 0):
            return "is less than anything can be"
        return None if measurement.get("statistic") == row.get("statistic") else "does not sum up what its row says"

    def knows(self, step):
        return step.get("check", step["name"]) in self.rows

    @functools.cache
    def named(self, name):
        """By its name alone, which only one check may say."""
        return next((row for check in self.rows if (row := self.row(check, name))), None)

    def of_server(self, measurement):
        """What a value that lies in no chip leaves the server, at the best."""
        row = self.named(measurement["name"])
        if row is None or LIMITS[row["limit"]] is None:
            return None
        if self.wrong(row, "", {**measurement, "limits": measurement.get("limits", [])}) or self.impossible(row, measurement):
            return "INCONCLUSIVE"
        return "INCONCLUSIVE" if row["beyond"] == "fail" and measurement.get("result") == "FAILED" else None

    def judge(self, step, chip):
        """Of a step of version 2 that passed or warned; CHIP: where it sits."""
        check, named, has_limit, told = step.get("check", step["name"]), set(), False, set()
        for measurement in step["measurements"]:
            row = self.row(check, measurement["name"])
            if row is None:
                continue
            place, statistic = measurement["place"], measurement.get("statistic")
            is_one = statistic is None or int(measurement["count"]) > 0  # the most of no values is no value
            if is_one:
                named.add(row["name"])
            if LIMITS[row["limit"]] is None:  # it may be given one later
                if measurement["value"] < row.get("least", -math.inf):
                    raise Refused(f"{step['name']}: {measurement['name']} counted nothing")
                continue
            wrong = self.wrong(row, check, measurement) or self.impossible(row, measurement)
            if row["limit"] == "at least" and not measurement["limits"] and measurement["value"] < row.get("least", row.get("value")):
                wrong = wrong or "is less than any limit that it can have"
            if wrong:
                raise Refused(f"{step['name']}: {measurement['name']} {wrong}")
            if row["said"] == "each" and place != chip and not (place.startswith(chip + "/") and PART.fullmatch(place[len(chip) + 1:])):
                raise Refused(f"{step['name']}: {measurement['name']} is of no part of the chip")
            if row["said"] in ("each", "asked") and (measurement["name"], place, statistic) in told:
                raise Refused(f"{step['name']}: {measurement['name']} is said twice of one part")
            told.add((measurement["name"], place, statistic))
            has_limit = has_limit or bool(measurement["limits"]) and is_one
        for row in self.rows.get(check, []):
            if row["said"] == "each" and row["name"] not in named:
                raise Refused(f"{step['name']} is called {step['result']} without a value of {row['name']}")
        if check in self.rows and not has_limit:
            raise Refused(f"{step['name']} is called {step['result']} without a value that has a limit")

    def least(self, step, measurement):
        """What STEP is called, at the least, by a value of it that lies beyond its limit."""
        row = self.row(step.get("check", step["name"]), measurement["name"]) if step["status"] == "COMPLETE" else None
        ours = row and LIMITS[row["limit"]] and not self.wrong(row, step.get("check", step["name"]), measurement)
        return LEAST[row["beyond"]] if ours else "WARNED"
