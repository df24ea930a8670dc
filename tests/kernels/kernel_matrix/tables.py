# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries that a guest's table holds before each flush, by name."""

from __future__ import annotations

import typing as t

# Name to source address and the further arguments of conntrack_table.entry. Source and zone together tell the name.
Entries = t.Dict[str, t.Tuple[str, t.Dict[str, t.Any]]]

PLAIN: Entries = {
    "plain": ("10.0.0.1", dict(assured=True)),
    "plain-udp": ("10.0.0.2", dict(protocol="udp", ports=(5000, 53))),
    "plain-icmp": ("10.0.0.3", dict(protocol="icmp", ports=(7, 0))),
    "plain6": ("2001:db8::1", dict(assured=True)),
    "plain6-udp": ("2001:db8::2", dict(protocol="udp", ports=(5000, 53))),
    "plain6-icmp": ("2001:db8::3", dict(protocol="icmpv6", ports=(9, 0))),
    "net": ("10.7.0.1", {}),
    "net-far": ("10.7.255.254", {}),
    "net-outside": ("10.8.0.1", {}),
    "net6": ("2001:db8:7::1", {}),
    "net6-outside": ("2001:db8:8::1", {}),
}

# One tuple in several zones: what zones are for, and what a flush that looks at tuples alone gets wrong.
_SHARED = "10.9.9.9"

ZONED: Entries = {
    "0": ("10.0.0.1", dict(assured=True)),
    "0-udp": ("10.0.0.2", dict(protocol="udp", ports=(5000, 53))),
    "0-icmp": ("10.0.0.3", dict(protocol="icmp", ports=(7, 0))),
    "0-v6": ("2001:db8::1", {}),
    "0-shared": (_SHARED, {}),
    "1": ("10.0.1.1", dict(zone=1, assured=True)),
    "1-udp": ("10.0.1.2", dict(zone=1, protocol="udp", ports=(5000, 53))),
    "1-original": ("10.0.1.3", dict(original_zone=1)),
    "1-reply": ("10.0.1.4", dict(reply_zone=1)),
    "1-v6": ("2001:db8:1::1", dict(zone=1, assured=True)),
    "1-v6-icmp": ("2001:db8:1::2", dict(zone=1, protocol="icmpv6", ports=(9, 0))),
    "1-v6-original": ("2001:db8:1::3", dict(original_zone=1)),
    "1-v6-reply": ("2001:db8:1::4", dict(reply_zone=1)),
    "1-shared": (_SHARED, dict(zone=1)),
    "2": ("10.0.2.1", dict(zone=2)),
    "2-original": ("10.0.2.2", dict(original_zone=2)),
    "2-v6-reply": ("2001:db8:2::1", dict(reply_zone=2)),
    "2-shared": (_SHARED, dict(zone=2)),
    "100": ("10.0.3.1", dict(zone=100, assured=True)),
    "100-v6-udp": ("2001:db8:3::1", dict(zone=100, protocol="udp", ports=(5000, 53))),
    "65535": ("10.0.4.1", dict(zone=65535, assured=True)),
    "65535-reply": ("10.0.4.2", dict(reply_zone=65535)),
    "65535-v6-original": ("2001:db8:4::1", dict(original_zone=65535)),
    "65535-shared": (_SHARED, dict(zone=65535)),
}

TABLES: dict[str, Entries] = {"plain": PLAIN, "zoned": ZONED}


def zone_of(rest: t.Mapping[str, t.Any]) -> int:
    return next((rest[key] for key in ("zone", "original_zone", "reply_zone") if key in rest), 0)


def names(table: str) -> dict[tuple[str, int], str]:
    """Source address and zone to name."""
    return {(source, zone_of(rest)): name for name, (source, rest) in TABLES[table].items()}


def of_zones(*zones: int) -> set[str]:
    """Names of the zoned table's entries that belong to one of the zones, in whatever direction."""
    return {name for name, (_source, rest) in ZONED.items() if zone_of(rest) in zones}
