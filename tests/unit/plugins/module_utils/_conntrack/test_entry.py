# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import golden
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import entry, wire
from netlink_bytes import attribute, message, nest


def described(name: str) -> dict[str, t.Any]:
    found = golden.ENTRIES[name]
    return entry.describe(found, wire.locate(found))


UNCOUNTED = {"original": {"packets": 0, "bytes": 0}, "reply": {"packets": 0, "bytes": 0}}

TCP = {
    "family": "ipv4",
    "protocol": "tcp",
    "zone": 5,
    "zone_carrier": "both",
    "original": {"source": "10.0.0.1", "destination": "192.0.2.1", "source_port": 40001, "destination_port": 443},
    "reply": {"source": "192.0.2.1", "destination": "10.0.0.1", "source_port": 443, "destination_port": 40001},
    "status": ["SEEN_REPLY", "ASSURED", "CONFIRMED"],
    "tcp_state": "ESTABLISHED",
    "sctp_state": None,
    "sctp_tags": None,
    "dccp_state": None,
    "timeout": 599,
    "mark": 0x1234,
    "labels": [],
    "id": 0xF4153037,
    "helper": None,
    "counters": UNCOUNTED,
    "timestamps": {"start": "2026-11-30T15:12:09.163523Z", "stop": None},
    "use": 1,
}


def test_an_entry_in_full() -> None:
    assert described("tcp_both") == TCP


# What differs from the one above, or is of interest.
@pytest.mark.parametrize(
    "name, values",
    [
        ("tcp_both_filtered", {"zone": 5, "zone_carrier": "both", "mark": 0x1234}),
        ("tcp_original_zone", {"zone": 7, "zone_carrier": "original", "status": ["CONFIRMED"], "tcp_state": "SYN_SENT", "mark": 0}),
        ("tcp_reply_zone", {"zone": 65535, "zone_carrier": "reply"}),
        (
            "tcp_zone_0",
            {
                "zone": 0,
                "zone_carrier": "both",
                "tcp_state": "TIME_WAIT",
                "timeout": 599,
                "reply": {"source": "10.9.0.1", "destination": "10.0.0.4", "source_port": 8443, "destination_port": 40004},
            },
        ),
        (
            "udp_ipv6",
            {
                "family": "ipv6",
                "protocol": "udp",
                "zone": 1,
                "tcp_state": None,
                "original": {"source": "2001:db8::1", "destination": "2001:db8::ffff", "source_port": 5353, "destination_port": 53},
                "reply": {"source": "2001:db8::ffff", "destination": "2001:db8::1", "source_port": 53, "destination_port": 5353},
            },
        ),
        (
            "icmp",
            {
                "protocol": "icmp",
                "zone": 2,
                "original": {"source": "10.0.0.5", "destination": "192.0.2.1", "icmp_type": 8, "icmp_code": 0, "icmp_id": 777},
                "reply": {"source": "192.0.2.1", "destination": "10.0.0.5", "icmp_type": 0, "icmp_code": 0, "icmp_id": 777},
            },
        ),
        (
            "icmpv6",
            {
                "family": "ipv6",
                "protocol": "icmpv6",
                "original": {"source": "2001:db8::2", "destination": "2001:db8::ffff", "icmp_type": 128, "icmp_code": 0, "icmp_id": 778},
                "reply": {"source": "2001:db8::ffff", "destination": "2001:db8::2", "icmp_type": 129, "icmp_code": 0, "icmp_id": 778},
            },
        ),
        (
            "sctp",
            {
                "protocol": "sctp",
                "zone": 3,
                "tcp_state": None,
                "sctp_state": "ESTABLISHED",
                "sctp_tags": {"original": 0x11223344, "reply": 0x55667788},
                "original": {"source": "10.0.0.6", "destination": "192.0.2.1", "source_port": 36412, "destination_port": 36412},
            },
        ),
        (
            "gre",
            {
                "protocol": "gre",
                "original": {"source": "10.0.0.7", "destination": "192.0.2.1", "source_key": 16, "destination_key": 32},
                "reply": {"source": "192.0.2.1", "destination": "10.0.0.7", "source_key": 32, "destination_key": 16},
            },
        ),
        ("esp", {"protocol": "esp", "original": {"source": "10.0.0.7", "destination": "192.0.2.1"}}),
        ("helper", {"helper": "ftp", "status": ["SEEN_REPLY", "ASSURED", "CONFIRMED", "HELPER"]}),
        ("plain", {"zone": 9, "counters": None, "timestamps": None, "timeout": 599}),
        (
            "offloaded",
            {
                "timeout": None,
                "tcp_state": None,
                "status": ["SEEN_REPLY", "ASSURED", "CONFIRMED", "OFFLOAD"],
                "protocol": "tcp",
                "id": 0xBF43F642,
            },
        ),
        (
            "udp_traffic",
            {
                "zone": 12,
                "mark": 0xBEEF,
                "labels": [3, 100],
                "status": ["SEEN_REPLY", "CONFIRMED"],
                "timeout": 29,
                "counters": {"original": {"packets": 2, "bytes": 166}, "reply": {"packets": 1, "bytes": 1028}},
            },
        ),
    ],
)
def test_describe(name: str, values: dict[str, t.Any]) -> None:
    found = described(name)
    assert {key: found[key] for key in values} == values
    assert list(found) == list(TCP)  # the same keys for every entry


@pytest.mark.parametrize(
    "name, packets, octets, timeout",
    [("udp_traffic", 3, 1194, 29), ("tcp_both", 0, 0, 599), ("plain", 0, 0, 599), ("offloaded", 0, 0, 1 << 32)],
)
def test_sort_keys(name: str, packets: int, octets: int, timeout: int) -> None:
    found = golden.ENTRIES[name]
    layout = wire.locate(found)
    assert (entry.packets(found, layout), entry.octets(found, layout), entry.timeout(found, layout)) == (packets, octets, timeout)


def built(*attributes: bytes, family: int = 2) -> dict[str, t.Any]:
    found = message(0x100, 2, bytes([family, 0, 0, 0]) + b"".join(attributes))
    return entry.describe(found, wire.locate(found))


@pytest.mark.parametrize(
    "start, text",
    [
        (0, None),
        (10**9, "1970-01-01T00:00:01.000000Z"),
        (1000000000_123456789, "2001-09-09T01:46:40.123456Z"),
        (4102444800_000000999, "2100-01-01T00:00:00.000000Z"),
    ],
)
def test_timestamps(start: int, text: str | None) -> None:
    assert built(nest(20, attribute(1, start.to_bytes(8, "big"))))["timestamps"] == {"start": text, "stop": None}


@pytest.mark.parametrize("state, name", [(0, "NONE"), (4, "OPEN"), (7, "TIMEWAIT"), (99, "99")])
def test_dccp(state: int, name: str) -> None:
    assert built(nest(4, nest(2, attribute(1, bytes([state])))))["dccp_state"] == name


def test_an_entry_of_nothing() -> None:
    found = built(family=77)
    assert list(found) == list(TCP)
    assert (found["family"], found["protocol"], found["zone"]) == ("77", "0", 0)
    assert found["original"] == {"source": None, "destination": None}
    assert found["id"] is found["timeout"] is found["use"] is None


@pytest.mark.parametrize("name, text", [(b"ftp\0", "ftp"), (b"f\xc3\xa4\0", "fä"), (b"f\xff\0", "f\\xff")])
def test_helper_names(name: bytes, text: str) -> None:
    assert built(nest(5, attribute(1, name)))["helper"] == text
