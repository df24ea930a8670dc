# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flushes and walks that are compared, and the state of the table that each begins with."""

from __future__ import annotations

import ours
import peer
from comparison import Comparison
from population import Population
from turns import Way, in_turn

SMALL_ZONE = 7  # any one that stays in both shapes of the table


class Scenarios:
    """Each method measures one scenario.

    :ivar notes: sentences on what the lines of the table leave unsaid, from what was measured
    """

    def __init__(self, population: Population, rounds: int) -> None:
        self._population = population
        self._rounds = rounds
        self._few = (rounds + 1) // 2  # for what takes many seconds
        self.notes: list[str] = []

    def small_zone(self) -> Comparison:
        share = self._population.share
        mine, theirs = in_turn(
            f"zone of {share}",
            self._rounds,
            Way(lambda: ours.flush_zones(str(SMALL_ZONE), share), self._restore),
            Way(lambda: peer.flush_zone(SMALL_ZONE, share), self._restore),
        )
        return Comparison(f"flush of a zone of {share:,}, with exact counts", mine, "conntrack -D -w", theirs, 0.09)

    def empty_zone(self) -> Comparison:
        zone = self._population.empty_zone
        mine, theirs, floor = in_turn(
            "empty zone",
            self._rounds,
            Way(lambda: ours.flush_zones(str(zone), 0), self._restore),
            Way(lambda: peer.flush_zone(zone, 0)),
            Way(lambda: ours.receive_only(zone)),
        )
        self.notes.append(
            "Where the time for an empty zone goes, and most of that for a small one: the kernel walks the whole table to answer a dump of the zone"
            f" with nothing, which takes {floor.shown()} ms. With this alone the ratio would be {floor.median / theirs.median:.3f}."
        )
        return Comparison("flush of an empty zone", mine, "conntrack -D -w", theirs, 0.08)

    def old_kernel(self) -> Comparison:
        share = self._population.share
        mine, theirs = in_turn(
            "as on old kernels",
            self._rounds,
            Way(lambda: ours.flush_as_on_old_kernels(SMALL_ZONE, share), self._restore),
            Way(lambda: peer.flush_zone(SMALL_ZONE, share), self._restore),
        )
        scenario = f"flush of a zone of {share:,} as on a kernel without the zone filter (forced)"
        return Comparison(scenario, mine, "conntrack -D -w", theirs, 0.95)

    def whole_walk(self) -> Comparison:
        entries = self._population.entries
        mine, theirs, floor = in_turn(
            "walk",
            self._rounds,
            Way(lambda: ours.count_zones(entries), self._restore),
            Way(lambda: peer.list_all(entries)),
            Way(ours.receive_only),
        )
        self.notes.append(
            "Where the time of the walk goes: receiving all messages and throwing them away, which is mostly the kernel's work, takes"
            f" {floor.shown()} ms."
        )
        return Comparison("whole-table walk for the facts `zones`", mine, "conntrack -L", theirs, 0.7)

    def all_zones(self) -> Comparison:
        zones, share = self._population.zones, self._population.share
        mine, last, theirs = in_turn(
            "all zones",
            self._few,
            Way(lambda: ours.flush_zones(f"1-{zones}", zones * share), self._restore),
            Way(lambda: peer.flush_zone(SMALL_ZONE, 0)),
            Way(lambda: peer.flush_zone(SMALL_ZONE, share), self._restore),
        )
        self._restore()
        result = Comparison(f"flush of all {zones} zones in one call", mine, "conntrack -D -w", theirs, 0.02, zones)
        mean = (theirs.median + last.median) / 2
        self.notes.append(
            f"The peer's calls for all zones were not made: one call on the full table is multiplied by {zones}. The table would shrink"
            f" from call to call: on the emptied table a call takes {last.shown()} ms. With the mean of the first and the last call the"
            f" ratio would be {mine.median / (mean * zones):.4f}."
        )
        return result

    def large_zone(self) -> list[Comparison]:
        large, zone = self._population.large, self._population.large_zone
        chosen: list[str] = []
        mine, by_entries, reading, flushing, theirs = in_turn(
            f"zone of {large}",
            self._few,
            Way(lambda: chosen.append(ours.flush_zones(str(zone), large)), lambda: self._restore(zone)),
            Way(lambda: ours.flush_zones(str(zone), large, ours.ENTRIES), lambda: self._restore(zone)),
            Way(lambda: ours.receive_only(zone), lambda: self._restore(zone)),
            Way(lambda: ours.flush_only(zone)),
            Way(lambda: peer.flush_zone(zone, large), lambda: self._restore(zone)),
        )
        self.notes.append(
            f"Where the time for the zone of {large:,} goes: receiving its messages and throwing them away takes {reading.shown()} ms, the"
            f" kernel's own flush {flushing.shown()} ms. With these alone the ratio would be"
            f" {(reading.median + flushing.median) / theirs.median:.3f}; counts and proof need the reading."
        )
        scenario = f"flush of a zone of {large:,}, method "
        method = f"auto (chose {', '.join(sorted(set(chosen)))})"
        return [
            Comparison(scenario + method, mine, "conntrack -D -w", theirs, 0.25),
            Comparison(scenario + "entries (forced)", by_entries, "conntrack -D -w", theirs),
        ]

    def _restore(self, zone: int = SMALL_ZONE) -> None:
        self._population.restore(zone)
