# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sorting the messages of a dump without decoding them one by one.

Most entries of a table differ in addresses, ports, timeouts and ids only. Under a mask over everything else
(:func:`wire.mask`) they are the same number, so each sort is decoded once and looked up from then on: about half a microsecond a
message in CPython, where walking the attributes costs ten.
"""

from __future__ import annotations

import sys
import typing as t

from . import wire

Cell = t.TypeVar("Cell")

# Sorts remembered at a time; so many take 40 MB in a flush. A table with more of them is sorted right, only slower.
REMEMBERED = 1 << 16


class Kind(t.NamedTuple):
    """What the messages of one sort have in common.

    ``filtered`` tells NLM_F_DUMP_FILTERED. ``tcp_state``, ``mark`` and ``labels`` are ``None`` when the entry does not carry
    them, the latter two also when the sieve was not asked to look at them.
    """

    filtered: bool
    family: int
    zone: int
    carrier: str
    protocol: int
    status: int
    tcp_state: int | None
    mark: int | None
    labels: int | None


ALWAYS: frozenset[wire.Path] = frozenset(
    [(wire.ZONE,), wire.ORIGINAL_ZONE, wire.REPLY_ZONE, wire.PROTOCOL, (wire.STATUS,), wire.TCP_STATE]
)
_FILTERED = 0x20
_FLAGS_AT = 6


class Sieve(t.Generic[Cell]):
    """Maps messages to cells: ``cell(message)`` returns what ``new_cell`` returned for its sort.

    :param new_cell: called with the kind, the message and its layout when a sort is met for the first time (again, after
        forgetting); messages of one sort share the layout
    :param also: attributes to tell apart besides :data:`ALWAYS`, such as ``(wire.MARK,)``
    """

    def __init__(
        self,
        new_cell: t.Callable[[Kind, bytes, wire.Layout], Cell],
        also: t.Iterable[wire.Path] = (),
    ) -> None:
        self._new_cell = new_cell
        self._kept = ALWAYS.union(also)
        # By length of the message: each mask with the cells found under it. Under another mask the same number means another sort.
        self._sorts: dict[int, list[tuple[int, dict[int, Cell]]]] = {}
        self._layouts: dict[tuple[t.Any, ...], wire.Layout] = {}
        self._remembered = 0

    def cell(self, message: bytes) -> Cell:
        """:raises wire.Malformed: for a message that is none"""
        number = int.from_bytes(message, "little")
        for mask, cells in self._sorts.get(len(message), ()):
            cell = cells.get(number & mask)
            if cell is not None:
                return cell
        return self._learn(message, number)

    def _learn(self, message: bytes, number: int) -> Cell:
        if self._remembered >= REMEMBERED:
            self._sorts.clear()
            self._remembered = 0
        self._remembered += 1
        layout = wire.locate(message)
        layout = self._layouts.setdefault(tuple(layout.items()), layout)
        mask = wire.mask(message, layout, self._kept)
        cell = self._new_cell(self._kind(message, layout), message, layout)
        self._cells_under(mask, len(message))[number & mask] = cell
        return cell

    def _cells_under(self, mask: int, length: int) -> dict[int, Cell]:
        sorts = self._sorts.setdefault(length, [])
        for known, cells in sorts:
            if known == mask:
                return cells
        sorts.append((mask, {}))
        return sorts[-1][1]

    def _kind(self, message: bytes, layout: wire.Layout) -> Kind:
        zone, carrier = wire.zone(message, layout)
        label_place = layout.get((wire.LABELS,)) if (wire.LABELS,) in self._kept else None
        return Kind(
            filtered=bool(int.from_bytes(message[_FLAGS_AT : _FLAGS_AT + 2], sys.byteorder) & _FILTERED),
            family=message[wire.FAMILY_AT],
            zone=zone,
            carrier=carrier,
            protocol=wire.number(message, layout, wire.PROTOCOL) or 0,
            status=wire.number(message, layout, (wire.STATUS,)) or 0,
            tcp_state=wire.number(message, layout, wire.TCP_STATE),
            mark=wire.number(message, layout, (wire.MARK,)) if (wire.MARK,) in self._kept else None,
            labels=wire.labels(message[slice(*label_place)]) if label_place else None,
        )
