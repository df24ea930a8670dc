# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line of the table: ours, the peer's, and what their ratio was meant to be."""

from __future__ import annotations

import dataclasses

from turns import Times


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Of the same work done twice.

    :ivar command: the peer's
    :ivar target: the largest ratio aimed at; ``None`` for a line that is stated only
    :ivar calls: how many of the peer's calls do what one of ours does
    """

    scenario: str
    ours: Times
    command: str
    theirs: Times
    target: float | None = None
    calls: int = 1

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return self.ours.median / (self.theirs.median * self.calls)

    def verdict(self) -> str:
        if self.target is None:
            return "stated"
        return verdict(self.ratio, self.target)


def verdict(value: float, most: float) -> str:
    """Whether a value is as small as it was meant to be, or by how much it is not."""
    if value <= most:
        return "met"
    return f"missed by {(value / most - 1) * 100:.1f} %"
