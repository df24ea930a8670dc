# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conntrack table behind sockets that speak ctnetlink, for kernels that are not at hand.

It takes and gives bytes only, and knows nothing of the collection's code. What it does with a filter by zone:

==========  =====================================  ================================  =====================
behaviour   dump by a zone                         flush by a zone                   which kernels
==========  =====================================  ================================  =====================
exact       its entries, flagged                   its entries                       6.8 and later
half-fixed  the same; by zone 0 all, flagged       the same; by zone 0 all           backports of one commit
ignoring    all, not flagged                       all, reported as a success        before 6.8
zoneless    refused with EOPNOTSUPP                refused with EOPNOTSUPP           built without zones
==========  =====================================  ================================  =====================
"""

from __future__ import annotations

import collections
import errno
import socket
import struct
import types
import typing as t

from netlink_bytes import DELETE, DONE, FILTERED, GET, MULTI, NEW, STATS, answer, attribute, be32, message

EXACT, HALF_FIXED, IGNORING, ZONELESS = "exact", "half-fixed", "ignoring", "zoneless"
TUPLE_ORIG, TUPLE_ZONE, ID, ZONE = 1, 3, 12, 18
DUMP, ACK = 0x300, 0x4
PER_DATAGRAM = 3


class Entry(t.NamedTuple):
    """One entry: its dumped body (from nfgenmsg on), and what the kernel keeps to find it by."""

    body: bytes
    family: int
    original: bytes
    zone: int
    both_zone: int
    number: int


class Request(t.NamedTuple):
    """What was sent: its type, flags, family and top attributes."""

    kind: int
    flags: int
    family: int
    attributes: dict[int, bytes]

    @property
    def zone(self) -> int | None:
        value = self.attributes.get(ZONE)
        return None if value is None else struct.unpack("!H", value)[0]

    def flushes(self) -> bool:
        return self.kind == DELETE and TUPLE_ORIG not in self.attributes

    def changes(self) -> bool:
        return self.kind in (NEW, DELETE)


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    offset = 0
    while offset < len(data):
        length, kind = struct.unpack_from("=HH", data, offset)
        assert length >= 4, data.hex()
        found[kind & 0x3FFF] = data[offset + 4 : offset + length]
        offset += (length + 3) & ~3
    return found


def entry_of(dumped: bytes) -> Entry:
    """An entry from a message as ``netlink_bytes.entry`` makes it."""
    parts = attributes(dumped[20:])
    both = parts.get(ZONE)
    sides = [attributes(parts[kind]).get(TUPLE_ZONE) for kind in (1, 2)]
    zones = [struct.unpack("!H", value)[0] for value in (both, *sides) if value is not None]
    return Entry(
        body=dumped[16:],
        family=dumped[16],
        original=parts[TUPLE_ORIG],
        zone=zones[0] if zones else 0,
        both_zone=struct.unpack("!H", both)[0] if both else 0,
        number=struct.unpack("!I", parts.get(ID, bytes(4)))[0],
    )


class Namespace:
    """One table and all that was asked of it."""

    def __init__(self, entries: t.Iterable[bytes] = ()) -> None:
        self.entries = [entry_of(dumped) for dumped in entries]
        self.requests: list[Request] = []
        self.next_number = 1000

    def numbers(self) -> list[int]:
        return sorted(entry.number for entry in self.entries)

    def remove(self, *numbers: int) -> None:
        self.entries = [entry for entry in self.entries if entry.number not in numbers]


class ScriptedKernel:
    """See above.

    :ivar host: the namespace under test
    :ivar trials: throw-away namespaces made so far
    :ivar busy: ids of entries whose delete is refused with EBUSY
    :ivar after_dump: called once after each whole dump of the host's table
    :ivar refusal: errno for every request
    :ivar faults: for each next receive of a dump, an exception in place of the datagram, or None
    :ivar lose_acknowledgements: how many batches are answered by ENOBUFS
    :ivar permits_namespaces: whether a throw-away namespace can be made
    """

    def __init__(self, behaviour: str = EXACT, entries: t.Iterable[bytes] = (), receive_buffer: int = 4 << 20) -> None:
        self.behaviour = behaviour
        self.host = Namespace(entries)
        self.trials: list[Namespace] = []
        self.busy: set[int] = set()
        self.after_dump: t.Callable[[], None] | None = None
        self.refusal = 0
        self.faults: collections.deque[OSError | None] = collections.deque()
        self.lose_acknowledgements = 0
        self.permits_namespaces = True
        self.flags_end_of_empty_dump = False
        self.receive_buffer = receive_buffer
        self.opened = 0
        self.open_now = 0
        self._current = self.host

    def socket_module(self) -> t.Any:
        """What stands in for the module ``socket``."""
        return types.SimpleNamespace(**{**vars(socket), "socket": self._open})

    def run_in_new(self, job: t.Callable[[], t.Any], refused: t.Callable[[], Exception]) -> t.Any:
        if not self.permits_namespaces:
            raise refused()
        self._current = Namespace()
        self.trials.append(self._current)
        try:
            return job()
        finally:
            self._current = self.host

    def _open(self, _family: int, _kind: int, _protocol: int) -> _Socket:
        self.opened += 1
        self.open_now += 1
        return _Socket(self, self._current)

    def handle(self, table: Namespace, data: bytes) -> list[bytes]:
        """The datagrams that answer a datagram."""
        found: list[bytes] = []
        offset = 0
        while offset < len(data):
            length, kind, flags, sequence, _port = struct.unpack_from("=IHHII", data, offset)
            body = data[offset + 16 : offset + length]
            request = Request(kind, flags, body[0], attributes(body[4:]))
            table.requests.append(request)
            found += self._answers(table, request, sequence, body)
            offset += (length + 3) & ~3
        return found

    def _answers(self, table: Namespace, request: Request, sequence: int, body: bytes) -> list[bytes]:
        code = self.refusal or self._refused(request)
        if not code and request.flags & DUMP == DUMP:
            assert request.kind == GET
            return self._dump(table, request, sequence)
        found = []
        if not code:
            if request.kind == STATS:
                counts = attribute(1, be32(len(table.entries))) + attribute(2, be32(0x40000))
                found = [message(STATS, 0, bytes(4) + counts, sequence)]
            elif request.kind == GET and TUPLE_ORIG not in request.attributes:
                code = errno.EINVAL
            elif request.kind == GET:
                held = self._looked_up(table, request)
                code = 0 if held else errno.ENOENT
                found = [message(NEW, 0, held.body, sequence)] if held else []
            elif request.kind == NEW:
                table.next_number += 1
                made = body + attribute(3, be32(8)) + attribute(ID, be32(table.next_number))
                table.entries.append(entry_of(bytes(16) + made))
            elif request.flushes():
                table.entries = [entry for entry in table.entries if not self._in_flush(entry, request)]
            else:
                code = self._delete(table, request)
        if code or request.flags & ACK:
            found.append(answer(sequence, code))
        return found

    def _refused(self, request: Request) -> int:
        return errno.EOPNOTSUPP if self.behaviour == ZONELESS and request.zone is not None else 0

    def _delete(self, table: Namespace, request: Request) -> int:
        assert request.family, "a delete by tuple needs its family"
        entry = self._looked_up(table, request)
        if entry is None or (ID in request.attributes and struct.unpack("!I", request.attributes[ID])[0] != entry.number):
            return errno.ENOENT
        if entry.number in self.busy:
            return errno.EBUSY
        table.entries.remove(entry)
        return 0

    def _looked_up(self, table: Namespace, request: Request) -> Entry | None:
        wanted = (request.family, request.attributes[TUPLE_ORIG], request.zone or 0)
        return next((one for one in table.entries if (one.family, one.original, one.both_zone) == wanted), None)

    def _filters_by(self, zone: int | None) -> bool:
        """Whether a filter by this zone narrows anything."""
        if zone is None or self.behaviour == IGNORING:
            return False
        return self.behaviour == EXACT or zone != 0

    def _in_flush(self, entry: Entry, request: Request) -> bool:
        return not self._filters_by(request.zone) or entry.zone == request.zone

    def _dump(self, table: Namespace, request: Request, sequence: int) -> list[bytes]:
        understood = request.zone is not None and self.behaviour != IGNORING
        flags = MULTI | (FILTERED if understood or request.family else 0)
        bodies = [
            entry.body
            for entry in table.entries
            if self._in_flush(entry, request) and request.family in (0, entry.family)
        ]
        messages = [message(NEW, flags, body, sequence) for body in bodies]
        end_flags = flags if messages or self.flags_end_of_empty_dump else MULTI
        messages.append(message(DONE, end_flags, bytes(4), sequence))
        if table is self.host and self.after_dump:
            self.after_dump()
        return [b"".join(messages[at : at + PER_DATAGRAM]) for at in range(0, len(messages), PER_DATAGRAM)]


class _Socket:
    def __init__(self, kernel: ScriptedKernel, table: Namespace) -> None:
        self._kernel = kernel
        self._table = table
        self._waiting: collections.deque[bytes] = collections.deque()
        self._dumps = self._changes = False

    def bind(self, _address: tuple[int, int]) -> None:
        pass

    def setsockopt(self, _level: int, _option: int, _value: int | bytes) -> None:
        pass

    def getsockopt(self, _level: int, _option: int) -> int:
        return self._kernel.receive_buffer

    def send(self, data: bytes) -> int:
        kind, flags = struct.unpack_from("=HH", data, 4)
        self._dumps, self._changes = flags & DUMP == DUMP, kind == DELETE
        self._waiting.extend(self._kernel.handle(self._table, data))
        return len(data)

    def recvmsg(self, _size: int) -> tuple[bytes, list, int, tuple[int, int]]:
        if self._dumps and self._kernel.faults:
            fault = self._kernel.faults.popleft()
            if fault is not None:
                raise fault
        if self._changes and self._kernel.lose_acknowledgements:
            self._kernel.lose_acknowledgements -= 1
            raise OSError(errno.ENOBUFS, "No buffer space available")
        if not self._waiting:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return self._waiting.popleft(), [], 0, (0, 0)

    def close(self) -> None:
        self._kernel.open_now -= 1
