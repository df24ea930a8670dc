# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The most entries that a namespace may hold: a setting of the whole host, raised for a run and set back whatever happens."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import typing as t

PATH = "/proc/sys/net/netfilter/nf_conntrack_max"
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def raised(more: int, path: str = PATH) -> t.Iterator[int]:
    """Raises the limit by ``more`` and gives the new one; to be called in the main thread, in the host's first namespace.

    Signals that end a process end the block by an exception first. Of two runs the second waits for the first, or it would take
    the first one's limit for the host's.
    """
    with _ends_by_exception(), open(path, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = int(file.read())
        wanted = before + more if before else 0  # 0 is no limit
        try:
            _write(path, wanted)
            yield wanted
        finally:
            _write(path, before)


def _write(path: str, value: int) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{value}\n")


@contextlib.contextmanager
def _ends_by_exception() -> t.Iterator[None]:
    def end(number: int, _frame: object) -> t.NoReturn:
        for ending in _ENDINGS:  # a second one must not interrupt the setting back
            signal.signal(ending, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
