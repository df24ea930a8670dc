# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each request to ctnetlink and its bytes, written out from linux/netlink.h, nfnetlink.h and nfnetlink_conntrack.h.

Groups are nlmsghdr (length, type, flags, sequence, port: host order, little endian here), nfgenmsg (family, version, res_id) and
attributes (length and type in host order, with NLA_F_NESTED 0x8000 where others are inside; values in network order). The same bytes
with every pyroute2.
"""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages

_V4 = tuple(ipaddress.ip_address(text).packed for text in ("10.0.0.1", "192.0.2.1"))
_V6 = tuple(ipaddress.ip_address(text).packed for text in ("2001:db8::1", "2001:db8::2"))

_TCP_THERE = "34000180 14000180 080001000a000001 08000200c0000201 1c000280 0500010006000000 060002009c400000 0600030000500000"
_TCP_BACK = "34000280 14000180 08000100c0000201 080002000a000001 1c000280 0500010006000000 0600020000500000 060003009c400000"


def _tcp(**zones: int) -> tuple[t.Any, t.Any]:
    there, back = {"src_port": 40000, "dst_port": 80}, {"src_port": 80, "dst_port": 40000}
    return (
        messages.tuple_of(_V4[0], _V4[1], 6, zone=zones.get("original"), **there),
        messages.tuple_of(_V4[1], _V4[0], 6, zone=zones.get("reply"), **back),
    )


# Name, builder, bytes.
REQUESTS: list[tuple[str, t.Callable[[], bytes], str]] = [
    ("dump of everything", messages.dump, "14000000 0101 0103 00000000 00000000 00 00 0000"),
    ("dump of a family", lambda: messages.dump(10), "14000000 0101 0103 00000000 00000000 0a 00 0000"),
    ("dump of a zone", lambda: messages.dump(zone=5), "1c000000 0101 0103 00000000 00000000 00 00 0000 0600120000050000"),
    ("dump of zone 0", lambda: messages.dump(zone=0), "1c000000 0101 0103 00000000 00000000 00 00 0000 0600120000000000"),
    ("dump of zone 65535", lambda: messages.dump(zone=65535), "1c000000 0101 0103 00000000 00000000 00 00 0000 06001200ffff0000"),
    ("dump by status", lambda: messages.dump(2, status=4), "1c000000 0101 0103 00000000 00000000 02 00 0000 0800030000000004"),
    (
        "dump by IPv6 source",
        lambda: messages.dump(10, source=_V6[0]),
        "3c000000 0101 0103 00000000 00000000 0a 00 0000"
        " 1c000180 18000180 14000300 20010db8000000000000000000000001 0c001980 0800010001000000",
    ),
    (
        "dump by IPv4 source",
        lambda: messages.dump(2, source=_V4[0]),
        "30000000 0101 0103 00000000 00000000 02 00 0000 10000180 0c000180 080001000a000001 0c001980 0800010001000000",
    ),
    ("question for zones", messages.zone_question, "1c000000 0101 0100 00000000 00000000 00 00 0000 0600120000000000"),
    ("lookup", lambda: messages.lookup(2, _tcp()[0]), f"48000000 0101 0100 00000000 00000000 02 00 0000 {_TCP_THERE}"),
    (
        "lookup in a zone",
        lambda: messages.lookup(2, _tcp()[0], 5),
        f"50000000 0101 0100 00000000 00000000 02 00 0000 {_TCP_THERE} 0600120000050000",
    ),
    ("flush of zone 7", lambda: messages.flush_zone(7), "1c000000 0201 0100 00000000 00000000 00 00 0000 0600120000070000"),
    ("flush of zone 0", lambda: messages.flush_zone(0), "1c000000 0201 0100 00000000 00000000 00 00 0000 0600120000000000"),
    ("flush of everything", messages.flush_all, "14000000 0201 0100 00000000 00000000 00 00 0000"),
    ("delete", lambda: messages.delete(b"\x02\0\0\0"), "14000000 0201 0100 00000000 00000000 02 00 0000"),
    ("count", messages.count, "14000000 0501 0100 00000000 00000000 00 00 0000"),
    ("counters of the CPUs", messages.cpu_stats, "14000000 0401 0103 00000000 00000000 00 00 0000"),
    ("dump of the expectations", messages.expectations, "14000000 0102 0103 00000000 00000000 00 00 0000"),
    (
        "least entry",
        lambda: messages.insert(2, *_tcp(), timeout=600),
        f"84000000 0001 0106 00000000 00000000 02 00 0000 {_TCP_THERE} {_TCP_BACK} 0800070000000258",
    ),
    (
        "entry with everything of TCP",
        lambda: messages.insert(
            2, *_tcp(), timeout=600, status=0xE, mark=0x1234, zone=5, labels=b"\x08" + bytes(15), helper="ftp", tcp_state=3
        ),
        f"cc000000 0001 0106 00000000 00000000 02 00 0000 {_TCP_THERE} {_TCP_BACK} 0800070000000258 080003000000000e 0800080000001234"
        " 0600120000050000 14001600 08000000000000000000000000000000 0c000580 0800010066747000 10000480 0c000180 0500010003000000",
    ),
    (
        "entry with a zone in one direction",
        lambda: messages.insert(2, *_tcp(original=7), timeout=600),
        "8c000000 0001 0106 00000000 00000000 02 00 0000"
        f" 3c000180 {_TCP_THERE[9:]} 0600030000070000 {_TCP_BACK} 0800070000000258",
    ),
    (
        "entry with a zone in the other direction",
        lambda: messages.insert(2, *_tcp(reply=65535), timeout=600),
        "8c000000 0001 0106 00000000 00000000 02 00 0000"
        f" {_TCP_THERE} 3c000280 {_TCP_BACK[9:]} 06000300ffff0000 0800070000000258",
    ),
    (
        "entry of SCTP",
        lambda: messages.insert(
            2,
            messages.tuple_of(_V4[0], _V4[1], 132, src_port=1, dst_port=2),
            messages.tuple_of(_V4[1], _V4[0], 132, src_port=2, dst_port=1),
            timeout=1,
            sctp=(4, 0x11223344, 0x55667788),
        ),
        "a4000000 0001 0106 00000000 00000000 02 00 0000"
        " 34000180 14000180 080001000a000001 08000200c0000201 1c000280 0500010084000000 0600020000010000 0600030000020000"
        " 34000280 14000180 08000100c0000201 080002000a000001 1c000280 0500010084000000 0600020000020000 0600030000010000"
        " 0800070000000001 20000480 1c000380 0500010004000000 0800020011223344 0800030055667788",
    ),
    (
        "entry of ICMPv6",
        lambda: messages.insert(
            10,
            messages.tuple_of(_V6[0], _V6[1], 58, icmpv6_id=777, icmpv6_type=128, icmpv6_code=0),
            messages.tuple_of(_V6[1], _V6[0], 58, icmpv6_id=777, icmpv6_type=129, icmpv6_code=0),
            timeout=1,
        ),
        "c4000000 0001 0106 00000000 00000000 0a 00 0000"
        " 54000180 2c000180 14000300 20010db8000000000000000000000001 14000400 20010db8000000000000000000000002"
        " 24000280 050001003a000000 0600070003090000 0500080080000000 0500090000000000"
        " 54000280 2c000180 14000300 20010db8000000000000000000000002 14000400 20010db8000000000000000000000001"
        " 24000280 050001003a000000 0600070003090000 0500080081000000 0500090000000000"
        " 0800070000000001",
    ),
    (
        "change of an entry",
        lambda: messages.update(2, *_tcp(), labels=bytes(16)),
        f"90000000 0001 0100 00000000 00000000 02 00 0000 {_TCP_THERE} {_TCP_BACK} 14001600 00000000000000000000000000000000",
    ),
]
