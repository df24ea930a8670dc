# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import struct

import golden
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages, wire
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.sieve import Sieve
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import attribute, be16, be32, message, nest

HEAD = bytes(4)  # nfgenmsg


def located(name: str) -> tuple[bytes, wire.Layout]:
    entry = golden.ENTRIES[name]
    return entry, wire.locate(entry)


# Path to value, read by eye from the data file.
ESP = {
    (1,): "14000180080001000a00000708000200c00002010c00028005000100320000" + "00",
    (1, 1): "080001000a00000708000200c0000201",
    (1, 1, 1): "0a000007",
    (1, 1, 2): "c0000201",
    (1, 2): "0500010032000000",
    (1, 2, 1): "32",
    (2,): "1400018008000100c0000201080002000a0000070c00028005000100320000" + "00",
    (2, 1): "08000100c0000201080002000a000007",
    (2, 1, 1): "c0000201",
    (2, 1, 2): "0a000007",
    (2, 2): "0500010032000000",
    (2, 2, 1): "32",
    (3,): "00000008",
    (8,): "00000000",
    (12,): "8cc7f865",
    (11,): "00000001",
    (7,): "00000257",
    (9,): "0c00010000000000000000000c0002000000000000000000",
    (9, 1): "0000000000000000",
    (9, 2): "0000000000000000",
    (10,): "0c00010000000000000000000c0002000000000000000000",
    (10, 1): "0000000000000000",
    (10, 2): "0000000000000000",
    (20,): "0c00010018ecdb599a6cd6fd",
    (20, 1): "18ecdb599a6cd6fd",
    (24,): "080001000000000008000200000000000800030000000000",  # CTA_SYNPROXY is of no interest: not walked into
}


def test_locate_finds_every_attribute_of_a_real_entry() -> None:
    entry, layout = located("esp")
    assert {path: entry[start:end].hex() for path, (start, end) in layout.items()} == ESP


@pytest.mark.parametrize(
    "name, zone",
    [
        ("tcp_both", (5, "both")),
        ("tcp_both_filtered", (5, "both")),
        ("tcp_original_zone", (7, "original")),
        ("tcp_reply_zone", (65535, "reply")),
        ("tcp_zone_0", (0, "both")),
        ("udp_ipv6", (1, "both")),
        ("icmp", (2, "both")),
        ("icmpv6", (0, "both")),
        ("sctp", (3, "both")),
        ("gre", (0, "both")),
        ("udp_traffic", (12, "both")),
        ("offloaded", (9, "both")),
    ],
)
def test_zone_and_what_carries_it(name: str, zone: tuple[int, str]) -> None:
    assert wire.zone(*located(name)) == zone


@pytest.mark.parametrize(
    "name, path, value",
    [
        ("tcp_both", wire.PROTOCOL, 6),
        ("tcp_both", (wire.STATUS,), 0xE),
        ("tcp_both", (wire.MARK,), 0x1234),
        ("tcp_both", (wire.ID,), 0xF4153037),
        ("tcp_both", (wire.TIMEOUT,), 599),
        ("tcp_both", wire.TCP_STATE, 3),
        ("tcp_both", wire.SCTP_STATE, None),
        ("tcp_both", (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.SRC_PORT), 40001),
        ("tcp_both", (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.DST_PORT), 443),
        ("tcp_both", (wire.TUPLE_REPLY, wire.TUPLE_PROTO, wire.SRC_PORT), 443),
        ("tcp_zone_0", (wire.ZONE,), None),
        ("tcp_zone_0", (wire.TUPLE_REPLY, wire.TUPLE_IP, wire.V4_SRC), 0x0A090001),
        ("udp_ipv6", wire.PROTOCOL, 17),
        ("udp_ipv6", wire.TCP_STATE, None),
        ("udp_ipv6", (wire.TUPLE_ORIG, wire.TUPLE_IP, wire.V6_SRC), 0x20010DB8 << 96 | 1),
        ("icmp", (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.ICMP_ID), 777),
        ("icmp", (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.ICMP_TYPE), 8),
        ("icmp", (wire.TUPLE_REPLY, wire.TUPLE_PROTO, wire.ICMP_TYPE), 0),
        ("icmpv6", (wire.TUPLE_REPLY, wire.TUPLE_PROTO, wire.ICMPV6_TYPE), 129),
        ("sctp", wire.PROTOCOL, 132),
        ("sctp", wire.SCTP_STATE, 4),
        ("sctp", (wire.PROTOINFO, wire.INFO_SCTP, wire.SCTP_VTAG_REPLY), 0x55667788),
        ("gre", wire.PROTOCOL, 47),
        ("gre", (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.SRC_PORT), 16),
        ("udp_traffic", (wire.COUNTERS_ORIG, wire.PACKETS), 2),
        ("udp_traffic", (wire.COUNTERS_ORIG, wire.BYTES), 166),
        ("udp_traffic", (wire.COUNTERS_REPLY, wire.BYTES), 1028),
        ("udp_traffic", (wire.TIMESTAMP, wire.STAMP_START), 0x18ECDB59B3EAF576),
        ("udp_traffic", (wire.MARK,), 0xBEEF),
        ("plain", (wire.COUNTERS_ORIG,), None),
        ("offloaded", (wire.TIMEOUT,), None),
        ("offloaded", wire.TCP_STATE, None),
        ("offloaded", (wire.STATUS,), 0x400E),
    ],
)
def test_number(name: str, path: wire.Path, value: int | None) -> None:
    assert wire.number(*located(name), path) == value


