# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kernel answered: see tests/unit/data/ipvs-7.2.txt."""

from __future__ import annotations

import pathlib
import re

_FILE = pathlib.Path(__file__).parents[1] / "unit" / "data" / "ipvs-7.2.txt"


def _read() -> dict[str, bytes]:
    text = re.sub(r"^#.*\n", "", _FILE.read_text(encoding="utf-8"), flags=re.M)
    blocks = re.findall(r"^(\S.*)\n((?:    \S+\n?)+)", text, re.M)
    return {name: bytes.fromhex("".join(lines.split())) for name, lines in blocks}


GOLDEN = _read()
