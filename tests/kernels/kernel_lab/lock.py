# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""A lock between processes that the operating system lets go when its holder dies; touches the lock file only."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Callable, Iterator


def _open(path: Path) -> IO[str]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return path.open("w", encoding="utf-8")
        except FileNotFoundError:
            continue  # Another process removed the folder in between.


def _is_at(handle: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def held(path: Path, what: str, remove: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold the lock at `path`, saying so when another process has to be waited for. The file goes if `remove` says so at the end."""
    while True:
        with _open(path) as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"waiting for another process that is busy with {what}", file=sys.stderr)
                fcntl.flock(handle, fcntl.LOCK_EX)
            if not _is_at(handle, path):
                continue  # Its last holder removed it: the lock is now on another file.
            try:
                yield
            finally:
                if remove():
                    path.unlink(missing_ok=True)
            return
