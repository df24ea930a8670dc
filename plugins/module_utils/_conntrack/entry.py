# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One entry as a person reads it: every attribute of a dump's message, decoded. Pure."""

from __future__ import annotations

import datetime
import ipaddress
import typing as t

from . import wire

_PORTS = {wire.SRC_PORT: "source_port", wire.DST_PORT: "destination_port"}
_KEYS = {wire.SRC_PORT: "source_key", wire.DST_PORT: "destination_key"}
_ICMP = {
    wire.ICMP_TYPE: "icmp_type",
    wire.ICMP_CODE: "icmp_code",
    wire.ICMP_ID: "icmp_id",
    wire.ICMPV6_TYPE: "icmp_type",
    wire.ICMPV6_CODE: "icmp_code",
    wire.ICMPV6_ID: "icmp_id",
}
_GRE = wire.PROTOCOLS["gre"]


def describe(message: bytes, layout: wire.Layout) -> dict[str, t.Any]:
    """All that the kernel says of an entry.

    The keys are always the same; what the entry does not carry is ``None`` (a timeout once it is offloaded, counters and
    timestamps while the kernel keeps none). Timeouts in seconds, timestamps in ISO 8601 (UTC), counters in packets and bytes.
    """
    zone, carrier = wire.zone(message, layout)
    status = wire.number(message, layout, (wire.STATUS,)) or 0
    return {
        "family": wire.FAMILY_NAMES.get(message[wire.FAMILY_AT], str(message[wire.FAMILY_AT])),
        "protocol": wire.protocol_name(wire.number(message, layout, wire.PROTOCOL) or 0),
        "zone": zone,
        "zone_carrier": carrier,
        "original": _tuple(message, layout, wire.TUPLE_ORIG),
        "reply": _tuple(message, layout, wire.TUPLE_REPLY),
        "status": wire.status_names(status),
        "tcp_state": _state(message, layout, wire.TCP_STATE, wire.TCP_STATES),
        "sctp_state": _state(message, layout, wire.SCTP_STATE, wire.SCTP_STATES),
        "sctp_tags": _sctp_tags(message, layout),
        "dccp_state": _state(message, layout, wire.DCCP_STATE, wire.DCCP_STATES),
        "timeout": wire.number(message, layout, (wire.TIMEOUT,)),
        "mark": wire.number(message, layout, (wire.MARK,)) or 0,
        "labels": _labels(message, layout),
        "id": wire.number(message, layout, (wire.ID,)),
        "helper": _helper(message, layout),
        "counters": _counters(message, layout),
        "timestamps": _timestamps(message, layout),
        "use": wire.number(message, layout, (wire.USE,)),
    }


def packets(message: bytes, layout: wire.Layout) -> int:
    """Packets of both directions; 0 while the kernel counts none."""
    return sum(wire.number(message, layout, (side, wire.PACKETS)) or 0 for side in _SIDES)


def octets(message: bytes, layout: wire.Layout) -> int:
    """Bytes of both directions; 0 while the kernel counts none."""
    return sum(wire.number(message, layout, (side, wire.BYTES)) or 0 for side in _SIDES)


def timeout(message: bytes, layout: wire.Layout) -> int:
    """Seconds left; more than any other's for an offloaded entry, which the flow table keeps alive."""
    left = wire.number(message, layout, (wire.TIMEOUT,))
    return 1 << 32 if left is None else left


_SIDES = {wire.COUNTERS_ORIG: "original", wire.COUNTERS_REPLY: "reply"}


def _tuple(message: bytes, layout: wire.Layout, direction: int) -> dict[str, t.Any]:
    family = message[wire.FAMILY_AT]
    numbers = (wire.V6_SRC, wire.V6_DST) if family == wire.AF_INET6 else (wire.V4_SRC, wire.V4_DST)
    described: dict[str, t.Any] = {}
    for name, number in zip(("source", "destination"), numbers):
        place = layout.get((direction, wire.TUPLE_IP, number))
        described[name] = None if place is None else _address(message[place[0] : place[1]])
    protocol = wire.number(message, layout, (direction, wire.TUPLE_PROTO, wire.PROTO_NUM))
    for number, name in {**(_KEYS if protocol == _GRE else _PORTS), **_ICMP}.items():
        value = wire.number(message, layout, (direction, wire.TUPLE_PROTO, number))
        if value is not None:
            described[name] = value
    return described


def _address(packed: bytes) -> str:
    return str(ipaddress.ip_address(packed))


def _state(message: bytes, layout: wire.Layout, path: wire.Path, names: t.Sequence[str]) -> str | None:
    value = wire.number(message, layout, path)
    return None if value is None else wire.state_name(names, value)


def _sctp_tags(message: bytes, layout: wire.Layout) -> dict[str, int] | None:
    numbers = {"original": wire.SCTP_VTAG_ORIGINAL, "reply": wire.SCTP_VTAG_REPLY}
    tags = {name: wire.number(message, layout, (wire.PROTOINFO, wire.INFO_SCTP, number)) for name, number in numbers.items()}
    return None if None in tags.values() else t.cast("dict[str, int]", tags)


def _labels(message: bytes, layout: wire.Layout) -> list[int]:
    place = layout.get((wire.LABELS,))
    bits = wire.labels(message[place[0] : place[1]]) if place else 0
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _helper(message: bytes, layout: wire.Layout) -> str | None:
    place = layout.get((wire.HELP, wire.HELP_NAME))
    return None if place is None else message[place[0] : place[1]].rstrip(b"\0").decode("utf-8", "backslashreplace")


def _counters(message: bytes, layout: wire.Layout) -> dict[str, dict[str, int | None]] | None:
    described = {
        name: {
            "packets": wire.number(message, layout, (side, wire.PACKETS)),
            "bytes": wire.number(message, layout, (side, wire.BYTES)),
        }
        for side, name in _SIDES.items()
        if (side,) in layout
    }
    return described or None


def _timestamps(message: bytes, layout: wire.Layout) -> dict[str, str | None] | None:
    if (wire.TIMESTAMP,) not in layout:
        return None
    numbers = {"start": wire.STAMP_START, "stop": wire.STAMP_STOP}
    return {name: _time(wire.number(message, layout, (wire.TIMESTAMP, number))) for name, number in numbers.items()}


def _time(nanoseconds: int | None) -> str | None:
    if not nanoseconds:
        return None
    seconds, rest = divmod(nanoseconds, 10**9)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(microsecond=rest // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
