# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Unpacks packages into folders of the cache that appear whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from . import command


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A scratch folder that takes the name `folder` when the block ends well, and vanishes when it does not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # The caller holds the lock of this kernel, so what looks like a scratch folder of it was left by a process that was killed.
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def unpack(debs: Sequence[Path], folder: Path) -> None:
    """The packages' files below `folder`; nothing of them is run."""
    for deb in debs:
        command.run(["dpkg", "-x", deb, folder])
