# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that is measured against: conntrack(8), written in C, whose output goes nowhere."""

from __future__ import annotations

import re
import subprocess

_COUNT = re.compile(r"(\d+) flow entries have been (?:deleted|shown)")


def flush_zone(zone: int, expected: int) -> None:
    _run(["-D", "-w", str(zone)], expected)


def list_all(expected: int) -> None:
    _run(["-L"], expected)


def version() -> str:
    done = subprocess.run(["conntrack", "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def _run(arguments: list[str], expected: int) -> None:
    command = ["conntrack"] + arguments
    # It fails where nothing was deleted, so the count in its last line tells whether it worked.
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    found = _COUNT.search(done.stderr)
    if not found or int(found.group(1)) != expected:
        raise RuntimeError(f"{' '.join(command)}: {expected} entries were expected: {done.stderr.strip()}")
