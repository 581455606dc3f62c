#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

# What `assay-sim coverage` says, counted a second time by a machine that shares nothing with it: faults are written here as
# formulas over x, y, s and not read from texts, and every place and content is run to its end. All tests with a name, and
# notations that nobody has named, drawn from a seed.
#
#     coverage-truth.py ASSAY-SIM [RANDOM-NOTATIONS]

import itertools
import json
import random
import re
import subprocess
import sys

B = (0, 1)


# A primitive: (aggressor state, aggressor ops, victim state, victim ops, F, R); None where there is none. Ops are ('w', d), ('r', d).
def single(state, ops, fault, read=None):
    return (None, None, state, ops, fault, read)


def primitives():
    w, r = (lambda d: ("w", d)), (lambda d: ("r", d))
    c = {}
    c["SAF"] = [single(None, [], y) for y in B]
    c["SF"] = [single(y, [], 1 - y) for y in B]
    c["TF"] = [single(y, [w(1 - y)], y) for y in B]
    c["WDF"] = [single(y, [w(y)], 1 - y) for y in B]
    c["RDF"] = [single(y, [r(y)], 1 - y, 1 - y) for y in B]
    c["DRDF"] = [single(y, [r(y)], 1 - y, y) for y in B]
    c["IRF"] = [single(y, [r(y)], y, 1 - y) for y in B]
    c["CFst"] = [(s, [], y, [], 1 - y, None) for s in B for y in B]
    c["CFds_wt"] = [(s, [w(1 - s)], y, [], 1 - y, None) for s in B for y in B]
    c["CFds_wn"] = [(s, [w(s)], y, [], 1 - y, None) for s in B for y in B]
    c["CFds_r"] = [(s, [r(s)], y, [], 1 - y, None) for s in B for y in B]
    for name, model in (("CFtr", "TF"), ("CFwd", "WDF"), ("CFrd", "RDF"), ("CFdrd", "DRDF"), ("CFir", "IRF")):
        c[name] = [(s, [], *p[2:]) for s in B for p in c[model]]
    c["CFid"] = c["CFds_wt"]
    c["CFin"] = [(s, [w(1 - s)], None, [], "invert", None) for s in B]
    c["dRDF"] = [single(x, [w(y), r(y)], 1 - y, 1 - y) for x in B for y in B]
    c["dDRDF"] = [single(x, [w(y), r(y)], 1 - y, y) for x in B for y in B]
    c["dIRF"] = [single(x, [w(y), r(y)], y, 1 - y) for x in B for y in B]
    c["drrRDF"] = [single(x, [r(x), r(x)], 1 - x, 1 - x) for x in B]
    c["drrDRDF"] = [single(x, [r(x), r(x)], 1 - x, x) for x in B]
    c["drrIRF"] = [single(x, [r(x), r(x)], x, 1 - x) for x in B]
    c["dWW"] = [single(x, [w(y), w(z)], 1 - z) for x in B for y in B for z in B]
    c["dRW"] = [single(x, [r(x), w(y)], 1 - y) for x in B for y in B]
    c["dCFds"] = [(x, [w(y), r(y)], z, [], 1 - z, None) for x in B for y in B for z in B]
    for name, model in (("dCFrd", "dRDF"), ("dCFdrd", "dDRDF"), ("dCFir", "dIRF")):
        c[name] = [(z, [], *p[2:]) for z in B for p in c[model]]
    return c


