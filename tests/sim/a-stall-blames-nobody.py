#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

# Processes stand still for half a second to five, once or twice, at any moment of a scan: the simulator, the worker, its children, one of
# them, or all. Sound servers pass all the same, and where a chip hangs it is found and no other one is named. TAP on stdout.
#
#     a-stall-blames-nobody.py BUILD-FOLDER [ROUNDS [SEED]]     (20 rounds; ten at a time, for most of it is waiting)

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

BUILD = os.path.realpath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SIDE_BY_SIDE = 10
SIM, RUN = f"{BUILD}/sim/assay-sim", f"{BUILD}/checks/assay-run"
os.environ.setdefault("ASSAY_PLANS", os.path.join(os.path.dirname(__file__), "../../units/plans"))


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def stall(draw, sim, worker):
    """Stops one of the parties for a while. Returns what it did."""
    kind = draw.choice(["simulator", "simulator", "worker", "children", "one child", "everything"])
    own = children(worker)
    pids = {"simulator": [sim], "worker": [worker], "children": own, "one child": own[:1], "everything": [sim, worker, *own]}[kind]
    seconds = draw.uniform(0.5, 5)
    send(pids, signal.SIGSTOP)
    time.sleep(seconds)
    send(reversed(pids), signal.SIGCONT)
    return f"{kind} for {seconds:.2f} s"


def scenario(draw):
    """A server or four, sound or with a chip that hangs. Returns its text and what of it is scanned."""
    ring = draw.random() < 0.25
    servers = [f"us0-{i}" for i in range(4)] if ring else ["trn-0"]
    text = f"scenario: stall\nseed: {draw.randrange(1 << 30)}\ntopology: {{{'ultraservers' if ring else 'servers'}: 1}}\n"
    if draw.random() < 0.4:
        at = f"{draw.choice(servers)}/chip{draw.randrange(16)}"
        more = draw.choice(["", ", attributes: true", f", after-commands: {draw.randrange(1, 400)}"])
        text += f"faults:\n  - {{at: {at}, kind: hang{more}}}\n"
        text += f"expect:\n  {at}: {{verdict: failed, more: true, findings: [{{code: device-hang, at: {at}}}]}}\n"
    else:
        text += "expect: {}\n"
    return text, ",".join(servers)


def scan(number, folder):
    """One round. Returns what was done, and what is wrong, if anything is."""
    draw = random.Random(SEED * 1000003 + number)
    text, parts = scenario(draw)
    base = f"{folder}/{number}"
    with open(f"{base}.yaml", "w", encoding="ascii") as file:
        file.write(text)
    sim = subprocess.Popen([SIM, "serve", f"{base}.yaml", "--socket", f"{base}.socket"], stdout=subprocess.PIPE)
    sim.stdout.readline()
    with open(f"{base}.jsonl", "wb") as stream:
        worker = subprocess.Popen([RUN, "--device", f"sim:{base}.socket#{parts}", "--plan", "preflight", "--seed", str(draw.randrange(1 << 30))],
                                  stdout=stream)
        did = []
        for _ in range(draw.choice([1, 1, 2])):
            # A scan of a server takes a fifth of a second where nobody else works.
            time.sleep(draw.expovariate(1 / 0.15))
            if worker.poll() is None:
                did.append(stall(draw, sim.pid, worker.pid))
        try:
            status = worker.wait(timeout=120)
        except subprocess.TimeoutExpired:
            send([worker.pid, sim.pid], signal.SIGKILL)
            status = "none in two minutes"
    checked = subprocess.run([SIM, "check", f"{base}.yaml", "--stream", f"{base}.jsonl"], capture_output=True, text=True, check=False)
    sim.terminate()
    sim.wait()
    wrong = checked.stdout + checked.stderr if checked.returncode != 0 else ""
    if status != (1 if "faults" in text else 0):
        wrong += f"exit status {status}\n"
    return text, did, wrong


def main():
    failed, lock = 0, threading.Lock()
    with tempfile.TemporaryDirectory(prefix="assay.") as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        print(f"1..{ROUNDS}", flush=True)
        for number, (text, did, wrong) in enumerate(pool.map(lambda n: scan(n, folder), range(ROUNDS)), 1):
            with lock:
                failed += wrong != ""
                what = "one that hangs" if "faults" in text else "all sound"
                print(f"{'not ok' if wrong else 'ok'} {number} - {what}: {', then '.join(did) or 'it was over before'}")
                for line in (text + wrong).splitlines() if wrong else []:
                    print(f"# {line}")
    return failed > 0


sys.exit(main())
