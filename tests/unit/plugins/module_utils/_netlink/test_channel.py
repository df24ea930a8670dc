# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import socket
import struct
import threading
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import channel
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Channel, Dump, Interrupted, read_whole
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError, Reason
from netlink_bytes import INTERRUPTED, MULTI, answer, done, message
from scripted_socket import LOST, SILENCE, Datagram, ScriptedSocket

REQUEST = message(0x101, 0x301, bytes(4))
ORDER = message(0x102, 0x1, bytes(4))
ASKED = "a trial"
MAXIMAL = 3000  # body of a message that makes a datagram look like one of many


def row(number: int, flags: int = MULTI, sequence: int = 1, size: int = 20) -> bytes:
    """A message of a dump."""
    return message(0x100, flags, number.to_bytes(4, "big") + bytes(size), sequence)


def number_of(entry: bytes) -> int:
    return int.from_bytes(entry[16:20], "big")


def dumped(*script: t.Any) -> list[int]:
    """What a visitor sees of a dump."""
    seen: list[int] = []
    sock = ScriptedSocket(*script)
    with Channel(sock) as open_channel:
        open_channel.dump(ASKED, REQUEST, lambda entry: seen.append(number_of(entry)))
    assert not sock.script
    return seen


# Dumps


@pytest.mark.parametrize(
    "script, numbers",
    [
        pytest.param([done()], [], id="empty"),
        pytest.param([row(1) + row(2) + done()], [1, 2], id="one datagram"),
        pytest.param([row(1) + row(2), row(3), done()], [1, 2, 3], id="several"),
        pytest.param([row(1, size=MAXIMAL), row(2, size=MAXIMAL), row(3), done()], [1, 2, 3], id="long ones, read ahead"),
        pytest.param([row(1, size=21) + bytes(3) + row(2, size=23) + bytes(1) + row(3) + done()], [1, 2, 3], id="padded"),
        pytest.param([row(1) + row(2, flags=0x22) + row(3) + done()], [1, 2, 3], id="of different flags"),
        pytest.param([row(1) + message(1, 0, b"", 1) + row(2) + done()], [1, 2], id="NLMSG_NOOP"),
        pytest.param([row(7, sequence=9) + row(1) + row(8, sequence=0) + done()], [1], id="rows of other requests"),
        pytest.param([done(sequence=2), row(1) + done()], [1], id="end of another dump"),
        pytest.param([answer(2, errno.EPERM), row(1) + done()], [1], id="refusal of another request"),
        pytest.param([Datagram(row(6) + done(), port=4711), row(1) + done()], [1], id="forged by another process"),
        pytest.param([Datagram(answer(1, errno.EPERM), port=4711), row(1) + done()], [1], id="forged refusal"),
        pytest.param([row(1, flags=INTERRUPTED, sequence=3) + row(2) + done()], [2], id="interruption of another dump"),
    ],
)
def test_dump(script: list, numbers: list[int]) -> None:
    assert dumped(*script) == numbers


def test_dump_hands_on_the_messages_as_they_are() -> None:
    seen: list[bytes] = []
    rows = [row(1, size=21), row(2, size=3), row(3)]
    padded = b"".join(entry + bytes(-len(entry) % 4) for entry in rows)
    flags = Channel(ScriptedSocket(padded + done(flags=0x22))).dump(ASKED, REQUEST, seen.append)
    assert seen == rows
    assert flags == 0x22


NOT_WHOLE = [
    pytest.param([row(1), LOST], "answers were lost", id="ENOBUFS"),
    pytest.param([row(1, size=MAXIMAL), row(2, size=MAXIMAL), LOST], "answers were lost", id="ENOBUFS while reading ahead"),
    pytest.param([LOST], "answers were lost", id="ENOBUFS at once"),
    pytest.param([row(1) + row(2, flags=MULTI | INTERRUPTED) + done()], "changed while it was read", id="interrupted, told by an entry"),
    pytest.param([row(1, flags=MULTI | INTERRUPTED) + row(2) + done()], "changed while it was read", id="told by the first entry"),
    pytest.param([row(1) + done(flags=MULTI | INTERRUPTED)], "changed while it was read", id="told by the end"),
    pytest.param([Datagram(row(1), socket.MSG_TRUNC)], "datagram was cut off", id="truncated"),
    pytest.param([row(1)[:-4]], "message was cut off", id="a message longer than its datagram"),
    pytest.param([row(1) + row(2)[:-4]], "message was cut off", id="the second one"),
    pytest.param([row(1) + row(2)[:14]], "message was cut off", id="in the middle of a header"),
    pytest.param([row(1) + row(2)[:3]], "message was cut off", id="three bytes"),
    pytest.param([row(1)[:3]], "message was cut off", id="three bytes and no more"),
    pytest.param([row(1)[:7]], "message was cut off", id="seven bytes and no more"),
    pytest.param([struct.pack("=IHHII", 15, 0x100, 2, 1, 0)], "message was cut off", id="shorter than a header"),
    pytest.param([row(1) + struct.pack("=IHHII", 0, 0x100, 2, 1, 0)], "message was cut off", id="length 0, like one before"),
    pytest.param([row(1), b""], "socket was shut", id="shut"),
    pytest.param([row(1) + answer(1, 0)], "acknowledged without data", id="an acknowledgement in place of the end"),
]