MALFORMED = [
    pytest.param(b"", id="nothing"),
    pytest.param(message(0x100, 2), id="nlmsghdr alone"),
    pytest.param(message(0x100, 2, HEAD[:3]), id="nfgenmsg cut off"),
    pytest.param(message(0x100, 2, HEAD + struct.pack("=HH", 3, 12)), id="shorter than its own header"),
    pytest.param(message(0x100, 2, HEAD + struct.pack("=HH", 0, 0)), id="length 0, which would never end"),
    pytest.param(message(0x100, 2, HEAD + struct.pack("=HH", 9, 12) + bytes(4)), id="longer than the message"),
    pytest.param(message(0x100, 2, HEAD + attribute(12, bytes(4)) + struct.pack("=HH", 8, 3)), id="the second one cut off"),
    pytest.param(message(0x100, 2, HEAD + nest(1, struct.pack("=HH", 12, 1) + bytes(4)) + bytes(8)), id="longer than its nest"),
    pytest.param(
        message(0x100, 2, HEAD + nest(4, nest(1, struct.pack("=HH", 2, 1)))), id="two nests deep"
    ),
]


@pytest.mark.parametrize("entry", MALFORMED)
def test_malformed_is_refused(entry: bytes) -> None:
    with pytest.raises(wire.Malformed):
        wire.locate(entry)


@pytest.mark.parametrize("entry", MALFORMED)
def test_malformed_is_refused_by_the_sieve(entry: bytes) -> None:
    with pytest.raises(wire.Malformed):
        Sieve(lambda kind, _message, _layout: kind).cell(entry)


@pytest.mark.parametrize(
    "body, layout",
    [
        (HEAD, {}),
        (HEAD + b"\x08\x00\x0c", {}),  # less than an attribute's header is padding
        (HEAD + attribute(12, b""), {(12,): (24, 24)}),
        (HEAD + attribute(18, be16(5)), {(18,): (24, 26)}),
        (HEAD + attribute(18, be16(5))[:6], {(18,): (24, 26)}),  # without padding at the end
        (HEAD + attribute(18, be16(5)) + attribute(12, be32(1)), {(18,): (24, 26), (12,): (32, 36)}),
        (HEAD + attribute(12 | 0x4000, be32(1)), {(12,): (24, 28)}),  # NLA_F_NET_BYTEORDER is no part of the number
        (HEAD + nest(1, nest(1, attribute(1, be32(7)))), {(1,): (24, 36), (1, 1): (28, 36), (1, 1, 1): (32, 36)}),
        (HEAD + nest(1), {(1,): (24, 24)}),
        (HEAD + attribute(1, attribute(3, be16(9))), {(1,): (24, 32), (1, 3): (28, 30)}),  # nested without NLA_F_NESTED
    ],
)
def test_locate(body: bytes, layout: wire.Layout) -> None:
    assert wire.locate(message(0x100, 2, body)) == layout


@pytest.mark.parametrize(
    "value, bits",
    [
        (b"", 0),
        (struct.pack("=QQ", 0, 0), 0),
        (struct.pack("=Q", 0b101), 0b101),
        (struct.pack("=QQ", 1 << 3, 1 << 36), 1 << 3 | 1 << 100),
        (struct.pack("=QQ", 1 << 63, 1 << 63), 1 << 63 | 1 << 127),
        (struct.pack("=Q", 6) + b"\xff\xff", 6),  # what is no whole word is no label
    ],
)
def test_labels(value: bytes, bits: int) -> None:
    assert wire.labels(value) == bits


