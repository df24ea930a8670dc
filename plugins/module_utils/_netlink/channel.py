# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A netlink socket: single requests, whole dumps, batches. Every answer is read, every wait is bounded.

The socket is our own on every pyroute2 release, so that one behaviour holds for all: receive timeouts, interrupted dumps
seen, errors of a batch told apart. A dump walks the bytes and hands each message on as it is; decoding costs 30 to 100
times as much as walking, and most readers need a few fields only.

Byte layout from linux/netlink.h: ``nlmsghdr`` is length u32, type u16, flags u16, sequence u32, port u32.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import socket
import struct
import typing as t

from .errors import NO_ANSWER, NOT_BUILT, OVERRUN, UNREADABLE, NetstateError, Reason
from .readahead import ReadAhead

NETLINK_NETFILTER = 12
NETLINK_GENERIC = 16

NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_DUMP = 0x300
NLM_F_CREATE = 0x400
NLM_F_EXCL = 0x200
NLM_F_DUMP_INTR = 0x10
NLM_F_DUMP_FILTERED = 0x20

NLMSG_NOOP = 1
NLMSG_ERROR = 2
NLMSG_DONE = 3

HEADER = struct.Struct("=IHHII")
_LENGTH = struct.Struct("=I")
_SEQUENCE = struct.Struct("=I")
_SEQUENCE_AT = 8
_ERRNO = struct.Struct("=i")

SOL_NETLINK = 270
NETLINK_CAP_ACK = 10
_SO_RCVBUFFORCE = 33

RECEIVE_BUFFER = 4 << 20
RECEIVE_SECONDS = 20
DATAGRAM = 1 << 16  # the kernel fills 32 KiB when the reader offers as much
ANSWER_COST = 2048  # more than an error answer is accounted for in a receive buffer
BATCH_MOST = 500
DUMP_TRIES = 5

_CUT_OFF = "a message was cut off"
_CHANGED = "the table changed while it was read"
_ACKNOWLEDGED = "acknowledged without data"

_AF_NETLINK = getattr(socket, "AF_NETLINK", 16)


class Interrupted(Exception):
    """A dump that says of itself, or shows, that it is not the whole."""


class Dump(t.NamedTuple):
    """A whole dump as it came.

    :ivar sequence: number of the request
    :ivar datagrams: as received
    :ivar tail: how many bytes the closing message takes of the last one
    """

    sequence: int
    datagrams: list[bytes]
    tail: int

    def entries(self) -> list[bytes]:
        """The datagrams without the closing message, and without one that had nothing else: each was filled in a single walk."""
        last = self.datagrams[-1][: -self.tail]
        return self.datagrams[:-1] + ([last] if last else [])


Meanings = t.Mapping[int, Reason]
Visit = t.Callable[[bytes], t.Any]


