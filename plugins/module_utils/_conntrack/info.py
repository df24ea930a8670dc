# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The selected entries themselves: all are counted, only those that are returned are decoded."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import typing as t

from .._netlink import namespace
from .._netlink.channel import Channel
from .._netlink.errors import OptionError
from . import capability, entry, messages, presence, table, wire
from .selector import Selection
from .sieve import Kind, Sieve

NONE = "none"
# Sort keys: what is largest comes first, except that a timeout is more telling the shorter it is.
SORTS: t.Mapping[str, t.Callable[[bytes, wire.Layout], int]] = {
    "timeout": lambda message, layout: -entry.timeout(message, layout),
    "packets": entry.packets,
    "bytes": entry.octets,
}


@dataclasses.dataclass(frozen=True)
class Query:
    """Which entries, how many of them at most, in which order (``none``, ``timeout``, ``packets``, ``bytes``)."""

    selection: Selection
    limit: int
    sort: str = NONE

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise OptionError("limit", self.limit, "give 0 or more")


class _Collector:
    """Counts the entries of a dump that are selected and keeps as many as are asked for, as bytes."""

    def __init__(self, query: Query) -> None:
        self.matched = 0
        self._query = query
        self._ordinal = itertools.count()
        self._key = SORTS.get(query.sort)
        self._heap: list[tuple[int, int, bytes]] = []
        self._cell = Sieve(self._new_cell, query.selection.looks_at()).cell

    def _new_cell(self, kind: Kind, _message: bytes, layout: wire.Layout) -> tuple[bool | None, Kind, wire.Layout]:
        return self._query.selection.verdict(kind), kind, layout

    def __call__(self, message: bytes) -> None:
        verdict, kind, layout = self._cell(message)
        if verdict is False or (verdict is None and not self._query.selection.matches(kind, message, layout)):
            return
        self.matched += 1
        if self._key is None:
            if len(self._heap) < self._query.limit:
                self._heap.append((0, -next(self._ordinal), message))
            return
        item = (self._key(message, layout), -next(self._ordinal), message)
        if len(self._heap) < self._query.limit:
            heapq.heappush(self._heap, item)
        elif self._query.limit:
            heapq.heappushpop(self._heap, item)

    def messages(self) -> list[bytes]:
        return [message for _key, _ordinal, message in sorted(self._heap, reverse=True)]


def inspect(query: Query, netns: str | None = None) -> dict[str, t.Any]:
    """Reads the entries in a network namespace; loads nothing.

    :returns: ``entries``, ``matched``, ``netns`` and ``unavailable_reason``
    :raises NetstateError: not permitted, no zones, or a table that could not be read whole
    """
    result = namespace.run(netns, lambda: _inspect(query))
    result["netns"] = netns
    return result


def _inspect(query: Query) -> dict[str, t.Any]:
    result: dict[str, t.Any] = {"entries": [], "matched": 0, "unavailable_reason": None}
    reason = presence.nothing_to_read(presence.look(), may_load=False)
    if reason:
        result["unavailable_reason"] = reason.text
        return result
    wanted = query.selection.wanted
    if wanted.zones is not None:
        with Channel.open() as channel:
            capability.require_zones(channel)
    # Reading by one zone is only a saving here: whatever the kernel returns is judged again.
    zone = next(iter(wanted.zones)) if wanted.zones is not None and len(wanted.zones) == 1 else None
    collector, _flags = table.walk(
        messages.dump(wanted.family, zone),
        lambda: _Collector(query),
        capability.ZONE_MEANINGS,
    )
    result["matched"] = collector.matched
    result["entries"] = [entry.describe(message, wire.locate(message)) for message in collector.messages()]
    return result
