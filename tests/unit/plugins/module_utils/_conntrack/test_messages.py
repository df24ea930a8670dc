# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ipaddress
import itertools
import struct

import golden
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages, wire
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import entry
from request_bytes import REQUESTS


@pytest.mark.parametrize("request_, expected", [pytest.param(build, digits, id=name) for name, build, digits in REQUESTS])
def test_request_bytes(request_: object, expected: str) -> None:
    assert request_().hex() == expected.replace(" ", "")


# The body of a delete, read by eye from the data file: family, original tuple, CTA_ZONE where shown, CTA_ID.
IDENTITIES = {
    "tcp_both": (
        "02000000 3400018014000180080001000a00000108000200c00002011c0002800500010006000000060002009c4100000600030001bb0000"
        " 0600120000050000 08000c00f4153037"
    ),
    "tcp_original_zone": (
        "02000000 3c00018014000180080001000a00000208000200c00002011c0002800500010006000000060002009c42000006000300005000000600030000070000"
        " 08000c0073bf2ba2"
    ),
    # The zone of the reply direction is in the reply tuple; the original tuple alone, without a zone, finds the entry.
    "tcp_reply_zone": (
        "02000000 3400018014000180080001000a00000308000200c00002011c0002800500010006000000060002009c4300000600030000500000"
        " 08000c00fc92fca4"
    ),
    "icmp": (
        "02000000 3c00018014000180080001000a00000508000200c00002012400028005000100010000000600040003090000050005000800000005000600"
        "00000000 0600120000020000 08000c00400d953a"
    ),
    "esp": "02000000 2400018014000180080001000a00000708000200c00002010c0002800500010032000000 08000c008cc7f865",
    "udp_ipv6": (
        "0a000000 4c0001802c0001801400030020010db80000000000000000000000011400040020010db800000000000000000000ffff1c000280"
        "05000100110000000600020014e900000600030000350000 0600120000010000 08000c00a52dd5b3"
    ),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identity_passes_the_entrys_own_bytes_through(name: str) -> None:
    dumped = golden.ENTRIES[name]
    body = messages.identity(dumped, messages.identity_cut(wire.locate(dumped)))
    assert body.hex() == IDENTITIES[name].replace(" ", "")


def test_delete_is_the_identity_behind_a_header() -> None:
    body = bytes.fromhex(IDENTITIES["esp"].replace(" ", ""))
    assert messages.delete(body) == bytes.fromhex("40000000 0201 0100 00000000 00000000") + body


def identity(dumped: bytes) -> bytes:
    return messages.identity(dumped, messages.identity_cut(wire.locate(dumped)))


DISTINCT = {
    "zone 0": entry(),
    "zone 1": entry(zone=1),
    "zone 2": entry(zone=2),
    "zone 256, the bytes of 1 turned round": entry(zone=256),
    "zone 1 of the original direction": entry(zone=1, carrier="original"),
    "another id": entry(number=2),
    "another source": entry(source=b"\x0a\0\0\x02"),
    "another destination": entry(destination=b"\xc0\0\x02\x02"),
    "another source port": entry(ports=(40001, 80)),
    "another destination port": entry(ports=(40000, 81)),
    "another protocol": entry(protocol=17),
    "IPv6": entry(source=bytes(15) + b"\x01", destination=bytes(15) + b"\x02"),
}


@pytest.mark.parametrize("one, other", list(itertools.combinations(DISTINCT, 2)))
def test_distinct_entries_have_distinct_identities(one: str, other: str) -> None:
    assert identity(DISTINCT[one]) != identity(DISTINCT[other])


@pytest.mark.parametrize(
    "change",
    [
        {"status": 0xE},
        {"timeout": 3},
        {"timeout": None},
        {"tcp_state": 3},
        {"mark": 7},
        {"labels": 1 << 100},
        {"flags": 0x22},
        {"sequence": 9},
    ],
)
def test_what_changes_while_an_entry_lives_is_no_part_of_its_identity(change: dict) -> None:
    assert identity(entry(**change)) == identity(entry())


def test_global_counts() -> None:
    assert messages.global_counts(golden.MESSAGES["stats"]) == (3, 0x40000)


def test_cpu_counters_are_those_that_the_kernel_sends() -> None:
    assert messages.cpu_counters(golden.MESSAGES["cpu_stats_0"]) == {
        "found": 0,
        "invalid": 0,
        "insert": 3,
        "insert_failed": 0,
        "drop": 0,
        "early_drop": 0,
        "error": 0,
        "search_restart": 0,
        "clash_resolve": 0,
        "chain_toolong": 0,
    }


u8, u16, u32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
addresses = st.tuples(st.binary(min_size=4, max_size=4), st.binary(min_size=4, max_size=4)) | st.tuples(
    st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16)
)


