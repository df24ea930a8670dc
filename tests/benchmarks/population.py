# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table that is measured on: which entry lies in which zone, and putting back what a measured flush took.

Zones 1 to n hold equally many entries. In the second shape a large zone, n + 1, takes the place of as many of the last zones as
it has entries for. All entries are IPv4, TCP, established and assured.
"""

from __future__ import annotations

import dataclasses

import conntrack_table
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages, presence
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Channel

SECONDS = 6 * 3600  # of life, longer than any run


@dataclasses.dataclass(frozen=True)
class Population:
    """:ivar large: entries of the large zone"""

    entries: int
    zones: int
    large: int

    @property
    def share(self) -> int:
        """Entries of each zone but the large one."""
        return self.entries // self.zones

    @property
    def large_zone(self) -> int:
        return self.zones + 1

    @property
    def empty_zone(self) -> int:
        return self.zones + 2

    def fill(self) -> None:
        """The first shape, into an empty table."""
        self._insert(1, self.zones)
        self._assert_full()

    def make_room(self) -> None:
        """The second shape but for its large zone, whatever the table holds."""
        with Channel.open() as channel:
            channel.ask("clearing the table", messages.flush_all())
        self._insert(1, self.zones - self.large // self.share)

    def restore(self, zone: int) -> None:
        """Makes the entries of a zone again if they, or all entries, were flushed."""
        missing = self.entries - held()
        if missing == self.entries:
            self.fill()
        elif missing and zone == self.large_zone:
            _make(self.large, self.entries, zone)
        elif missing:
            self._insert(zone, zone)
        self._assert_full()

    def _insert(self, first: int, last: int) -> None:
        for zone in range(first, last + 1):
            _make(self.share, (zone - 1) * self.share, zone)

    def _assert_full(self) -> None:
        if held() != self.entries:
            raise RuntimeError(f"the table holds {held()} entries instead of {self.entries}")


def held() -> int:
    """Entries in this namespace."""
    with Channel.open() as channel:
        return presence.counts(channel)[0]


def _make(count: int, first: int, zone: int) -> None:
    conntrack_table.insert(conntrack_table.many(count, lambda _number: zone, first, SECONDS))
