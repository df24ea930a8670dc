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
FEW = 8  # messages for which comparing byte by byte in all of them is dearer than comparing each as a whole
_LENGTH = struct.Struct("=I")  # a message begins with it
TYPE_MASK = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER

Field = t.Tuple[int, str]


class Picker:
    """Takes a few attributes out of messages that come by the thousand.

    Messages of one kind and one length mostly have the same attributes at the same places. The first of a length is walked; in those
    after it the heads of all attributes are compared at once, and where one differs, the message is walked in its turn.
    A message is its bytes from ``nlmsghdr`` on.

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

    def pick_each(self, datagram: bytes) -> t.Iterator[tuple[t.Any, ...]]:
        """:meth:`pick` of each message of a datagram."""
        form = self._forms.get(_LENGTH.unpack_from(datagram)[0]) if datagram else None
        if form is None or not form.fills(datagram):
            return map(self.pick, split(datagram))
        return (form.ordered(values + (None,)) for values in form.values.iter_unpack(datagram))

    def _form(self, message: bytes) -> _Form:
        mask = bytearray(len(message))
        mask[: _LENGTH.size] = b"\xff" * _LENGTH.size
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
        columns = [(place, message[place : place + 1]) for place, is_head in enumerate(mask) if is_head]
        ordered = operator.itemgetter(*(found.get(kind, count) for kind in self._wanted))
        return _Form(whole, int.from_bytes(message, "little") & whole, columns, struct.Struct(f"{formats}{len(message) - at}x"), ordered)


class _Form(t.NamedTuple):
    """Where messages of one form have their values.

    :ivar mask: ones where a message has its length and the heads of attributes; ``heads`` are these
    :ivar columns: place and byte of the same
    """

    mask: int
    heads: int
    columns: list[tuple[int, bytes]]
    values: struct.Struct
    ordered: t.Callable[[tuple[t.Any, ...]], tuple[t.Any, ...]]

    def fills(self, datagram: bytes) -> bool:
        """Whether the datagram has such messages only, and so many that it is cheaper to compare them by columns than one by one."""
        count, rest = divmod(len(datagram), self.values.size)
        if count < FEW or rest or self.values.size % 4:
            return False
        return all(datagram[place :: self.values.size] == byte * count for place, byte in self.columns)


def split(datagram: bytes) -> t.Iterator[bytes]:
    """The messages of a datagram, whose lengths were checked."""
    at = 0
    while at < len(datagram):
        (length,) = _LENGTH.unpack_from(datagram, at)
        yield datagram[at : at + length]
        at += (length + 3) & ~3


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
