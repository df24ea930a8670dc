# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is said of a text that is not understood. Pure."""

from __future__ import annotations


class RulesError(ValueError):
    """Text that cannot be read, or a table that cannot be written as text.

    :ivar line: number of the line, from 1; ``None`` when writing
    """

    def __init__(self, why: str, line: int | None = None, text: str = "") -> None:
        self.line = line
        super().__init__(why if line is None else f"line {line}: {text.strip()}: {why}")
