# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""ipvs_guest.py ROUNDS SERVICESxDESTINATIONS...: measures in this network namespace, whose services go; prints JSON. See ipvs.py, which starts it.

Ours is the modules' code called in a running Python, from options to result; the peers are ipvsadm's commands, their start included.
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CLONE / ".dev"))

# pylint: disable=wrong-import-position
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import services, snapshot  # noqa: E402
from turns import Way, in_turn  # noqa: E402

EVERYTHING = {"all": True, "addresses": None, "fwmarks": None, "protocols": None, "families": None}


class Shape(t.NamedTuple):
    """A table of so many services, each with so many destinations."""

    services: int
    destinations: int

    @classmethod
    def parse(cls, text: str) -> Shape:
        return cls(*(int(part) for part in text.split("x")))

    def config(self) -> list[dict[str, t.Any]]:
        destinations = [
            {"address": f"172.16.{number >> 8}.{number & 255}", "port": 8080, "forward": "masquerade", "weight": 1}
            for number in range(self.destinations)
        ]
        return [
            {"protocol": "tcp", "address": f"10.0.{number >> 8}.{number & 255}", "port": 80, "scheduler": "wlc", "destinations": destinations}
            for number in range(self.services)
        ]

    def lines(self) -> int:
        return self.services * (1 + self.destinations)


def measured(shape: Shape, rounds: int) -> dict[str, t.Any]:
    """Seconds of each way, and what ours took of memory."""
    config = shape.config()
    with tempfile.NamedTemporaryFile("w+", suffix=".rules") as rules:
        clear()
        reconcile(config, shape.lines())
        save(rules.name)
        load_ours, load_peer = in_turn(
            f"load {shape}",
            (rounds + 1) // 2,  # each takes far longer than a reading
            Way(lambda: reconcile(config, shape.lines()), clear),
            Way(lambda: restore(rules.name), clear),
        )
        read, gather, unchanged, peer = in_turn(
            f"read {shape}",
            rounds,
            Way(lambda: expect(shape, counted(snapshot.read().table))),
            Way(lambda: expect(shape, len(services.gather(None)["gathered"]) * (1 + shape.destinations))),
            Way(lambda: reconcile(config, 0)),
            Way(lambda: save(rules.name)),
        )
        expect(shape, len(Path(rules.name).read_text(encoding="ascii").splitlines()))
    memory = {job: in_child(job, shape) for job in ("gather", "unchanged", "load")}
    clear()
    times = {"load_ours": load_ours, "load_peer": load_peer, "read": read, "gather": gather, "unchanged": unchanged, "peer": peer}
    return {"shape": shape, "memory": memory, "seconds": {name: one.seconds for name, one in times.items()}}


def reconcile(config: list[dict[str, t.Any]], steps: int) -> None:
    options = {"state": "overridden", "config": config, "scope": EVERYTHING, "drain": None}
    result = services.reconcile(services.goal_of(options), None, check=False, load_modules=True)
    if len(result["commands"]) != steps or len(result["after"]) != len(config):
        raise RuntimeError(f"{steps} steps were expected: {result['operations']}")


def counted(table: t.Mapping[t.Any, t.Any]) -> int:
    return sum(1 + len(held.destinations) for held in table.values())


def expect(shape: Shape, lines: int) -> None:
    if lines != shape.lines():
        raise RuntimeError(f"{shape}: {lines} services and destinations were seen")


def clear() -> None:
    subprocess.run(["ipvsadm", "-C"], check=True)


def save(path: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        subprocess.run(["ipvsadm", "-Sn"], stdout=file, check=True)


def restore(path: str) -> None:
    with open(path, encoding="ascii") as file:
        subprocess.run(["ipvsadm-restore"], stdin=file, check=True)


def in_child(job: str, shape: Shape) -> int:
    """How many bytes the resident set of a new process grew beyond what Python, the imports and the options take."""
    if job == "load":
        clear()
    done = subprocess.run([sys.executable, __file__, "--memory", job, f"{shape.services}x{shape.destinations}"], stdout=subprocess.PIPE, check=True)
    return int(done.stdout)


def grown(job: str, shape: Shape) -> int:
    config = shape.config()
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # makes the peak what is resident now
    before = status("VmRSS")
    if job == "gather":
        services.gather(None)
    else:
        reconcile(config, shape.lines() if job == "load" else 0)
    return status("VmHWM") - before


def status(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    if not found:
        raise RuntimeError(f"/proc/self/status has no {name}")
    return int(found.group(1)) << 10


def main(arguments: list[str]) -> None:
    if arguments[0] == "--memory":
        print(grown(arguments[1], Shape.parse(arguments[2])))
        return
    subprocess.run(["modprobe", "-qa", "ip_vs", "ip_vs_wlc"], check=False)
    version = subprocess.run(["ipvsadm", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split(" (")[0]
    results = [measured(Shape.parse(text), int(arguments[0])) for text in arguments[1:]]
    print(json.dumps({"kernel": platform.release(), "python": platform.python_version(), "peer": version, "results": results}))


if __name__ == "__main__":
    main(sys.argv[1:])
