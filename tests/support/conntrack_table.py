# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Making conntrack entries for tests and benchmarks, through ctnetlink, in the namespace of the calling thread."""

from __future__ import annotations

import ipaddress
import itertools
import re
import struct
import typing as t

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages, wire
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Channel

ASSURED = wire.STATUS_BITS["SEEN_REPLY"] | wire.STATUS_BITS["ASSURED"] | wire.STATUS_BITS["CONFIRMED"]
ESTABLISHED = wire.TCP_STATES.index("ESTABLISHED")
SECONDS = 600

_ICMP_REPLIES = {"icmp": (8, 0), "icmpv6": (128, 129)}


def entry(
    source: str,
    destination: str = "",
    protocol: str = "tcp",
    ports: tuple[int, int] = (40000, 80),
    zone: int | None = None,
    original_zone: int | None = None,
    reply_zone: int | None = None,
    reply_source: str = "",
    **attributes: t.Any,
) -> bytes:
    """A request that makes one entry.

    :param destination: a documentation address of the source's family if empty
    :param ports: source and destination port; for ICMP the first is the id
    :param zone: for both directions; ``original_zone`` and ``reply_zone`` hold for one
    :param reply_source: the real server, with destination NAT
    :param attributes: as for :func:`messages.insert`
    """
    src = ipaddress.ip_address(source)
    dst = ipaddress.ip_address(destination or ("192.0.2.1" if src.version == 4 else "2001:db8::ffff"))
    back = ipaddress.ip_address(reply_source) if reply_source else dst
    number = wire.PROTOCOLS[protocol]
    there, here = _parts(protocol, ports)
    attributes.setdefault("timeout", SECONDS)
    return messages.insert(
        wire.AF_INET if src.version == 4 else wire.AF_INET6,
        messages.tuple_of(src.packed, dst.packed, number, zone=original_zone, **there),
        messages.tuple_of(back.packed, src.packed, number, zone=reply_zone, **here),
        zone=zone,
        **attributes,
    )


def insert(requests: t.Iterable[bytes]) -> None:
    """Makes the entries; an entry that could not be made fails the test."""
    with Channel.open() as channel:
        pending = iter(requests)
        while True:
            chunk = list(itertools.islice(pending, 400))
            if not chunk:
                return
            failures = channel.batch("making test entries", chunk)
            assert not failures, f"entries refused: {failures!r}"


def many(count: int, zone_of: t.Callable[[int], int], first: int = 0, timeout: int = SECONDS) -> t.Iterator[bytes]:
    """Requests for assured, established TCP entries, each with an address and a port of its own.

    One request is encoded and patched for the others, a hundred times as fast as encoding each.

    :param zone_of: number of the entry to its zone, which must not be 0
    """
    source, port, zone = ipaddress.ip_address("10.255.254.253").packed, 0xABCD, 0xBEEF
    attributes = {"zone": zone, "timeout": timeout, "status": ASSURED, "tcp_state": ESTABLISHED}
    model = entry(str(ipaddress.ip_address(source)), ports=(port, 443), **attributes)
    sources = _places(model, source)
    ports = [place + 4 for number in (2, 3) for place in _places(model, struct.pack("=HH", 6, number) + struct.pack("!H", port))]
    zones = [place + 4 for place in _places(model, struct.pack("=HH", 6, wire.ZONE) + struct.pack("!H", zone))]
    assert (len(sources), len(ports), len(zones)) == (2, 2, 1)
    for number in range(first, first + count):
        request = bytearray(model)
        for place in sources:
            request[place : place + 4] = struct.pack("!I", 0x0A000000 + number)
        for place in ports:
            request[place : place + 2] = struct.pack("!H", 1024 + number % 60000)
        for place in zones:
            request[place : place + 2] = struct.pack("!H", zone_of(number))
        yield bytes(request)


def _parts(protocol: str, ports: tuple[int, int]) -> tuple[dict[str, int], dict[str, int]]:
    if protocol in _ICMP_REPLIES:
        name = protocol + "_"
        there, here = ({name + "id": ports[0], name + "type": kind, name + "code": 0} for kind in _ICMP_REPLIES[protocol])
        return there, here
    return dict(src_port=ports[0], dst_port=ports[1]), dict(src_port=ports[1], dst_port=ports[0])


def _places(model: bytes, pattern: bytes) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(pattern), model)]
