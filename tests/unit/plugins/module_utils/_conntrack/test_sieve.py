# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import golden
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import sieve, wire
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.sieve import Kind, Sieve
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import entry

MARK, LABELS = (wire.MARK,), (wire.LABELS,)


def kinds() -> Sieve:
    return Sieve(lambda kind, _message, _layout: kind)


# What an entry was built from, and the kind that must come out of the sieve.
@st.composite
def entries(draw: st.DrawFn) -> tuple[bytes, dict]:
    v6 = draw(st.booleans())
    size = 16 if v6 else 4
    protocol = draw(st.sampled_from([6, 17, 50]))
    zone = draw(st.sampled_from([0, 1, 2, 256, 65535]))
    built = {
        "protocol": protocol,
        "zone": zone,
        "carrier": draw(st.sampled_from(["both", "original", "reply"])) if zone else "both",
        "status": draw(st.sampled_from([0x8, 0xE, 0x40E])),
        "tcp_state": draw(st.sampled_from([None, 0, 3, 7])) if protocol == 6 else None,
        "mark": draw(st.sampled_from([None, 0, 1, 0x80000000])),
        "labels": draw(st.sampled_from([None, 0, 1, 1 << 100])),
        "flags": draw(st.sampled_from([0x2, 0x22])),
    }
    message = entry(
        source=draw(st.binary(min_size=size, max_size=size)),
        destination=draw(st.binary(min_size=size, max_size=size)),
        ports=None if protocol == 50 else draw(st.tuples(st.integers(0, 65535), st.integers(0, 65535))),
        timeout=draw(st.sampled_from([None, 1, 600])),
        number=draw(st.integers(0, 0xFFFFFFFF)),
        sequence=draw(st.integers(0, 0xFFFFFFFF)),
        **built,
    )
    return message, dict(built, family=10 if v6 else 2)


def expected(built: dict, mark: bool, labels: bool) -> Kind:
    return Kind(
        filtered=built["flags"] == 0x22,
        family=built["family"],
        zone=built["zone"],
        carrier=built["carrier"],
        protocol=built["protocol"],
        status=built["status"],
        tcp_state=built["tcp_state"],
        mark=built["mark"] if mark else None,
        labels=built["labels"] if labels else None,
    )


@given(
    table=st.lists(entries(), min_size=1, max_size=40),
    mark=st.booleans(),
    labels=st.booleans(),
    remembered=st.sampled_from([1, 2, 3, 1 << 16]),
)
def test_every_mixture_is_sorted_right(table: list, mark: bool, labels: bool, remembered: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "REMEMBERED", remembered)
        sorter = Sieve(lambda kind, _message, _layout: kind, ([MARK] if mark else []) + ([LABELS] if labels else []))
        for message, built in table * 2:  # the second time they are known
            assert sorter.cell(message) == expected(built, mark, labels)


GOLDEN = {
    "tcp_both": Kind(False, 2, 5, "both", 6, 0xE, 3, None, None),
    "tcp_both_filtered": Kind(True, 2, 5, "both", 6, 0xE, 3, None, None),
    "tcp_original_zone": Kind(False, 2, 7, "original", 6, 0x8, 1, None, None),
    "tcp_reply_zone": Kind(False, 2, 65535, "reply", 6, 0x8, 1, None, None),
    "tcp_zone_0": Kind(False, 2, 0, "both", 6, 0xE, 7, None, None),
    "udp_ipv6": Kind(False, 10, 1, "both", 17, 0x8, None, None, None),
    "icmp": Kind(False, 2, 2, "both", 1, 0x8, None, None, None),
    "icmpv6": Kind(False, 10, 0, "both", 58, 0x8, None, None, None),
    "sctp": Kind(False, 2, 3, "both", 132, 0x8, None, None, None),
    "gre": Kind(False, 2, 0, "both", 47, 0x8, None, None, None),
    "helper": Kind(False, 2, 0, "both", 6, 0x200E, 3, None, None),
    "offloaded": Kind(False, 2, 9, "both", 6, 0x400E, None, None, None),
    "udp_traffic": Kind(True, 2, 12, "both", 17, 0xA, None, None, None),
}


