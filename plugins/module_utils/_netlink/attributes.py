# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The attributes of a message, by walking its bytes. Pure.

Layout from linux/netlink.h: ``nlattr`` is length u16 and type u16, in the order of the host; a value is padded to 4 bytes.
"""

from __future__ import annotations

import operator
import struct
import typing as t

HEAD = struct.Struct("=HH")
TYPE_MASK = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER

Field = t.Tuple[int, str]


class Picker:
    """Takes a few attributes out of messages that come by the thousand.

    Messages of one kind and one length mostly have the same attributes at the same places. The first of a length is walked; in those
    after it the heads of all attributes are compared at once, and where one differs, the message is walked in its turn.

    :param nest: number of the attribute that the wanted ones are inside of
    :param start: where in a message the attributes begin
    :param wanted: number and ``struct`` format of each, of two or more; an empty format stands for the bytes, however many they are
    """

    def __init__(self, nest: int, start: int, wanted: t.Sequence[Field]) -> None:
        self._nest, self._start = nest, start
        self._wanted = dict(wanted)
        self._forms: dict[int, _Form] = {}

    def pick(self, message: bytes) -> tuple[t.Any, ...]:
        """The values in the order in which they were wanted, ``None`` for one that is not there.

        :raises ValueError: where a value has not the size of its format
        """
        form = self._forms.get(len(message))
        if form is None or int.from_bytes(message, "little") & form.mask != form.heads:
            form = self._forms[len(message)] = self._form(message)
        return form.ordered(form.values.unpack_from(message) + (None,))

    def _form(self, message: bytes) -> _Form:
        mask = bytearray(len(message))
        inside = (0, 0)
        for kind, start, end in places(message, self._start, len(message)):
            mask[start - HEAD.size : start] = b"\xff" * HEAD.size
            if kind == self._nest:
                inside = start, end
        found: dict[int, int] = {}
        formats, count, at = "=", 0, 0
        for kind, start, end in places(message, *inside):
            mask[start - HEAD.size : start] = b"\xff" * HEAD.size
            if kind in self._wanted:
                value = self._wanted[kind] or f"{end - start}s"
                if struct.calcsize("=" + value) != end - start:
                    raise ValueError(f"attribute {kind} has {end - start} bytes")
                formats += f"{start - at}x{value}"
                found[kind] = count
                count += 1
                at = end
        whole = int.from_bytes(mask, "little")
        ordered = operator.itemgetter(*(found.get(kind, count) for kind in self._wanted))
        return _Form(whole, int.from_bytes(message, "little") & whole, struct.Struct(formats), ordered)


class _Form(t.NamedTuple):
    """Where messages of one form have their values.

    :ivar mask: ones where a message has heads of attributes; ``heads`` are these
    """

    mask: int
    heads: int
    values: struct.Struct
    ordered: t.Callable[[tuple[t.Any, ...]], tuple[t.Any, ...]]


def places(data: bytes, start: int, end: int) -> t.Iterator[tuple[int, int, int]]:
    """Type, first byte and end of each value from ``start`` to ``end``. What is cut off is left out."""
    while end - start >= HEAD.size:
        length, kind = HEAD.unpack_from(data, start)
        if length < HEAD.size or start + length > end:
            break
        yield kind & TYPE_MASK, start + HEAD.size, start + length
        start += (length + 3) & ~3


def walk(data: bytes, start: int, end: int) -> dict[int, bytes]:
    """Type to value, of the attributes from ``start`` to ``end``. What is cut off is left out; of two of one type the last stays."""
    return {kind: data[first:last] for kind, first, last in places(data, start, end)}