@pytest.mark.parametrize("script, text", NOT_WHOLE)
def test_a_dump_that_is_not_whole_says_so(script: list, text: str) -> None:
    with pytest.raises(Interrupted, match=text):
        dumped(*script)


REFUSED = [
    pytest.param([answer(1, errno.EPERM)], "EPERM", "not_permitted", id="refused"),
    pytest.param([row(1) + answer(1, errno.EOPNOTSUPP)], "EOPNOTSUPP", None, id="refused in the middle"),
    pytest.param([row(1) + done(code=errno.ENOMEM)], "ENOMEM", None, id="the end carries an error"),
    pytest.param([done(code=errno.EBUSY)], "EBUSY", "busy", id="the end alone carries an error"),
    pytest.param([row(1), SILENCE], "ETIMEDOUT", "no_answer", id="no answer in time"),
    pytest.param([SILENCE], "ETIMEDOUT", "no_answer", id="no answer at all"),
    pytest.param([row(1, size=MAXIMAL), SILENCE], "ETIMEDOUT", "no_answer", id="no answer while reading ahead"),
    pytest.param([OSError(errno.ENETDOWN, "")], "ENETDOWN", None, id="the socket fails"),
]


@pytest.mark.parametrize("script, code, slug", REFUSED)
def test_a_dump_that_is_refused(script: list, code: str, slug: str | None) -> None:
    with pytest.raises(NetstateError) as caught:
        dumped(*script)
    assert (caught.value.asked, caught.value.code) == (ASKED, code)
    assert (caught.value.reason.slug if caught.value.reason else None) == slug


def test_a_refusal_means_what_the_request_says() -> None:
    why = Reason("why", "because")
    with pytest.raises(NetstateError) as caught:
        Channel(ScriptedSocket(answer(1, errno.EOPNOTSUPP))).dump(ASKED, REQUEST, print, {errno.EOPNOTSUPP: why})
    assert caught.value.reason == why
    assert str(caught.value) == "a trial failed: EOPNOTSUPP (Operation not supported). Because"


def test_an_exception_of_the_visitor_ends_the_dump_and_its_thread() -> None:
    def visit(entry: bytes) -> None:
        if number_of(entry) == 2:
            raise KeyError("visitor")

    rows = [row(number, size=MAXIMAL) for number in range(100)]
    with pytest.raises(KeyError, match="visitor"):
        Channel(ScriptedSocket(*rows)).dump(ASKED, REQUEST, visit)
    assert "readahead" not in [thread.name for thread in threading.enumerate()]


# Dumps as they came


def collected(*script: t.Any, earlier: Dump | None = None) -> Dump:
    sock = ScriptedSocket(*script)
    with Channel(sock) as open_channel:
        found = open_channel.collect(ASKED, REQUEST, earlier=earlier)
    assert not sock.script
    assert sock.sent == [REQUEST[:8] + struct.pack("=I", found.sequence) + REQUEST[12:]]
    return found


@pytest.mark.parametrize(
    "script, entries",
    [
        pytest.param([done()], [], id="empty"),
        pytest.param([row(1) + row(2) + done()], [row(1) + row(2)], id="one, with its end"),
        pytest.param([row(1) + row(2), done()], [row(1) + row(2)], id="one, and its end"),
        pytest.param([row(1), row(2) + done()], [row(1), row(2)], id="two, with the end"),
        pytest.param([row(1), row(2), done()], [row(1), row(2)], id="two, and the end"),
        pytest.param([row(1, size=21) + bytes(3) + row(2, size=21)], None, id="no end"),
        pytest.param([row(1, size=21) + bytes(3) + row(2, size=21), done()], [row(1, size=21) + bytes(3) + row(2, size=21)], id="padded"),
        pytest.param(
            [row(1) + row(2, size=3) + bytes(1) + row(3, flags=0x22) + done()], [row(1) + row(2, size=3) + bytes(1) + row(3, flags=0x22)], id="of all sorts"
        ),
        pytest.param([Datagram(row(6) + done(), port=4711), row(1) + done()], [row(1)], id="forged by another process"),
    ],
)
def test_collect(script: list, entries: list[bytes] | None) -> None:
    if entries is None:
        with pytest.raises(NetstateError, match="ETIMEDOUT"):
            collected(*script, SILENCE)
    else:
        assert collected(*script).entries() == entries


