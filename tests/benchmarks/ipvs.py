# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""ipvs.py [--kernel NAME] [--rounds N] [--output FILE] [SERVICESxDESTINATIONS...]: measures against ipvsadm, in a guest of the lab.

Needs root and what tests/kernels needs. Writes docs/benchmarks-ipvs.md, whose every figure is of the run that wrote it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

from comparison import Comparison
from markdown_table import table
from turns import Times

CLONE = Path(__file__).resolve().parents[2]
SHAPES = ["1000x4", "2000x2", "8000x2", "16000x1", "100x100"]

METHOD = """\
# Benchmarks of IPVS

Written by `make bench-ipvs`; no figure was typed by hand. Ours is the modules' code called in a running Python, from options to the result,
without Ansible's start. The peers are the commands of ipvsadm, their start included, writing to and reading from a file. Both are measured in
turn in one run on a guest of [the lab](../tests/kernels/README.md), and each is checked to have seen or made the whole table. The table shows
medians of wall time with the least and the most in brackets; a ratio is ours ÷ peer, of the medians.

*Reading* is services, destinations and connections, read until they are consistent; *gathering* is the state `gathered`, with the result as the
module returns it. *Unchanged* is the state `overridden` with what is there already, from the options to `before` and `after`; its peer is our
own reading. *Loading* is the same from an empty table, and read back.

A service whose destinations come in more than one datagram of the kernel's is read until two readings agree: one may
miss a destination when others go meanwhile. That is twice the work of `ipvsadm -Sn`, which takes the first for true.
"""
UNCHANGED = {(8000, 2): 1.5}  # the largest ratio aimed at, of the tables for which there is one


def comparisons(result: dict[str, t.Any]) -> list[Comparison]:
    times = {name: Times(tuple(seconds)) for name, seconds in result["seconds"].items()}
    what = "{:,} × {:,}, ".format(*result["shape"])
    return [
        Comparison(what + "reading", times["read"], "ipvsadm -Sn", times["peer"], 1.0),
        Comparison(what + "gathering", times["gather"], "ipvsadm -Sn", times["peer"]),
        Comparison(what + "unchanged", times["unchanged"], "our reading", times["read"], UNCHANGED.get(tuple(result["shape"]))),
        Comparison(what + "loading", times["load_ours"], "ipvsadm-restore", times["load_peer"], 1.5),
    ]


def document(found: dict[str, t.Any], loads: tuple[float, float]) -> str:
    machine = [
        ("Date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("Kernel of the guest", found["kernel"]),
        ("Python of the guest", found["python"]),
        ("Peer", found["peer"]),
        ("Load average (1 min) of the machine", f"{loads[0]:.2f} before, {loads[1]:.2f} at the end of the run, which itself keeps a core busy"),
    ]
    rows = [
        (
            one.scenario,
            one.ours.shown(),
            one.theirs.shown(),
            f"`{one.command}`" if one.command.startswith("ipvsadm") else one.command,
            str(len(one.ours.seconds)),
            f"{one.ratio:.2f}",
            "–" if one.target is None else f"≤ {one.target}",
            one.verdict(),
        )
        for result in found["results"]
        for one in comparisons(result)
    ]
    memory = [
        ("{:,} × {:,}".format(*result["shape"]), *(f"{result['memory'][job] / (1 << 20):.1f}" for job in ("gather", "unchanged", "load")))
        for result in found["results"]
    ]
    head = ["Services × destinations each", "Ours, ms", "Peer, ms", "Peer", "Rounds", "Ratio", "Target", "Result"]
    return "\n".join(
        [
            METHOD,
            table(["Machine", ""], machine),
            "## Time\n",
            table(head, rows),
            "## Memory\n",
            "Growth of the resident set at its peak, in a fresh process, beyond what Python, the imports and the options take; in MiB.\n",
            table(["Services × destinations each", "Gathering", "Unchanged", "Loading"], memory),
        ]
    )


def lab(*words: str, **options: t.Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CLONE / "tests/kernels/lab"), *words], check=True, text=True, **options)


def measure(kernel: str, rounds: int, shapes: list[str]) -> dict[str, t.Any]:
    os.environ.setdefault("NETSTATE_LAB", f"bench-{os.getpid()}")
    os.environ["NETSTATE_LAB_PYTHON"] = sys.executable
    command = [sys.executable, "-B", str(CLONE / "tests/benchmarks/ipvs_guest.py"), str(rounds), *shapes]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the guest ends with a run that is ended
    try:
        lab("up", kernel)
        done = lab("run", kernel, "--", shlex.join(command), stdout=subprocess.PIPE)
    finally:
        lab("down", kernel)
    return json.loads(done.stdout)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measures ipvs_services and ipvs_facts against ipvsadm.")
    parser.add_argument("shapes", nargs="*", default=SHAPES, help="SERVICESxDESTINATIONS (default: %(default)s)")
    parser.add_argument("--kernel", default="uml-6.12", help="a guest of the lab with IPVS (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each way (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=CLONE / "docs/benchmarks-ipvs.md", help="(default: %(default)s)")
    chosen = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    found = measure(chosen.kernel, chosen.rounds, chosen.shapes)
    text = document(found, (before, os.getloadavg()[0]))
    chosen.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
