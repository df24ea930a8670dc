# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured on, and whether it was quiet."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import os
import platform
import time

import peer
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import table

QUIET = 1.5  # load average
QUIET_CORES = 0.2  # used by others


@dataclasses.dataclass(frozen=True)
class Description:
    """:ivar load: the load average of the last minute before the run"""

    rows: tuple[tuple[str, str], ...]
    load: float


def describe() -> Description:
    rows = (
        ("Date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("Kernel", platform.release()),
        ("CPU", f"{_model()}, {len(os.sched_getaffinity(0))} cores"),
        ("Hash table", f"{table.buckets():,} buckets"),
        ("Python", platform.python_version()),
        ("pyroute2", importlib.metadata.version("pyroute2")),
        ("Peer", peer.version()),
    )
    return Description(rows, load())


def load() -> float:
    """Of the last minute."""
    return os.getloadavg()[0]


class Watch:
    """From its making on: how many cores other processes used."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._busy, self._own = _busy(), _own()

    def others(self) -> float:
        elapsed = time.monotonic() - self._start
        return max(0.0, (_busy() - self._busy) - (_own() - self._own)) / elapsed


def _busy() -> float:
    """Seconds of CPU time used by all of the machine's processes and its kernel."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq = (int(part) for part in file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def _model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            name, _colon, value = line.partition(":")
            if name.strip() in ("model name", "Model"):
                return value.strip()
    return platform.machine()