@pytest.mark.parametrize(
    "script, text",
    [
        *NOT_WHOLE,
        pytest.param([row(1) + row(7, sequence=9) + done()], "answer to another request", id="a row of another request"),
        pytest.param([row(1), done(sequence=2)], "answer to another request", id="end of another dump"),
        pytest.param([answer(2, errno.EPERM)], "answer to another request", id="refusal of another request"),
        pytest.param([row(1) + message(1, 0, b"", 1) + done()], "answer to another request", id="NLMSG_NOOP"),
    ],
)
def test_what_is_not_whole_is_not_collected(script: list, text: str) -> None:
    with pytest.raises(Interrupted, match=text):
        collected(*script)


@pytest.mark.parametrize("script, code, slug", REFUSED)
def test_a_collection_that_is_refused(script: list, code: str, slug: str | None) -> None:
    with pytest.raises(NetstateError) as caught:
        collected(*script)
    assert (caught.value.asked, caught.value.code) == (ASKED, code)
    assert (caught.value.reason.slug if caught.value.reason else None) == slug


EARLIER = [row(1, sequence=7) + row(2, sequence=7), row(3, sequence=7) + done(7)]


@pytest.mark.parametrize(
    "script, entries",
    [
        pytest.param(EARLIER, None, id="the same"),
        pytest.param([Datagram(b"else", port=4711), EARLIER[0], Datagram(EARLIER[1], port=4711), EARLIER[1]], None, id="the same, and forged ones"),
        pytest.param([row(9, sequence=7), EARLIER[1]], [row(9, sequence=7), row(3, sequence=7)], id="another at first"),
        pytest.param([EARLIER[0], row(9, sequence=7) + done(7)], [EARLIER[0], row(9, sequence=7)], id="another at last"),
        pytest.param([EARLIER[0], row(9, sequence=7), done(7)], [EARLIER[0], row(9, sequence=7)], id="another, and its end"),
        pytest.param([EARLIER[0], EARLIER[0], EARLIER[1]], [EARLIER[0], EARLIER[0], row(3, sequence=7)], id="more"),
        pytest.param([EARLIER[0] + done(7)], [EARLIER[0]], id="fewer"),
        pytest.param([EARLIER[1]], [row(3, sequence=7)], id="the last alone"),
        pytest.param([done(7)], [], id="none any more"),
    ],
)
def test_collected_again(script: list, entries: list[bytes] | None) -> None:
    earlier = Dump(7, EARLIER, len(done()))
    found = collected(*script, earlier=earlier)
    assert found.sequence == 7
    assert (found is earlier) == (entries is None)
    assert found.entries() == (earlier.entries() if entries is None else entries)


def test_collected_again_but_interrupted() -> None:
    with pytest.raises(Interrupted, match="changed while it was read"):
        collected(EARLIER[0], row(3, sequence=7) + done(7, flags=MULTI | INTERRUPTED), earlier=Dump(7, EARLIER, len(done())))


# Whole reads


def whole(*scripts: list) -> tuple[list[int], list[ScriptedSocket]]:
    """Reads with one socket for each try; returns what the last visitor saw."""
    sockets = [ScriptedSocket(*script) for script in scripts]
    unused = iter(sockets)

    class Seen(list):
        def __call__(self, entry: bytes) -> None:
            self.append(number_of(entry))

    seen, _flags = read_whole(ASKED, REQUEST, Seen, opener=lambda: Channel(next(unused)))
    return list(seen), sockets


