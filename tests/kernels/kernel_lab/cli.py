# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The command line of the lab: reads arguments, calls the parts, prints. Answers go to standard output, progress to standard error."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from . import artifact, catalogue, command, fetch, guests, inventory, lock, observe, places, ssh, state
from .catalogue import Kernel
from .failure import LabError, Unavailable
from .places import Places


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab",
        description="Other kernels as guests that Ansible reaches over ssh. README.md beside this command tells more.",
    )
    parser.add_argument("--lab", metavar="NAME", help="which lab; labs of different names do not meet (NETSTATE_LAB; default: lab)")
    parser.add_argument("--cache", metavar="FOLDER", help="what was fetched and built (NETSTATE_LAB_CACHE; default: ~/.cache/netstate-kernel-lab)")
    parser.add_argument("--python", metavar="FILE", help="the guests' Python, with pyroute2 (NETSTATE_LAB_PYTHON; default: the repository's .venv/bin/python)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="the kernels, what is true of them, and which are fetched and up")
    one = commands.add_parser("fetch", help="bring kernels into the cache, building those that are built")
    _names(one)
    one.add_argument("--refresh", action="store_true", help="look for newer packages")
    one = commands.add_parser("up", help="start guests and wait until they answer by ssh")
    _names(one)
    one.add_argument(
        "--at-once", type=int, default=os.cpu_count() or 1, metavar="N", help="how many boot at a time (default: one per processor, %(default)s here)"
    )
    one.add_argument("--timeout", type=float, metavar="SECONDS", help="how long one boot may take (default: by kernel, a minute at least)")
    one = commands.add_parser("run", help="run a command in a guest; its exit status becomes the lab's")
    one.add_argument("name", metavar="NAME")
    one.add_argument("words", metavar="-- COMMAND", nargs=argparse.REMAINDER, help="one word is a line for the guest's shell, more are passed as they are")
    one = commands.add_parser("observe", help="check that the kernels of guests do what the catalogue says")
    _names(one)
    commands.add_parser("inventory", help="print an Ansible inventory of the guests that are up")
    one = commands.add_parser("console", help="print what a guest's kernel and init said")
    one.add_argument("name", metavar="NAME")
    one = commands.add_parser("down", help="end the named guests, or all; the lab goes with the last")
    one.add_argument("names", metavar="NAME", nargs="*")
    return parser


def _names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+", help="a kernel of `lab list`, or all, uml, uml-built, qemu")


def _list(where: Places, kernels: Sequence[Kernel]) -> None:
    rows: list[tuple[str, ...]] = [("NAME", "RELEASE", "RUNS", "ZONES", "ZONE FILTER", "IPVS", "MIB", "BOOT", "STATE")]
    for kernel in kernels:
        found = artifact.read(where.cache, kernel)
        status = "up" if guests.running(where, kernel.name) else "fetched" if found else "-"
        truth = kernel.truth
        release = found.release if found else kernel.release
        zones = "yes" if truth.zones else "no"
        rows.append((kernel.name, release, kernel.runs, zones, truth.zone_filter, truth.ipvs, str(kernel.memory_mib), f"{kernel.boot_seconds} s", status))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _up(where: Places, chosen: Sequence[Kernel], at_once: int, timeout: float | None) -> None:
    guests.check(where)
    fetched = [(kernel, fetch.fetch(where, kernel)) for kernel in chosen]
    with lock.held(_lab_lock(where), f"the lab {where.lab}"):
        guests.prepare(where, chosen)
        guests.up(where, fetched, max(1, at_once), timeout)


def _lab_lock(where: Places) -> Path:
    # Beside the lab's run directory, which `down` removes.
    return where.run.with_name(f"{where.lab}.lock")


def _guest(where: Places, name: str) -> state.Guest:
    guests.need_root()
    guest = guests.running(where, name)
    if guest is None:
        raise LabError(f"{name} is not up in the lab {where.lab}: lab up {name}")
    return guest


def _run(where: Places, name: str, words: Sequence[str]) -> int:
    words = list(words[1:] if words[:1] == ["--"] else words)
    if not words:
        raise LabError("run NAME -- COMMAND: there is no command")
    return subprocess.run(ssh.words(where, _guest(where, name), words), check=False, env=command.environment()).returncode


def _observe(where: Places, chosen: Sequence[Kernel]) -> int:
    wrong = 0
    for kernel in chosen:
        found = observe.differences(kernel.truth, observe.observe(where, _guest(where, kernel.name)))
        wrong += len(found)
        print(f"{kernel.name}: {'; '.join(found) or 'as the catalogue says'}")
    return 1 if wrong else 0


def _inventory(where: Places, kernels: Sequence[Kernel]) -> None:
    guests.need_root()
    running = [(kernel, guests.running(where, kernel.name)) for kernel in kernels]
    sys.stdout.write(inventory.yaml(inventory.tree(where, [(kernel, guest) for kernel, guest in running if guest])))


def _console(where: Places, name: str) -> None:
    guests.need_root()
    path = state.console(where, name)
    if not path.exists():
        raise LabError(f"{name} was not started in the lab {where.lab}")
    sys.stdout.write(path.read_text(encoding="utf-8", errors="replace"))


def _down(where: Places, kernels: Sequence[Kernel], names: Sequence[str]) -> None:
    chosen = [kernel.name for kernel in catalogue.choose(kernels, names)]
    if "all" in names:
        chosen = []
    guests.need_root()
    if chosen and not where.run.exists():
        return
    with lock.held(_lab_lock(where), f"the lab {where.lab}", remove=lambda: not where.run.exists()):
        for name in guests.down(where, kernels, chosen):
            print(f"{name}: ended", file=sys.stderr)
    guests.remove_if_empty(where.run.parent)


def _dispatch(arguments: argparse.Namespace) -> int:
    where = places.choose(lab=arguments.lab, cache=arguments.cache, python=arguments.python)
    kernels = catalogue.load()
    if arguments.command == "list":
        _list(where, kernels)
    elif arguments.command == "fetch":
        for kernel in catalogue.choose(kernels, arguments.names):
            fetch.fetch(where, kernel, arguments.refresh)
    elif arguments.command == "up":
        _up(where, catalogue.choose(kernels, arguments.names), arguments.at_once, arguments.timeout)
    elif arguments.command == "run":
        return _run(where, arguments.name, arguments.words)
    elif arguments.command == "observe":
        return _observe(where, catalogue.choose(kernels, arguments.names))
    elif arguments.command == "inventory":
        _inventory(where, kernels)
    elif arguments.command == "console":
        _console(where, arguments.name)
    elif arguments.command == "down":
        _down(where, kernels, arguments.names)
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 done, 1 failed, 2 not understood, 3 not possible on this machine; with the reason."""
    # A terminated lab cleans up like an interrupted one.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        return _dispatch(_parser().parse_args(words))
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 3 if isinstance(error, Unavailable) else 1
    except OSError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; `lab down` ends what was started", file=sys.stderr)
        return 130
