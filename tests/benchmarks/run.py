# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""run.py [--entries N] [--zones N] [--rounds N] [--output FILE] [--quick]: measures against the conntrack command.

Needs root. Works in a network namespace of its own; on the host it raises net.netfilter.nf_conntrack_max and sets it back. Writes
docs/benchmarks.md, whose every figure is of the run that wrote it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import typing as t
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]
SOURCES = [str(CLONE / ".dev"), str(CLONE / "tests" / "support")]


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the conntrack modules against the conntrack command.")
    parser.add_argument("--entries", type=int, default=500000, help="of the table (default: %(default)s)")
    parser.add_argument("--zones", type=int, default=500, help="they are spread over (default: %(default)s)")
    parser.add_argument("--large", type=int, default=200000, help="entries of the large zone (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="of each way of a short scenario (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=CLONE / "docs" / "benchmarks.md", help="(default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few thousand entries, one round: does it run at all?")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.entries, chosen.zones, chosen.large, chosen.rounds = 4000, 20, 1000, 1
    if chosen.entries % chosen.zones or chosen.large % (chosen.entries // chosen.zones) or chosen.large >= chosen.entries:
        parser.error("--zones must divide --entries, and a zone's share must divide --large, which must be less than --entries")
    return chosen


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    sys.path[:0] = SOURCES
    # For the children: probes of memory, Ansible.
    os.environ["PYTHONPATH"] = os.pathsep.join(SOURCES)
    os.environ["ANSIBLE_CONFIG"] = str(CLONE / "ansible.cfg")
    session: t.Any = importlib.import_module("session")
    return session.hold(chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