@given(
    addresses=addresses,
    protocol=st.sampled_from([6, 17, 132, 33]),
    ports=st.tuples(u16, u16),
    zone=st.none() | u16,
    sides=st.tuples(st.none() | u16, st.none() | u16),
    timeout=u32,
    mark=st.none() | u32,
    status=st.none() | u32,
    tcp_state=st.none() | u8,
    bits=st.none() | st.binary(min_size=16, max_size=16),
)
def test_what_is_built_is_found_again(
    addresses: tuple[bytes, bytes],
    protocol: int,
    ports: tuple[int, int],
    zone: int | None,
    sides: tuple[int | None, int | None],
    timeout: int,
    mark: int | None,
    status: int | None,
    tcp_state: int | None,
    bits: bytes | None,
) -> None:
    source, destination = addresses
    family = 2 if len(source) == 4 else 10
    built = messages.insert(
        family,
        messages.tuple_of(source, destination, protocol, zone=sides[0], src_port=ports[0], dst_port=ports[1]),
        messages.tuple_of(destination, source, protocol, zone=sides[1], src_port=ports[1], dst_port=ports[0]),
        zone=zone,
        timeout=timeout,
        mark=mark,
        status=status,
        tcp_state=tcp_state,
        labels=bits,
    )
    assert struct.unpack_from("=IHH", built) == (len(built), 0x100, 0x601)
    assert built[16:20] == bytes([family, 0, 0, 0])
    layout = wire.locate(built)
    values = {path: built[start:end] for path, (start, end) in layout.items()}
    first = 1 if family == 2 else 3
    expected = {
        (1, 1, first): source,
        (1, 1, first + 1): destination,
        (1, 2, 1): bytes([protocol]),
        (1, 2, 2): struct.pack("!H", ports[0]),
        (1, 2, 3): struct.pack("!H", ports[1]),
        (2, 1, first): destination,
        (2, 1, first + 1): source,
        (2, 2, 1): bytes([protocol]),
        (2, 2, 2): struct.pack("!H", ports[1]),
        (2, 2, 3): struct.pack("!H", ports[0]),
        (7,): struct.pack("!I", timeout),
    }
    for path, value, code in (
        ((18,), zone, "!H"),
        ((1, 3), sides[0], "!H"),
        ((2, 3), sides[1], "!H"),
        ((8,), mark, "!I"),
        ((3,), status, "!I"),
        ((4, 1, 1), tcp_state, "!B"),
    ):
        if value is not None:
            expected[path] = struct.pack(code, value)
    if bits is not None:
        expected[(22,)] = bits
    nests = {(1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2)} | ({(4,), (4, 1)} if tcp_state is not None else set())
    assert {path: value for path, value in values.items() if path not in nests} == expected
    assert nests <= set(values)


@pytest.mark.parametrize(
    "source, destination, numbers",
    [("10.0.0.1", "192.0.2.1", (1, 2)), ("2001:db8::1", "2001:db8::2", (3, 4))],
)
def test_tuple_of_picks_the_attributes_of_the_family(source: str, destination: str, numbers: tuple[int, int]) -> None:
    packed = [ipaddress.ip_address(text).packed for text in (source, destination)]
    built = messages.insert(2, messages.tuple_of(*packed, 50), messages.tuple_of(*packed, 50), timeout=1)
    layout = wire.locate(built)
    for number, value in zip(numbers, packed):
        start, end = layout[(wire.TUPLE_ORIG, wire.TUPLE_IP, number)]
        assert built[start:end] == value


@pytest.mark.parametrize("missing", [wire.TUPLE_ORIG, wire.ID])
def test_an_entry_without_tuple_or_id_cannot_be_deleted(missing: int) -> None:
    layout = {path: place for path, place in wire.locate(golden.ENTRIES["tcp_both"]).items() if path[0] != missing}
    with pytest.raises(wire.Malformed):
        messages.identity_cut(layout)