def test_real_entries_one_after_the_other() -> None:
    sorter = kinds()
    for _turn in range(2):
        assert {name: sorter.cell(golden.ENTRIES[name]) for name in GOLDEN} == GOLDEN


def test_real_entry_with_mark_and_labels() -> None:
    sorter = Sieve(lambda kind, _message, _layout: kind, [MARK, LABELS])
    kind = sorter.cell(golden.ENTRIES["udp_traffic"])
    assert (kind.mark, kind.labels) == (0xBEEF, 1 << 3 | 1 << 100)


@pytest.mark.parametrize(
    "one, other",
    [
        ({"zone": 7, "carrier": "original"}, {"zone": 7, "carrier": "reply"}),
        ({"zone": 7, "carrier": "original", "tcp_state": 3}, {"zone": 7, "carrier": "reply", "tcp_state": 4}),
        ({"zone": 7}, {"zone": 7, "carrier": "original"}),
        ({"zone": 7, "mark": None}, {"zone": 0, "mark": 7}),
        ({"zone": 0x0800, "timeout": None}, {"zone": 0, "timeout": 0x0800}),
        ({"status": 0x8}, {"status": 0xE}),
        ({"flags": 0x2}, {"flags": 0x22}),
        ({"protocol": 6}, {"protocol": 17}),
    ],
)
def test_messages_of_one_length_are_told_apart(one: dict, other: dict) -> None:
    sorter = kinds()
    messages = [entry(**values) for values in (one, other)]
    assert len(messages[0]) == len(messages[1])
    first, second = (sorter.cell(message) for message in messages)
    assert first != second
    assert [sorter.cell(message) for message in messages] == [first, second]


def test_one_sort_is_decoded_once() -> None:
    met = []
    sorter = Sieve(lambda kind, _message, _layout: met.append(kind) or len(met))
    cells = [sorter.cell(entry(source=bytes([10, 0, 0, n]), ports=(1024 + n, 80), number=n, timeout=n)) for n in range(100)]
    assert cells == [1] * 100
    assert len(met) == 1


@pytest.mark.parametrize("also, sorts", [([], 1), ([MARK], 4), ([LABELS], 1)])
def test_marks_are_told_apart_when_asked_for_only(also: list, sorts: int) -> None:
    sorter = Sieve(lambda kind, _message, _layout: object(), also)
    assert len({sorter.cell(entry(mark=mark)) for mark in (0, 1, 2, 3)}) == sorts


def test_the_layout_given_is_that_of_the_message() -> None:
    seen = []
    Sieve(lambda kind, message, layout: seen.append((message, layout)) or True).cell(golden.ENTRIES["esp"])
    assert seen == [(golden.ENTRIES["esp"], wire.locate(golden.ENTRIES["esp"]))]


def test_a_sort_is_looked_up_under_its_own_mask_only() -> None:
    # Of one length: a plain entry of zone 0 ends in a timeout, an offloaded one has a zone in its place. What the mask of the
    # first leaves of the second lacks its mark, and is the number of one without a mark.
    plain = entry(b"\x0a\0\0\1", b"\x0a\0\0\2", protocol=17, mark=0, timeout=30, number=1)
    offloaded = [
        entry(b"\x0a\0\0\3", b"\x0a\0\0\2", protocol=17, zone=5, status=0x400E, mark=mark, timeout=None, number=2)
        for mark in (0, 7)
    ]
    assert len({len(plain), *map(len, offloaded)}) == 1
    for order in ([plain, *offloaded], [*offloaded, plain], [offloaded[0], plain, offloaded[1]]):
        found = Sieve(lambda kind, _message, _layout: kind, also=[MARK])
        for message in order * 2:
            layout = wire.locate(message)
            assert found.cell(message).mark == wire.number(message, layout, MARK)
            assert found.cell(message).zone == wire.zone(message, layout)[0]
