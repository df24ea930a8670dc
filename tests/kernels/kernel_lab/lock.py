# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright (c) netstate.kernel contributors
"""A lock between processes that the operating system lets go when its holder dies; touches the lock file only."""

from __future__ import annotations

import fcntl
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator


@contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Hold the lock at `path`, saying so when another process has to be waited for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another lab that is busy with {what}", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
