# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.readahead import AHEAD, ReadAhead, closes
from netlink_bytes import done, message

END = done()


def datagram(number: int) -> bytes:
    """One of many: it does not look like the last."""
    return message(0x100, 2, number.to_bytes(4, "big") + bytes(100), 1)


def lookalike(number: int) -> bytes:
    """Ends with the bytes of a closing message, inside an attribute's value."""
    return message(0x100, 2, number.to_bytes(4, "big") + bytes(100) + END, 1)


class Source:
    """Gives the items one after the other; notes in which thread."""

    def __init__(self, *items: bytes | BaseException) -> None:
        self.items = list(items)
        self.threads: list[str] = []

    def __call__(self) -> bytes:
        self.threads.append(threading.current_thread().name)
        item = self.items.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "readahead"]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> t.Iterator[None]:
    yield
    assert readers() == []


@pytest.mark.parametrize(
    "data, last",
    [
        (b"", True),
        (END, True),
        (datagram(1) + END, True),
        (datagram(1) + done(sequence=77, flags=0x22), True),
        (message(2, 0, bytes(20), 1), True),  # a refusal: too short to be one of many
        (datagram(1), False),
        (datagram(1) + datagram(2), False),
        (lookalike(1), True),
        (END + datagram(1), False),
    ],
)
def test_closes(data: bytes, last: bool) -> None:
    assert closes(data) is last


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([END], id="short"),
        pytest.param([datagram(1), END], id="two"),
        pytest.param([datagram(number) for number in range(200)] + [datagram(200) + END], id="many"),
        pytest.param([lookalike(1), datagram(2), datagram(3), END], id="the first only looks like the last"),
        pytest.param([datagram(1), lookalike(2), datagram(3), lookalike(4), lookalike(5), datagram(6), END], id="lookalikes between"),
        pytest.param([b"", datagram(1), b"", datagram(2), END], id="nothing, as for a forged one"),
    ],
)
def test_order_is_kept(items: list[bytes]) -> None:
    ahead = ReadAhead(Source(*items))
    assert [ahead.next() for _item in items] == items
    ahead.close()


def test_it_reads_in_a_thread_of_its_own_while_more_is_to_come() -> None:
    source = Source(datagram(1), datagram(2), END)
    ahead = ReadAhead(source)
    for _turn in range(3):
        ahead.next()
    ahead.close()
    assert source.threads == ["MainThread", "readahead", "readahead"]


def test_it_never_reads_beyond_what_looks_like_the_last() -> None:
    source = Source(datagram(1), datagram(2) + END, datagram(3))
    ahead = ReadAhead(source)
    assert [ahead.next(), ahead.next()] == [datagram(1), datagram(2) + END]
    ahead.close()
    assert source.items == [datagram(3)]


@pytest.mark.parametrize("place", [0, 1, 2, 30])
def test_exceptions_come_in_their_turn(place: int) -> None:
    items = [datagram(number) for number in range(place)]
    ahead = ReadAhead(Source(*items, KeyError("lost"), datagram(99), END))
    assert [ahead.next() for _item in items] == items
    with pytest.raises(KeyError, match="lost"):
        ahead.next()
    assert ahead.next() == datagram(99)  # on demand
    ahead.close()


def test_it_stops_when_it_is_far_enough_ahead() -> None:
    reached = threading.Semaphore(0)
    given = []

    def receive() -> bytes:
        given.append(datagram(len(given)))
        reached.release()
        return given[-1]

    ahead = ReadAhead(receive)
    ahead.next()
    for _datagram in range(1 + AHEAD):
        reached.acquire()
    (thread,) = readers()
    ahead.close()  # while it waits for room
    assert not thread.is_alive()
    assert len(given) == 1 + AHEAD


def test_close_ends_the_thread_whatever_is_left() -> None:
    ahead = ReadAhead(Source(*[datagram(number) for number in range(1000)]))
    ahead.next()
    ahead.close()
    assert readers() == []


def test_close_without_a_thread() -> None:
    ReadAhead(Source()).close()