class Memory:
    """Cells with primitives [(primitive, aggressor, victim)], or a special fault (name, …)."""

    def __init__(self, content, links=(), special=None, sense=0):
        self.cells, self.links, self.special, self.sense = list(content), links, special or ("none",), sense
        self.last = None  # (cell, op, cells before)
        self.settle()

    def settle(self):
        name = self.special[0]
        if name == "SNPSF" and self.around(self.cells) == self.special[1]:
            self.cells[4] = self.special[2]
        for _ in range(8):
            before = list(self.cells)
            for (sa, oa, sv, ov, f, r), a, v in self.links:
                if ov or oa or (sv is not None and self.cells[v] != sv) or (sa is not None and self.cells[a] != sa):
                    continue
                self.cells[v] = f
            if before == self.cells:
                return

    @staticmethod
    def around(cells):
        return (cells[1], cells[3], cells[5], cells[7])

    def ended(self, state, ops, cell, op, before):
        if not ops or ops[-1] != op:
            return False
        if len(ops) == 1:
            return state is None or before[cell] == state
        if self.last is None:
            return False
        last_cell, last_op, last_cells = self.last
        return last_cell == cell and last_op == ops[0] and last_cells[cell] == state and before[cell] == ops[0][1]

    def reached(self, address):
        name = self.special[0]
        if name[:3] != "AF-":
            return [address]
        _, x, y, _, _ = self.special
        if address == x:
            return {"AF-A": [], "AF-B": [], "AF-C": [y], "AF-D": [x, y]}[name]
        return [x, y] if address == y and name == "AF-B" else [address]

    def run(self, address, op):
        before, name, got = list(self.cells), self.special[0], None
        if name == "SOF" and address == self.special[1]:
            got = self.sense if op[0] == "r" else None
        elif op[0] == "w":
            for cell in self.reached(address):
                self.cells[cell] = op[1]
        else:
            values = [self.cells[cell] for cell in self.reached(address)]
            if not values:
                got = self.special[3]
            else:
                got = max(values) if name[:3] == "AF-" and self.special[4] else min(values)
            self.sense = got
        for (sa, oa, sv, ov, f, r), a, v in self.links:
            if ov:
                hit = address == v and self.ended(sv, ov, v, op, before) and (sa is None or before[a] == sa)
            else:
                hit = bool(oa) and address == a and self.ended(sa, oa, a, op, before) and (sv is None or before[v] == sv)
            if hit:
                self.cells[v] = 1 - before[v] if f == "invert" else f
                if r is not None and op[0] == "r":
                    got = r
        if name == "PNPSF" and address == 4 and self.around(before) == self.special[1] and before[4] != self.special[2]:
            self.cells[4] = before[4]
        if name == "ANPSF":
            _, pattern, base, mover = self.special
            if address == mover and self.around(before) == pattern and before[4] == base and self.cells[mover] != before[mover]:
                self.cells[4] = 1 - base
        self.settle()
        self.last = (address, op, before)
        return got

    def pause(self):
        if self.special[0] == "DRF" and self.cells[self.special[1]] == self.special[2]:
            self.cells[self.special[1]] = 1 - self.special[2]


def parse(notation):
    elements = []
    for text in notation.replace(" ", "").strip(";").split(";"):
        if text == "Del":
            elements.append((None, []))
            continue
        direction, ops = re.fullmatch(r"(any|up|dn)\((.*)\)", text).groups()
        elements.append((direction, [(op[0], int(op[1])) for op in ops.split(",")]))
    return elements


def detects(march, memory):
    n = len(memory.cells)
    for direction, ops in march:
        if direction is None:
            memory.pause()
        for address in reversed(range(n)) if direction == "dn" else range(n):
            if direction is None:
                break
            for op in ops:
                got = memory.run(address, op)
                if op[0] == "r" and got != op[1]:
                    return True
    return False


def always(march, n, make, contents=None):
    return all(detects(march, make(content)) for content in contents or itertools.product(B, repeat=n))


def pairs(n, below):
    return [(a, v) for a in range(n) for v in range(n) if a != v and (a < v) == below]