@pytest.mark.parametrize(
    "first",
    [
        pytest.param([row(1), LOST], id="ENOBUFS"),
        pytest.param([row(1) + row(2, flags=MULTI | INTERRUPTED) + done()], id="interrupted entry"),
        pytest.param([row(1) + done(flags=MULTI | INTERRUPTED)], id="interrupted end"),
        pytest.param([row(1), Datagram(row(2), socket.MSG_TRUNC)], id="truncated"),
        pytest.param([row(1) + row(2)[:-4]], id="cut off"),
    ],
)
def test_a_spoiled_dump_is_read_again_from_the_start_on_another_socket(first: list) -> None:
    seen, sockets = whole(first, [row(1) + row(3) + done()])
    assert seen == [1, 3]  # nothing of the first try
    assert all(sock.closed for sock in sockets)
    assert [sock.sent for sock in sockets] == [[REQUEST[:8] + struct.pack("=I", 1) + REQUEST[12:]]] * 2


def test_spoiled_dumps_are_read_again_a_bounded_number_of_times() -> None:
    sockets = [ScriptedSocket(row(1), LOST) for _try in range(6)]
    unused = iter(sockets)
    with pytest.raises(NetstateError) as caught:
        read_whole(ASKED, REQUEST, lambda: lambda _entry: None, opener=lambda: Channel(next(unused)))
    assert caught.value.reason is not None
    assert caught.value.reason.slug == "unreadable"
    assert str(caught.value) == (
        "a trial failed. 5 tries: answers were lost for a full receive buffer. The table could not be read whole; nothing was done with a part of it"
    )
    assert [sock.closed for sock in sockets] == [True] * 5 + [False]


def test_a_refused_dump_is_not_tried_again() -> None:
    with pytest.raises(NetstateError) as caught:
        whole([answer(1, errno.EPERM)])
    assert caught.value.code == "EPERM"


# Single requests


@pytest.mark.parametrize(
    "script, bodies",
    [
        pytest.param([answer(1)], [], id="acknowledged"),
        pytest.param([message(0x105, 0, b"body", 1), answer(1)], [b"body"], id="answer and acknowledgement"),
        pytest.param([message(0x105, 0, b"body", 1) + answer(1)], [b"body"], id="in one datagram"),
        pytest.param([message(0x105, 0, b"else", 5), message(0x105, 0, b"body", 1), answer(1)], [b"body"], id="answer to another request"),
        pytest.param([answer(7, errno.EPERM), answer(1)], [], id="refusal of another request"),
        pytest.param([Datagram(answer(1, errno.EPERM), port=4711), answer(1)], [], id="forged"),
    ],
)
def test_ask(script: list, bodies: list[bytes]) -> None:
    sock = ScriptedSocket(*script)
    assert [found[16:] for found in Channel(sock).ask(ASKED, ORDER)] == bodies
    assert not sock.script
    assert sock.sent == [struct.pack("=IHHII", 20, 0x102, 0x5, 1, 0) + bytes(4)]  # numbered, and NLM_F_ACK set


@pytest.mark.parametrize(
    "script, code, slug",
    [
        ([answer(1, errno.EPERM)], "EPERM", "not_permitted"),
        ([answer(1, errno.ENOENT)], "ENOENT", None),
        ([message(0x105, 0, b"body", 1), answer(1, errno.EBUSY)], "EBUSY", "busy"),
        ([SILENCE], "ETIMEDOUT", "no_answer"),
        ([LOST], "ENOBUFS", "overrun"),
        ([Datagram(answer(1), socket.MSG_TRUNC)], "ENOBUFS", "overrun"),
        ([answer(1)[:10]], "ENOBUFS", "overrun"),
        ([answer(1, 4095)], "4095", None),
    ],
)
def test_ask_refused(script: list, code: str, slug: str | None) -> None:
    with pytest.raises(NetstateError) as caught:
        Channel(ScriptedSocket(*script)).ask(ASKED, ORDER)
    assert caught.value.code == code
    assert (caught.value.reason.slug if caught.value.reason else None) == slug


def test_requests_of_a_channel_are_numbered_on() -> None:
    sock = ScriptedSocket(answer(1), answer(1) + answer(2), answer(3) + answer(4) + answer(5))
    open_channel = Channel(sock)
    open_channel.ask(ASKED, ORDER)
    open_channel.ask(ASKED, ORDER)
    assert open_channel.batch(ASKED, [ORDER] * 3) == {}
    numbers = [struct.unpack_from("=I", sent, place)[0] for sent in sock.sent for place in range(8, len(sent), 20)]
    assert numbers == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("number, code", [(errno.EPERM, "EPERM"), (errno.ENOBUFS, "ENOBUFS"), (errno.EAGAIN, "EAGAIN")])
def test_what_cannot_be_sent(number: int, code: str) -> None:
    sock = ScriptedSocket(refuse_send=OSError(number, ""))
    with pytest.raises(NetstateError) as caught:
        Channel(sock).ask(ASKED, ORDER)
    assert caught.value.code == code