class Channel:
    """One netlink socket for one job; a context manager.

    :param sock: an open ``AF_NETLINK`` socket, owned from now on; tests pass a scripted one
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sequences = itertools.count(1)

    @classmethod
    def open(cls, protocol: int = NETLINK_NETFILTER) -> Channel:
        """Opens a socket in the network namespace of the calling thread.

        :raises NetstateError: ``not_built`` where the kernel has no such protocol
        """
        try:
            sock = socket.socket(_AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        except OSError as error:
            reason = NOT_BUILT if error.errno == errno.EPROTONOSUPPORT else None
            raise NetstateError("opening a netlink socket", error.errno, reason) from None
        try:
            _prepare(sock)
            sock.bind((0, 0))
        except OSError as error:
            sock.close()
            raise NetstateError("opening a netlink socket", error.errno) from None
        return cls(sock)

    def close(self) -> None:
        self._sock.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def ask(self, asked: str, message: bytes, meanings: Meanings | None = None) -> list[bytes]:
        """Sends one request and returns its answers; the kernel's acknowledgement ends them.

        :param asked: for the error text
        :param message: from ``nlmsghdr`` on; sequence number and NLM_F_ACK are put in here
        :param meanings: what an errno of the answer means for this request
        :raises NetstateError: when the kernel refuses, does not answer in time, or answers were lost
        """
        sequence = self._send(asked, [_acknowledged(message)])[0]
        answers: list[bytes] = []
        while True:
            for kind, _flags, number, body in self._messages(asked):
                if number != sequence:
                    continue
                if kind == NLMSG_ERROR:
                    _raise_refusal(asked, body, meanings)
                    return answers
                answers.append(body)

    def dump(self, asked: str, message: bytes, visit: Visit, meanings: Meanings | None = None) -> int:
        """Sends one dump request, calls ``visit`` with each message (from ``nlmsghdr`` on), once and in order.

        Receives while visiting. That is worth its thread for long dumps; :meth:`collect` is for short ones that come by the thousand.

        :returns: the header flags of the closing message
        :raises Interrupted: when what was visited is not the whole; use :func:`read_whole`
        :raises NetstateError: when the kernel refuses or does not answer in time
        """
        sequence = self._send(asked, [message])[0]
        reader = ReadAhead(lambda: self._receive(asked))
        try:
            return _walk(asked, reader.next, sequence, visit, meanings)
        finally:
            reader.close()

    def collect(self, asked: str, message: bytes, meanings: Meanings | None = None, earlier: Dump | None = None) -> Dump:
        """Sends one dump request and returns what came.

        :param earlier: what this request gave on this channel before. The request then has the same sequence number, so that the
            same answer has the same bytes: nothing is looked into twice
        :returns: ``earlier`` itself, when all came as it had
        :raises Interrupted: when it is not the whole, or has answers to others among it; open a new channel
        :raises NetstateError: when the kernel refuses or does not answer in time
        """
        sequence = self._send(asked, [message], [earlier.sequence] if earlier else None)[0]
        known = earlier.datagrams if earlier else []
        came: list[bytes] = []
        tail = 0
        while not tail:
            data = self._receive(asked)
            if not data:
                continue
            if earlier and len(came) < len(known) and data == known[len(came)]:
                tail = earlier.tail if len(came) == len(known) - 1 else 0
            else:
                tail = _tail(asked, data, sequence, meanings)
            came.append(data)
        return earlier if earlier and came == known else Dump(sequence, came, tail)

    def batch(self, asked: str, messages: t.Sequence[bytes]) -> dict[int, int]:
        """Sends the messages in one datagram and reads all answers.

        The kernel works through them in order. Failures answer one by one; the last message asks for an acknowledgement,
        which is the barrier. At most :meth:`batch_size` messages, so that the answers fit the receive buffer even if all fail.

        :returns: errno by index, for those that failed
        :raises NetstateError: ``overrun`` or ``no_answer``: then the outcome of this batch is unknown
        """
        if not messages:
            return {}
        sequences = self._send(asked, list(messages[:-1]) + [_acknowledged(messages[-1])])
        first, last = sequences[0], sequences[-1]
        failures: dict[int, int] = {}
        while True:
            for kind, _flags, number, body in self._messages(asked):
                if kind != NLMSG_ERROR or not first <= number <= last:
                    continue
                code = _errno_of(body)
                if code:
                    failures[number - first] = code
                if number == last:
                    return failures

    def batch_size(self) -> int:
        """How many failing answers are sure to fit the receive buffer."""
        return max(1, min(BATCH_MOST, self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // ANSWER_COST))

    def _send(self, asked: str, messages: list[bytes], sequences: list[int] | None = None) -> list[int]:
        sequences = sequences or [next(self._sequences) for _message in messages]
        stamped = b"".join(message[:_SEQUENCE_AT] + _SEQUENCE.pack(number) + message[_SEQUENCE_AT + 4 :] for number, message in zip(sequences, messages))
        try:
            self._sock.send(stamped)
        except OSError as error:
            raise NetstateError(asked, error.errno) from None
        return sequences

    def _receive(self, asked: str) -> bytes:
        try:
            data, _ancillary, flags, sender = self._sock.recvmsg(DATAGRAM)
        except BlockingIOError:
            raise NetstateError(asked, errno.ETIMEDOUT, NO_ANSWER) from None
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                raise Interrupted("answers were lost for a full receive buffer") from None
            raise NetstateError(asked, error.errno) from None
        if flags & socket.MSG_TRUNC:
            raise Interrupted("a datagram was cut off")
        if not data:
            raise Interrupted("the socket was shut")
        if sender[0] != 0:  # another process, not the kernel
            return b""
        return data

    def _messages(self, asked: str) -> t.Iterator[tuple[int, int, int, bytes]]:
        """Type, flags, sequence number and bytes of each message of the next datagram."""
        try:
            data = self._receive(asked)
            offset, end = 0, len(data)
            while offset < end:
                length, kind, flags, number, _port = _header(data, offset, end)
                yield kind, flags, number, data[offset : offset + length]
                offset += (length + 3) & ~3
        except Interrupted:
            raise NetstateError(asked, errno.ENOBUFS, OVERRUN) from None


def read_whole(
    asked: str,
    message: bytes,
    collector: t.Callable[[], t.Callable[[bytes], t.Any]],
    meanings: Meanings | None = None,
    opener: t.Callable[[], Channel] = Channel.open,
) -> tuple[t.Any, int]:
    """Dumps until one dump was whole, each on a fresh socket, at most :data:`DUMP_TRIES` times.

    :param collector: makes a new visitor for each try, so that nothing of a partial dump survives
    :returns: the visitor that saw the whole dump, and the header flags of its closing message
    :raises NetstateError: ``unreadable`` when no try was whole; else as :meth:`Channel.dump`
    """
    why = ""
    for _try in range(DUMP_TRIES):
        visit = collector()
        with contextlib.closing(opener()) as channel:
            try:
                return visit, channel.dump(asked, message, visit, meanings)
            except Interrupted as error:
                why = str(error)
    raise NetstateError(asked, None, UNREADABLE.after(f"{DUMP_TRIES} tries: {why}"))


def read_list(asked: str, message: bytes) -> list[bytes]:
    """All messages of a dump that is known to be short; see :func:`read_whole`."""

    def collector() -> t.Callable[[bytes], None]:
        found.clear()
        return found.append

    found: list[bytes] = []
    read_whole(asked, message, collector)
    return found


def framed(kind: int, flags: int, body: bytes) -> bytes:
    """A message of its ``nlmsghdr`` and a body already encoded."""
    return HEADER.pack(HEADER.size + len(body), kind, flags | NLM_F_REQUEST, 0, 0) + body


def encoded(message: t.Any, kind: int, flags: int) -> bytes:
    """The bytes of a pyroute2 message.

    :param message: an instance of a class derived from pyroute2's ``nlmsg``
    """
    header = message["header"]
    header["type"] = kind
    header["flags"] = flags | NLM_F_REQUEST
    header["sequence_number"] = header["pid"] = 0
    message.encode()
    return bytes(message.data)


def _prepare(sock: socket.socket) -> None:
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        try:
            sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", RECEIVE_SECONDS, 0))
        except OSError:  # 32-bit systems whose time has 64 bits
            sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("=qq", RECEIVE_SECONDS, 0))
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, RECEIVE_BUFFER)
    except OSError:  # needs CAP_NET_ADMIN in the initial user namespace; else as much as rmem_max allows
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    with contextlib.suppress(OSError):  # since 4.3: refusals without an echo of the request
        sock.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)


def _walk(asked: str, receive: t.Callable[[], bytes], sequence: int, visit: Visit, meanings: Meanings | None) -> int:
    """Walks the datagrams of a dump up to its closing message; see :meth:`Channel.dump`."""
    length_of = _LENGTH.unpack_from
    usual: bytes | None = None  # type, flags and sequence number of an entry: all but a few messages carry the same
    intact = True
    while True:
        data = receive()
        offset, end = 0, len(data)
        while offset < end:
            if data[offset + 4 : offset + 12] == usual:
                (length,) = length_of(data, offset)
                if HEADER.size <= length <= end - offset:
                    visit(data[offset : offset + length])
                    offset += (length + 3) & ~3
                    continue
            length, kind, flags, number, _port = _header(data, offset, end)
            message = data[offset : offset + length]
            offset += (length + 3) & ~3
            if number != sequence or kind == NLMSG_NOOP:
                continue
            intact = intact and not flags & NLM_F_DUMP_INTR
            if kind in (NLMSG_DONE, NLMSG_ERROR):
                _raise_refusal(asked, message, meanings)
                if kind == NLMSG_ERROR:
                    raise Interrupted(_ACKNOWLEDGED)
                if not intact:
                    raise Interrupted(_CHANGED)
                return flags
            usual = message[4:12]
            visit(message)


def _tail(asked: str, data: bytes, sequence: int, meanings: Meanings | None) -> int:
    """Checks a datagram of a dump.

    :returns: how many bytes the closing message takes, 0 where there is none
    """
    usual = b""  # header of an entry: those after it mostly carry the same
    offset, length, end = 0, 0, len(data)
    while offset < end:
        if data[offset : offset + HEADER.size] == usual and length <= end - offset:
            offset += (length + 3) & ~3
            continue
        length, kind, flags, number, _port = _header(data, offset, end)
        if number != sequence or kind == NLMSG_NOOP:
            raise Interrupted("an answer to another request came between")
        if kind in (NLMSG_DONE, NLMSG_ERROR):
            _raise_refusal(asked, data[offset : offset + length], meanings)
            if kind == NLMSG_ERROR:
                raise Interrupted(_ACKNOWLEDGED)
        if flags & NLM_F_DUMP_INTR:
            raise Interrupted(_CHANGED)
        if kind == NLMSG_DONE:
            return end - offset
        usual = data[offset : offset + HEADER.size]
        offset += (length + 3) & ~3
    return 0


def _header(data: bytes, offset: int, end: int) -> tuple[int, int, int, int, int]:
    if end - offset < HEADER.size:
        raise Interrupted(_CUT_OFF)
    header = HEADER.unpack_from(data, offset)
    if header[0] < HEADER.size or offset + header[0] > end:
        raise Interrupted(_CUT_OFF)
    return header


def _acknowledged(message: bytes) -> bytes:
    length, kind, flags, number, port = HEADER.unpack_from(message)
    return HEADER.pack(length, kind, flags | NLM_F_ACK, number, port) + message[HEADER.size :]


def _errno_of(message: bytes) -> int:
    """The positive errno of an NLMSG_ERROR, or of an NLMSG_DONE that carries one; 0 for success."""
    if len(message) < HEADER.size + _ERRNO.size:
        return 0
    code = _ERRNO.unpack_from(message, HEADER.size)[0]
    return -code if code < 0 else 0


def _raise_refusal(asked: str, message: bytes, meanings: Meanings | None) -> None:
    code = _errno_of(message)
    if code:
        raise NetstateError(asked, code, (meanings or {}).get(code))
