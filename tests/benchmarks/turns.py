# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measuring several ways in turn, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
import typing as t


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of wall time, one for each round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def shown(self) -> str:
        """Median and, in brackets, the least and the most, in milliseconds."""
        values = [value * 1000 for value in (self.median, min(self.seconds), max(self.seconds))]
        digits = 0 if values[0] >= 100 else 1
        median, least, most = (f"{value:,.{digits}f}" for value in values)
        return f"{median} ({least}–{most})"


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of doing something.

    :ivar prepare: called before each round, unmeasured
    """

    act: t.Callable[[], t.Any]
    prepare: t.Callable[[], t.Any] = lambda: None


def in_turn(what: str, rounds: int, *ways: Way) -> list[Times]:
    """The times of each way, in the order given."""
    seconds: list[list[float]] = [[] for _way in ways]
    for number in range(rounds):
        sys.stderr.write(f"{what}: round {number + 1} of {rounds}\n")
        for way, taken in zip(ways, seconds):
            way.prepare()
            start = time.perf_counter()
            way.act()
            taken.append(time.perf_counter() - start)
    return [Times(tuple(taken)) for taken in seconds]
