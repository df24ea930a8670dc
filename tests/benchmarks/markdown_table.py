# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of the written documents."""

from __future__ import annotations

import typing as t


def table(head: t.Sequence[str], rows: t.Sequence[t.Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
