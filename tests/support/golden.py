# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages that a kernel really sent, by name; see ``tests/unit/data``."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "unit" / "data" / "ctnetlink-6.18.txt"


def read() -> dict[str, bytes]:
    """All of the file, in its order."""
    found: dict[str, str] = {}
    name = ""
    for line in FILE.read_text(encoding="ascii").splitlines():
        if line.startswith("    "):
            found[name] += line.strip()
        elif line and not line.startswith("#"):
            name = line
            found[name] = ""
    return {name: bytes.fromhex(digits) for name, digits in found.items()}


MESSAGES = read()
ENTRIES = {name: message for name, message in MESSAGES.items() if "stats" not in name}
