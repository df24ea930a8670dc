# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small table with one entry of each sort, by name, for tests of what is selected. Sources are unique, so they tell the names."""

from __future__ import annotations

import re
import typing as t

import conntrack_command
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import wire
from conntrack_table import ASSURED, ESTABLISHED, entry

if t.TYPE_CHECKING:
    from network_namespace import Namespace

_REPLIED = wire.STATUS_BITS["SEEN_REPLY"] | wire.STATUS_BITS["CONFIRMED"]


def _state(name: str) -> int:
    return wire.TCP_STATES.index(name)


# Name to source address and the rest of the entry.
ENTRIES: dict[str, tuple[str, dict[str, t.Any]]] = {
    "plain": ("10.0.0.1", {}),
    "plain-udp": ("10.0.0.2", dict(protocol="udp", ports=(5000, 53))),
    "plain6": ("2001:db8::1", {}),
    "plain-icmp": ("10.0.0.3", dict(protocol="icmp", ports=(7, 0))),
    "one": ("10.0.1.1", dict(zone=1, status=ASSURED, tcp_state=ESTABLISHED)),
    "one-udp": ("10.0.1.2", dict(zone=1, protocol="udp", ports=(5001, 53))),
    "one-udp6": ("2001:db8:1::2", dict(zone=1, protocol="udp", ports=(5002, 53))),
    "one-original": ("10.0.1.3", dict(original_zone=1)),
    "one-reply": ("10.0.1.4", dict(reply_zone=1)),
    "one-original6": ("2001:db8:1::3", dict(original_zone=1)),
    "one-reply6": ("2001:db8:1::4", dict(reply_zone=1)),
    "one-icmp": ("10.0.1.5", dict(zone=1, protocol="icmp", ports=(8, 0))),
    "one-icmp6": ("2001:db8:1::5", dict(zone=1, protocol="icmpv6", ports=(9, 0))),
    "one-sctp": ("10.0.1.6", dict(zone=1, protocol="sctp", ports=(3000, 3868), sctp=(4, 11, 22))),
    "one-gre": ("10.0.1.7", dict(zone=1, protocol="gre", ports=(77, 88))),
    "two": ("10.0.2.1", dict(zone=2, tcp_state=_state("SYN_SENT"))),
    "two-wait": ("10.0.2.2", dict(zone=2, tcp_state=_state("TIME_WAIT"), status=ASSURED)),
    "two-replied": ("10.0.2.3", dict(zone=2, tcp_state=_state("SYN_RECV"), status=_REPLIED)),
    "hundred": ("10.0.3.1", dict(zone=100, ports=(40001, 8005))),
    "hundred-ten": ("10.0.3.2", dict(zone=110, ports=(40002, 8100))),
    "last": ("10.0.4.1", dict(zone=65535)),
    "last-original": ("10.0.4.2", dict(original_zone=65535)),
    "forwarded": ("10.0.5.1", dict(destination="192.0.2.80", reply_source="10.20.0.17", ports=(40003, 8443))),
    "forwarded6": ("2001:db8:5::1", dict(destination="2001:db8:f::80", reply_source="2001:db8:20::17", ports=(40004, 8443))),
    "mark-5": ("10.0.6.1", dict(mark=0x5)),
    "mark-105": ("10.0.6.2", dict(mark=0x105)),
    "mark-top": ("10.0.6.3", dict(mark=0xFFFFFFFF, zone=3)),
}


def fill(namespace: Namespace) -> None:
    namespace.fill(entry(source, **rest) for source, rest in ENTRIES.values())


def named(line: str) -> str:
    """Which of the entries a line of :func:`conntrack_command.table` shows."""
    source = re.search(r"src=(\S+)", line)
    known = {address: name for name, (address, _rest) in ENTRIES.items()}
    return known[source.group(1)] if source else line


def names_left(namespace: Namespace) -> set[str]:
    return {named(line) for line in conntrack_command.table(namespace)}


def zone_of(name: str) -> int:
    rest = ENTRIES[name][1]
    return rest.get("zone", rest.get("original_zone", rest.get("reply_zone", 0)))


def protocol_of(name: str) -> str:
    return ENTRIES[name][1].get("protocol", "tcp")


def counted(names: t.Iterable[str], of: t.Callable[[str], t.Any]) -> dict[t.Any, int]:
    totals: dict[t.Any, int] = {}
    for name in names:
        totals[of(name)] = totals.get(of(name), 0) + 1
    return totals
