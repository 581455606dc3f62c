# SPDX-License-Identifier: Apache-2.0
"""What the checks of assay say they measure, for verify.py: the table that `assay-run --describe --json` prints, and whether the values of a step are
those that its check says each time, against the limits that it says. What the table does not know is of a later assay, and is taken as it is."""
import functools
import json
import re

from envelopes import Refused

LIMITS = {"no limit": None, "at most": "LESS_THAN_OR_EQUAL", "at least": "GREATER_THAN_OR_EQUAL", "exactly": "EQUAL"}
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
        return None if limits[0]["value"] == row.get("value", limits[0]["value"]) else "has another limit"

    def judge(self, step):
        """Of a step of version 2 that passed or warned."""
        check, named, has_limit = step.get("check", step["name"]), set(), False
        for measurement in step["measurements"]:
            row = self.row(check, measurement["name"])
            if row is None:
                continue
            named.add(row["name"])
            if LIMITS[row["limit"]] is None:  # it may be given one later
                continue
            wrong = self.wrong(row, check, measurement)
            if wrong:
                raise Refused(f"{step['name']}: {measurement['name']} {wrong}")
            has_limit = has_limit or bool(measurement["limits"])
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