# Batches


@pytest.mark.parametrize(
    "script, failures",
    [
        pytest.param([answer(3)], {}, id="all well"),
        pytest.param([answer(1, errno.ENOENT), answer(3)], {0: errno.ENOENT}, id="the first has vanished"),
        pytest.param([answer(2, errno.EBUSY) + answer(3)], {1: errno.EBUSY}, id="one in the middle fails"),
        pytest.param([answer(3, errno.ENOENT)], {2: errno.ENOENT}, id="the last fails"),
        pytest.param(
            [answer(1, errno.ENOENT), answer(2, errno.EPERM), answer(3, errno.EBUSY)],
            {0: errno.ENOENT, 1: errno.EPERM, 2: errno.EBUSY},
            id="all fail",
        ),
        pytest.param([answer(9, errno.EPERM), answer(0, errno.EPERM), answer(3)], {}, id="answers to other requests"),
        pytest.param([Datagram(answer(3), port=4711), answer(1, errno.ENOENT) + answer(3)], {0: errno.ENOENT}, id="forged end"),
        pytest.param([message(0x102, 0, bytes(4), 3), answer(3)], {}, id="an echoed event is no answer"),
        pytest.param([answer(1), answer(2), answer(3)], {}, id="acknowledgements that were not asked for"),
    ],
)
def test_batch(script: list, failures: dict[int, int]) -> None:
    sock = ScriptedSocket(*script)
    assert Channel(sock).batch(ASKED, [ORDER] * 3) == failures
    assert not sock.script
    parts = [struct.unpack_from("=IHHII", sock.sent[0], place) for place in (0, 20, 40)]
    assert parts == [(20, 0x102, 0x1, 1, 0), (20, 0x102, 0x1, 2, 0), (20, 0x102, 0x5, 3, 0)]  # only the last asks for an answer
    assert len(sock.sent) == 1


@pytest.mark.parametrize(
    "script, code, slug",
    [
        ([answer(1, errno.ENOENT), LOST], "ENOBUFS", "overrun"),
        ([answer(1, errno.ENOENT), SILENCE], "ETIMEDOUT", "no_answer"),
        ([Datagram(answer(1, errno.ENOENT), socket.MSG_TRUNC)], "ENOBUFS", "overrun"),
        ([OSError(errno.ENETDOWN, "")], "ENETDOWN", None),
    ],
)
def test_batch_of_unknown_outcome(script: list, code: str, slug: str | None) -> None:
    with pytest.raises(NetstateError) as caught:
        Channel(ScriptedSocket(*script)).batch(ASKED, [ORDER] * 3)
    assert caught.value.code == code
    assert (caught.value.reason.slug if caught.value.reason else None) == slug


def test_an_empty_batch_sends_nothing() -> None:
    sock = ScriptedSocket()
    assert Channel(sock).batch(ASKED, []) == {}
    assert sock.sent == []


@pytest.mark.parametrize("room, size", [(8 << 20, 500), (212992, 104), (4096, 2), (2303, 1), (0, 1)])
def test_batch_size_fits_the_receive_buffer(room: int, size: int) -> None:
    assert Channel(ScriptedSocket(receive_buffer=room)).batch_size() == size


# The socket itself


@pytest.mark.parametrize(
    "protocol, slug",
    [
        (31, "not_built"),  # no netlink protocol has the highest number
    ],
)
def test_opening_what_the_kernel_does_not_have(protocol: int, slug: str) -> None:
    with pytest.raises(NetstateError) as caught:
        Channel.open(protocol)
    assert caught.value.reason is not None
    assert caught.value.reason.slug == slug
    assert caught.value.code == "EPROTONOSUPPORT"


def test_a_channel_is_closed_at_its_end() -> None:
    sock = ScriptedSocket()
    with pytest.raises(KeyError), Channel(sock):
        raise KeyError
    assert sock.closed


def test_an_opened_socket_waits_a_bounded_time_and_has_a_large_buffer() -> None:
    # NETLINK_ROUTE (0) is in every kernel and needs no privilege.
    with Channel.open(0) as open_channel:
        sock = open_channel._sock
        seconds, _rest = struct.unpack("@ll", sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))
        assert seconds == channel.RECEIVE_SECONDS
        plain = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        with plain:
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= plain.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        assert not sock.get_inheritable()


def test_framed() -> None:
    assert channel.framed(0x102, 0x4, b"\x02\0\0\0").hex() == "14000000020105000000000000000000" + "02000000"