def count(march):
    classes, found = primitives(), {}

    def add(name, hit):
        d, t = found.get(name, (0, 0))
        found[name] = (d + bool(hit), t + 1)

    for name, texts in classes.items():
        for p in texts:
            if p[0] is None and p[1] is None:
                add(name, all(always(march, 4, lambda c, v=v: Memory(c, [(p, v, v)])) for v in range(4)))
            else:
                for below in (True, False):
                    add(name, all(always(march, 4, lambda c, a=a, v=v: Memory(c, [(p, a, v)])) for a, v in pairs(4, below)))
    add("SOF", all(always(march, 4, lambda c, v=v, s=s: Memory(c, special=("SOF", v), sense=s)) for v in range(4) for s in B))
    for x in B:
        add("DRF", all(always(march, 4, lambda c, v=v: Memory(c, special=("DRF", v, x))) for v in range(4)))
    for f in B:
        add("AF-A", all(always(march, 4, lambda c, x=x: Memory(c, special=("AF-A", x, x, f, 0))) for x in range(4)))
    for name, floats, wired in (("AF-B", B, B), ("AF-C", (0,), (0,)), ("AF-D", (0,), B)):
        for f, w, below in itertools.product(floats, wired, (True, False)):
            add(name, all(always(march, 4, lambda c, x=x, y=y: Memory(c, special=(name, x, y, f, w))) for x, y in pairs(4, below)))
    count_linked(march, classes, add)
    spread = [[int(rule(i // 3, i % 3)) ^ flip for i in range(9)] for flip in B
              for rule in (lambda r, c: 0, lambda r, c: (r + c) % 2, lambda r, c: r % 2, lambda r, c: c % 2)]
    for pattern in itertools.product(B, repeat=4):
        for base in B:
            for name in ("SNPSF", "PNPSF"):
                add(name, always(march, 9, lambda c: Memory(c, special=(name, pattern, base)), spread))
            for mover in (1, 3, 5, 7):
                add("ANPSF", always(march, 9, lambda c: Memory(c, special=("ANPSF", pattern, base, mover)), spread))
    return found


def count_linked(march, classes, add):
    firsts = [p for name in ("TF", "WDF", "DRDF", "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFdrd") for p in classes[name]]
    seconds = [p for name in ("WDF", "RDF", "CFds_wt", "CFds_wn", "CFds_r", "CFwd", "CFrd") for p in classes[name]]
    for one, two in itertools.product(firsts, seconds):
        if two[2] != one[4] or two[4] != 1 - one[4]:
            continue
        alone1, alone2 = one[1] is None, two[1] is None
        if alone1 and alone2:
            add("LF1", all(always(march, 3, lambda c, v=v: Memory(c, [(one, v, v), (two, v, v)])) for v in range(3)))
            continue
        name = "LF2va" if alone1 else "LF2av" if alone2 else "LF2aa"
        for below in (True, False):
            add(name, all(always(march, 3, lambda c, a=a, v=v: Memory(c, [(one, a, v), (two, a, v)])) for a, v in pairs(3, below)))
        if name == "LF2aa":
            for a, b, v in itertools.permutations(range(3)):
                add("LF3", always(march, 3, lambda c, a=a, b=b, v=v: Memory(c, [(one, a, v), (two, b, v)])))


def random_notation(rng):
    value, elements = rng.choice(B), []
    elements.append(f"any(w{value})")
    for _ in range(rng.randint(1, 5)):
        if rng.random() < 0.15:
            elements.append("Del")
            continue
        ops = []
        for _ in range(rng.randint(1, 5)):
            if rng.random() < 0.5:
                value = rng.choice(B)
                ops.append(f"w{value}")
            else:
                ops.append(f"r{value}")
        elements.append(f"{rng.choice(('any', 'up', 'dn'))}({','.join(ops)})")
    return ";".join(elements)


def named(sim):
    # The notations themselves are checked against the literature elsewhere; here only their names are needed.
    text = open(sys.path[0] + "/../../checks/memory/march/notation.c").read()
    return [(name, "".join(re.findall(r'"([^"]*)"', body)))
            for name, body in re.findall(r'\{ "([^"]+)", \d+, \d+,\s*((?:"[^"]*"\s*)+)\}', text)]


def main():
    sim, n_random = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    rng = random.Random(4711)
    wanted = named(sim) if n_random >= 0 else []
    if n_random < 20:  # the short run: what the tables of the literature have, and what is short
        wanted = [w for w in wanted if w[0] in ("MATS+", "March C-", "March SS", "March AB", "March G")]
    wanted += [(text, text) for text in (random_notation(rng) for _ in range(n_random))]
    said = json.loads(subprocess.run([sim, "coverage", "--json"] + [name for name, _ in wanted], check=True, capture_output=True).stdout)
    print(f"1..{len(wanted)}")
    failed = 0
    for i, ((name, notation), got) in enumerate(zip(wanted, said), 1):
        truth = count(parse(notation))
        wrong = {c: (got["classes"].get(c), list(t)) for c, t in truth.items() if got["classes"].get(c) != list(t)}
        if set(got["classes"]) != set(truth):
            wrong["classes"] = sorted(set(got["classes"]) ^ set(truth))
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {i} - {name}" + (f" # {wrong}" if wrong else ""), flush=True)
    return failed > 0


sys.exit(main())
