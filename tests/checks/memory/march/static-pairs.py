#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every static fault between two bits of one access, counted without a simulator: 36 primitives, 65,280 ordered pairs of bits, every
# content before, under the marches and backgrounds of a plan. The fault is written and then disturbed, as sim/memory/structures/primitive.h has it.
#
# A pass alone must find a pair: what earlier passes add is not counted. Of the background "address" each of the four values that two
# bits have is as likely as the others, so it counts with its share, over all accesses.
#
# usage: static-pairs.py PLAN.yaml SHARE: the share that is found must be that, in percent to one digit.

import functools
import itertools
import re
import sys

NAMED = {
    "March SS": "any(w0);up(r0,r0,w0,r0,w1);up(r1,r1,w1,r1,w0);dn(r0,r0,w0,r0,w1);dn(r1,r1,w1,r1,w0);any(r0)",
    "MATS++": "any(w0);up(r0,w1);dn(r1,w0,r0)",
    "March SL": "any(w0);up(r0,r0,w1,w1,r1,r1,w0,w0,r0,w1);up(r1,r1,w0,w0,r0,r0,w1,w1,r1,w0);"
    "dn(r0,r0,w1,w1,r1,r1,w0,w0,r0,w1);dn(r1,r1,w0,w0,r0,r0,w1,w1,r1,w0)",
}
BITS = 256


def primitives():
    """(state and operation of the aggressor, of the victim, what it then holds, what a read of it gives)"""
    for s, y in itertools.product((0, 1), repeat=2):
        yield (s, None), (y, None), 1 - y, None
    for start, kind in itertools.product((0, 1), ("w0", "w1", "r")):
        for y in (0, 1):
            yield (start, kind), (y, None), 1 - y, None
    for s, x in itertools.product((0, 1), repeat=2):
        yield (s, None), (x, f"w{1 - x}"), x, None
        yield (s, None), (x, f"w{x}"), 1 - x, None
        yield (s, None), (x, "r"), 1 - x, 1 - x
        yield (s, None), (x, "r"), 1 - x, x
        yield (s, None), (x, "r"), x, 1 - x


def finds(operations, fault, background, before):
    """Whether a read of the victim differs: BACKGROUND and BEFORE are the bits of aggressor and victim."""
    (s_a, op_a), (s_v, op_v), becomes, reads = fault
    a, v = before

    def settle():
        nonlocal v
        if op_a is None and op_v is None and (a, v) == (s_a, s_v):
            v = becomes

    settle()
    for op, data in operations:
        want_a, want_v = background[0] ^ data, background[1] ^ data
        is_write = op == "w"
        by_victim = op_v is not None and (a, v) == (s_a, s_v) and op_v == (f"w{want_v}" if is_write else "r")
        by_aggressor = op_a is not None and a == s_a and op_a == (f"w{want_a}" if is_write else "r")
        got = v
        if is_write:
            a, v = want_a, want_v
        elif by_aggressor and v != s_v:
            by_aggressor = False
        if by_victim:
            got = reads if reads is not None else got
            v = becomes
        if by_aggressor and v == s_v:
            v = becomes
        if not is_write and got != want_v:
            return True
        settle()
    return False


def plan_of(text):
    step = re.search(r"- check: hbm\n((?:(?!  - check).*\n)*)", text).group(1)

    def value(key, otherwise):
        found = re.search(rf'\b{key}: ("[^"]*"|\[[^\]]*\]|[^,}}\n]*)', step)
        return found.group(1).strip('"[]') if found else otherwise

    march, others = value("march", "March SS"), value("others", "MATS++")
    return march, others, [b.strip() for b in value("backgrounds", "solid, address").split(",")]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        march, others, backgrounds = plan_of(file.read())
    tests = [re.findall(r"([rw])([01])", NAMED.get(t, t)) for t in (march, others)]
    tests = [[(op, int(data)) for op, data in t] for t in tests]
    faults = list(primitives())
    assert len(faults) == 36
    found = {}
    for t, background in itertools.product((0, 1), itertools.product((0, 1), repeat=2)):
        found[t, background] = [all(finds(tests[t], f, background, b) for b in itertools.product((0, 1), repeat=2)) for f in faults]

    @functools.lru_cache(maxsize=None)
    def share_of(shown):
        """How many of the faults are found where pairs of bits held SHOWN: pairs of a test and values, None for any values."""
        n = 0.0
        for f in range(36):
            missed = 1.0
            for t, values in shown:
                among = [values] if values else list(itertools.product((0, 1), repeat=2))
                missed *= 1 - sum(found[t, b][f] for b in among) / len(among)
            n += 1 - missed
        return n

    total = 0.0
    pairs = [(a, v) for a in range(BITS) for v in range(BITS) if a != v]
    for a, v in pairs:
        shown = set()
        for i, name in enumerate(backgrounds):
            stripe = int(name[-1]) if name.startswith("bit-stripe-") else None
            values = (0, 0) if stripe is None else (a >> stripe & 1, v >> stripe & 1)
            shown.add((min(i, 1), None if name == "address" else values))
        total += share_of(frozenset(shown))

    share = f"{100 * total / 36 / len(pairs):.1f}"
    print(f"1..1\n# {total:.0f} of {36 * len(pairs)} faults are found: {share} %")
    print(f"{'ok' if share == sys.argv[2] else 'not ok'} 1 - {sys.argv[2]} % of static faults between bits of an access")
    return share != sys.argv[2]


if __name__ == "__main__":
    sys.exit(main())
