# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""A process by pid and start time, so that a pid used again by a stranger is never taken for it. Reads /proc, sends signals."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """`started` is in clock ticks since boot, field 22 of /proc/PID/stat."""

    pid: int
    started: int


def parse_start(stat: str) -> int | None:
    """The start time in the text of /proc/PID/stat; None for a zombie, which runs no more. The name in parentheses may hold anything."""
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


def identify(pid: int, proc: Path = Path("/proc")) -> Process | None:
    """The running process with that pid, or None."""
    try:
        started = parse_start((proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return None if started is None else Process(pid, started)


def runs(process: Process) -> bool:
    return identify(process.pid) == process


def kill(process: Process, patience: float = 10) -> bool:
    """End the process and wait until it is gone; False where it was gone before. Never touches a stranger with its pid."""
    if not runs(process):
        return False
    os.kill(process.pid, signal.SIGKILL)
    end = time.monotonic() + patience
    while runs(process) and time.monotonic() < end:
        _reap(process.pid)
        time.sleep(0.02)
    return True


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
