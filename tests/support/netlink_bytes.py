# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Netlink messages built by hand, with nothing but ``struct``: what the tests hold against the code."""

from __future__ import annotations

import struct

NEW, GET, DELETE, STATS_CPU, STATS = 0x100, 0x101, 0x102, 0x104, 0x105
ERROR, DONE = 2, 3
MULTI, INTERRUPTED, FILTERED = 0x2, 0x10, 0x20
NESTED = 0x8000


def message(kind: int, flags: int, body: bytes = b"", sequence: int = 0, port: int = 0) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, port) + body


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def nest(kind: int, *attributes: bytes) -> bytes:
    return attribute(kind | NESTED, b"".join(attributes))


def be16(value: int) -> bytes:
    return struct.pack("!H", value)


def be32(value: int) -> bytes:
    return struct.pack("!I", value)


def done(sequence: int = 1, flags: int = MULTI, code: int = 0) -> bytes:
    """NLMSG_DONE; ``code`` is 0 or a positive errno."""
    return message(DONE, flags, struct.pack("=i", -code), sequence)


def answer(sequence: int = 1, code: int = 0) -> bytes:
    """NLMSG_ERROR with the header of the request: an acknowledgement, or a positive errno."""
    return message(ERROR, 0x100, struct.pack("=i", -code) + bytes(16), sequence)


def tuple_of(
    kind: int, source: bytes, destination: bytes, protocol: int, ports: tuple[int, int] | None = None, zone: int = 0
) -> bytes:
    """CTA_TUPLE_ORIG (kind 1) or CTA_TUPLE_REPLY (2)."""
    first = 1 if len(source) == 4 else 3
    proto = [attribute(1, bytes([protocol]))]
    if ports is not None:
        proto += [attribute(2, be16(ports[0])), attribute(3, be16(ports[1]))]
    parts = [nest(1, attribute(first, source), attribute(first + 1, destination)), nest(2, *proto)]
    return nest(kind, *parts + ([attribute(3, be16(zone))] if zone else []))


def entry(
    source: bytes = b"\x0a\0\0\x01",
    destination: bytes = b"\xc0\0\x02\x01",
    protocol: int = 6,
    ports: tuple[int, int] | None = (40000, 80),
    reply_source: bytes = b"",
    reply_ports: tuple[int, int] | None = None,
    zone: int = 0,
    carrier: str = "both",
    status: int = 0x8,
    tcp_state: int | None = None,
    mark: int | None = None,
    labels: int | None = None,
    timeout: int | None = 600,
    number: int = 1,
    flags: int = MULTI,
    sequence: int = 1,
) -> bytes:
    """An entry of a dump, in the kernel's order of attributes.

    :param carrier: which direction shows the zone: ``both``, ``original`` or ``reply``
    :param number: CTA_ID
    """
    back = reply_ports or (ports and (ports[1], ports[0]))
    original_zone, reply_zone, both_zone = (zone if carrier == name else 0 for name in ("original", "reply", "both"))
    parts = [
        tuple_of(1, source, destination, protocol, ports, original_zone),
        tuple_of(2, reply_source or destination, source, protocol, back, reply_zone),
    ]
    if both_zone:
        parts.append(attribute(18, be16(both_zone)))
    parts.append(attribute(3, be32(status)))
    if mark is not None:
        parts.append(attribute(8, be32(mark)))
    parts.append(attribute(12, be32(number)))
    parts.append(attribute(11, be32(1)))
    if timeout is not None:
        parts.append(attribute(7, be32(timeout)))
    if tcp_state is not None:
        parts.append(nest(4, nest(1, attribute(1, bytes([tcp_state])))))
    if labels is not None:
        parts.append(attribute(22, struct.pack("=QQ", labels & (1 << 64) - 1, labels >> 64)))
    family = 2 if len(source) == 4 else 10
    return message(NEW, flags, bytes([family, 0, 0, 0]) + b"".join(parts), sequence)
