#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

# A worker, or its child, is killed by SIGKILL right after the device has answered one of the batches around which errors are planted; the
# scan after it passes as if nothing had been. Between assay-run and assay-sim sits a proxy that passes packets on and kills.
#
#     killed-for-real.py ASSAY-RUN ASSAY-SIM SCENARIO

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HEADER, COMMAND = 16, 120  # bytes of WireBatch, WireCommand
ATTRIBUTE_WRITE = 2
CHIP_ALL = 0xFF
BATCH_MAX = HEADER + 256 * COMMAND
AFTER = (0, 1, 2, 3)  # batches behind the first that announces something


def writes_attribute(packet):
    commands = range(HEADER, len(packet) - COMMAND + 1, COMMAND)
    return any(struct.unpack_from("=H", packet, at)[0] == ATTRIBUTE_WRITE for at in commands)


def children(pid):
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as stat:
                if entry.isdigit() and int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                    yield int(entry)
        except OSError:
            pass


class Proxy:
    """Kills VICTIM after the answer to the AFTER-th batch behind the first that writes an attribute."""

    def __init__(self, path, below, victim, after):
        self.below, self.victim, self.left, self.killed = below, victim, after, None
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def kill(self, client):
        worker = struct.unpack("=iII", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        self.killed = worker if self.victim == "worker" else next(children(worker))
        os.kill(self.killed, signal.SIGKILL)

    def pass_on(self, client):
        device = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        device.connect(self.below)
        announced = striking = False
        chip = None  # that the connection is for; the claim is written over that of the server
        with client, device:
            while True:
                for ready in select.select([client, device], [], [])[0]:
                    try:
                        packet, fds, _, _ = socket.recv_fds(ready, BATCH_MAX, 1)
                    except OSError:
                        return
                    if not packet:
                        return
                    if ready is client:
                        chip = struct.unpack_from("=I", packet, len(packet) - 8)[0] if chip is None else chip
                        announced = announced or (chip != CHIP_ALL and len(packet) > HEADER + COMMAND and writes_attribute(packet))
                        striking = announced and self.killed is None and self.left == 0
                        self.left -= announced
                    elif striking:
                        self.kill(client)
                        return
                    socket.send_fds(device if ready is client else client, [packet], fds)
                    for fd in fds:
                        os.close(fd)


def scan(run, path, chip):
    command = [run, "--device", f"sim:{path}#{chip}", "--plan", "preflight", "--seed", "1", "--deadline-scale", "10"]
    result = subprocess.run(command, stdout=subprocess.PIPE, timeout=300)
    return result.returncode, result.stdout.decode().splitlines()


def steps(lines):
    """The verdict of each step, and what was found."""
    verdicts, found = {}, []
    for line in lines:
        step = json.loads(line).get("testStepArtifact", {})
        extension = step.get("extension", {})
        if extension.get("name") == "assay-step":
            verdicts[step["testStepId"]] = extension["content"]["verdict"]
        elif "diagnosis" in step:
            found.append(step["diagnosis"]["verdict"])
    return verdicts, found


def main(run, sim, scenario):
    folder = tempfile.mkdtemp(prefix="assay-killed-")
    below = os.path.join(folder, "sim")
    simulator = subprocess.Popen([sim, "serve", scenario, "--socket", below], stdout=subprocess.DEVNULL)
    wrong, number = [], 0
    try:
        while not os.path.exists(below):
            time.sleep(0.01)
        wanted = [verdict for _, verdict in sorted(steps(scan(run, below, "us0-2/chip0")[1])[0].items())]
        for victim in ("worker", "child"):
            for after in AFTER:
                chip, number = f"us0-1/chip{number}", number + 1
                path = os.path.join(folder, f"proxy{number}")
                proxy = Proxy(path, below, victim, after)
                status, lines = scan(run, path, chip)
                if proxy.killed is None or (victim == "worker") != (status == -signal.SIGKILL):
                    wrong.append(f"{victim}, {after}: nobody was killed: {status}")
                verdicts, found = steps(scan(run, below, chip)[1])
                if found or [verdict for _, verdict in sorted(verdicts.items())] != wanted:
                    wrong.append(f"{victim}, {after}: {found} {verdicts}")
    finally:
        simulator.terminate()
        simulator.wait()
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    print("\n".join(wrong) or f"{number} killed scans, {number} passed after them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