def test_labels_of_a_real_entry() -> None:
    entry, layout = located("udp_traffic")
    start, end = layout[(wire.LABELS,)]
    assert wire.labels(entry[start:end]) == 1 << 3 | 1 << 100


@pytest.mark.parametrize(
    "kept, cover",
    [
        (set(), "ffffffffffffffff 0000000000000000 ff000000 ffffffff00000000 ffffffff00000000"),
        ({(18,)}, "ffffffffffffffff 0000000000000000 ff000000 ffffffff00000000 ffffffffffff0000"),
        ({(12,)}, "ffffffffffffffff 0000000000000000 ff000000 ffffffffffffffff ffffffff00000000"),
        ({(7,)}, "ffffffffffffffff 0000000000000000 ff000000 ffffffff00000000 ffffffff00000000"),
    ],
)
def test_mask(kept: set[wire.Path], cover: str) -> None:
    entry = message(0x100, 2, HEAD + attribute(12, be32(0x11223344)) + attribute(18, be16(5)), 77, 88)
    mask = wire.mask(entry, wire.locate(entry), kept)
    assert mask.to_bytes(len(entry), "little") == bytes.fromhex(cover)


@pytest.mark.parametrize(
    "value, name",
    [(1, "icmp"), (6, "tcp"), (17, "udp"), (33, "dccp"), (47, "gre"), (50, "esp"), (58, "icmpv6"), (132, "sctp"), (136, "udplite"), (0, "0"), (200, "200")],
)
def test_protocol_name(value: int, name: str) -> None:
    assert wire.protocol_name(value) == name


@pytest.mark.parametrize(
    "value, names",
    [
        (0, []),
        (0xE, ["SEEN_REPLY", "ASSURED", "CONFIRMED"]),
        (1, ["EXPECTED"]),
        (0x10 | 0x20 | 0x80, ["SRC_NAT", "DST_NAT", "SRC_NAT_DONE"]),
        (1 << 9 | 1 << 10 | 1 << 11, ["DYING", "FIXED_TIMEOUT", "TEMPLATE"]),
        (1 << 13 | 1 << 14 | 1 << 15, ["HELPER", "OFFLOAD", "HW_OFFLOAD"]),
        (1 << 16 | 1 << 31, ["BIT_16", "BIT_31"]),
    ],
)
def test_status_names(value: int, names: list[str]) -> None:
    assert wire.status_names(value) == names


@pytest.mark.parametrize(
    "names, value, name",
    [
        (wire.TCP_STATES, 0, "NONE"),
        (wire.TCP_STATES, 3, "ESTABLISHED"),
        (wire.TCP_STATES, 7, "TIME_WAIT"),
        (wire.TCP_STATES, 9, "SYN_SENT2"),
        (wire.TCP_STATES, 10, "10"),
        (wire.SCTP_STATES, 4, "ESTABLISHED"),
        (wire.SCTP_STATES, 9, "HEARTBEAT_ACKED"),
        (wire.DCCP_STATES, 4, "OPEN"),
        (wire.DCCP_STATES, 8, "IGNORE"),
    ],
)
def test_state_name(names: tuple[str, ...], value: int, name: str) -> None:
    assert wire.state_name(names, value) == name


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    entry = bytearray(draw(st.sampled_from(list(golden.ENTRIES.values()))))
    for place, value in draw(st.lists(st.tuples(st.integers(0, len(entry) - 1), st.integers(0, 255)), max_size=8)):
        entry[place] = value
    return bytes(entry[: draw(st.integers(0, len(entry)))])


@given(damaged())
def test_damaged_bytes_are_read_or_malformed(entry: bytes) -> None:
    try:
        layout = wire.locate(entry)
    except wire.Malformed:
        return
    for path, (start, end) in layout.items():
        assert wire.BODY < start <= end <= len(entry), path
    number, carrier = wire.zone(entry, layout)
    assert number >= 0
    assert carrier in ("both", "original", "reply")
    assert Sieve(lambda kind, _message, _layout: kind).cell(entry).zone == number
    if not {(wire.TUPLE_ORIG,), (wire.ID,)} <= set(layout):
        return
    body = messages.identity(entry, messages.identity_cut(layout))
    assert body[:4] == entry[16:20]  # zeros behind the family, unless they were damaged
