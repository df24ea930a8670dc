# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright (c) netstate.kernel contributors
"""A disk image with a Python environment for QEMU guests, whose view of the machine's files is slow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Tuple


@dataclass(frozen=True)
class Image:
    path: Path
    folders: Tuple[str, ...]


def image(cache: Path, python: Path) -> Image:
    raise NotImplementedError
