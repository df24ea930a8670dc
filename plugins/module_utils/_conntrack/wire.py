# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The bytes of a conntrack entry: attribute numbers, names of values, and where in a message each attribute lies.

Pure: bytes in, values out. Numbers from linux/netfilter/nfnetlink_conntrack.h and nf_conntrack_{common,tcp,sctp}.h. Values are
big endian, except labels, which are an array of the host's unsigned longs.
"""

from __future__ import annotations

import struct
import typing as t

SUBSYSTEM = 1  # NFNL_SUBSYS_CTNETLINK
SUBSYSTEM_EXPECT = 2
CT_NEW, CT_GET, CT_DELETE, CT_GET_STATS_CPU, CT_GET_STATS = (
    SUBSYSTEM << 8 | number for number in (0, 1, 2, 4, 5)
)
EXPECT_GET = SUBSYSTEM_EXPECT << 8 | 1

AF_UNSPEC, AF_INET, AF_INET6 = 0, 2, 10  # Linux numbers, wherever this code is read
FAMILY_NAMES = {AF_INET: "ipv4", AF_INET6: "ipv6"}

BODY = 20  # nlmsghdr (16), nfgenmsg (4), then attributes
FAMILY_AT = 16

TUPLE_ORIG, TUPLE_REPLY, STATUS, PROTOINFO, HELP = 1, 2, 3, 4, 5
TIMEOUT, MARK, COUNTERS_ORIG, COUNTERS_REPLY, USE, ID = 7, 8, 9, 10, 11, 12
ZONE, TIMESTAMP, LABELS = 18, 20, 22
TUPLE_IP, TUPLE_PROTO, TUPLE_ZONE = 1, 2, 3
V4_SRC, V4_DST, V6_SRC, V6_DST = 1, 2, 3, 4
PROTO_NUM, SRC_PORT, DST_PORT = 1, 2, 3
ICMP_ID, ICMP_TYPE, ICMP_CODE, ICMPV6_ID, ICMPV6_TYPE, ICMPV6_CODE = 4, 5, 6, 7, 8, 9
INFO_TCP, INFO_DCCP, INFO_SCTP, INFO_STATE = 1, 2, 3, 1
SCTP_VTAG_ORIGINAL, SCTP_VTAG_REPLY = 2, 3
PACKETS, BYTES = 1, 2
STAMP_START, STAMP_STOP = 1, 2
HELP_NAME = 1

Path = t.Tuple[int, ...]
Layout = t.Dict[Path, t.Tuple[int, int]]

ORIGINAL_ZONE: Path = (TUPLE_ORIG, TUPLE_ZONE)
REPLY_ZONE: Path = (TUPLE_REPLY, TUPLE_ZONE)
PROTOCOL: Path = (TUPLE_ORIG, TUPLE_PROTO, PROTO_NUM)
TCP_STATE: Path = (PROTOINFO, INFO_TCP, INFO_STATE)
SCTP_STATE: Path = (PROTOINFO, INFO_SCTP, INFO_STATE)
DCCP_STATE: Path = (PROTOINFO, INFO_DCCP, INFO_STATE)

_NESTS = frozenset(
    [(TUPLE_ORIG,), (TUPLE_REPLY,), (PROTOINFO,), (HELP,), (COUNTERS_ORIG,), (COUNTERS_REPLY,), (TIMESTAMP,)]
    + [(PROTOINFO, protocol) for protocol in (INFO_TCP, INFO_DCCP, INFO_SCTP)]
    + [(direction, part) for direction in (TUPLE_ORIG, TUPLE_REPLY) for part in (TUPLE_IP, TUPLE_PROTO)]
)
_TYPE_MASK = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER
_ATTRIBUTE = struct.Struct("=HH")

_STATUS = (
    "EXPECTED", "SEEN_REPLY", "ASSURED", "CONFIRMED", "SRC_NAT", "DST_NAT", "SEQ_ADJUST", "SRC_NAT_DONE",
    "DST_NAT_DONE", "DYING", "FIXED_TIMEOUT", "TEMPLATE", "UNTRACKED", "HELPER", "OFFLOAD", "HW_OFFLOAD",
)  # fmt: skip
STATUS_BITS = {name: 1 << number for number, name in enumerate(_STATUS)}
TCP_STATES = (
    "NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT",
    "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2",
)  # fmt: skip
SCTP_STATES = (
    "NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED", "SHUTDOWN_SENT",
    "SHUTDOWN_RECD", "SHUTDOWN_ACK_SENT", "HEARTBEAT_SENT", "HEARTBEAT_ACKED",
)  # fmt: skip
DCCP_STATES = (
    "NONE", "REQUEST", "RESPOND", "PARTOPEN", "OPEN",
    "CLOSEREQ", "CLOSING", "TIMEWAIT", "IGNORE", "INVALID",
)  # fmt: skip

# IANA protocol numbers that conntrack has trackers for (and esp, ah, ipip as people name them).
PROTOCOLS = {
    "icmp": 1,
    "igmp": 2,
    "ipip": 4,
    "tcp": 6,
    "udp": 17,
    "dccp": 33,
    "ipv6": 41,
    "gre": 47,
    "esp": 50,
    "ah": 51,
    "icmpv6": 58,
    "sctp": 132,
    "udplite": 136,
}
PROTOCOL_NAMES = {number: name for name, number in PROTOCOLS.items()}
PORT_CARRYING = frozenset(PROTOCOLS[name] for name in ("tcp", "udp", "dccp", "sctp", "udplite"))


class Malformed(ValueError):
    """A message whose attributes do not fit into it."""


def locate(message: bytes) -> Layout:
    """Where the value of each attribute lies: attribute path to start and end, nested attributes included.

    :param message: a whole message, from ``nlmsghdr`` on
    :raises Malformed: where lengths do not fit
    """
    if len(message) < BODY:
        raise Malformed(f"a message of {len(message)} bytes, where its headers alone take {BODY}")
    layout: Layout = {}
    _locate(message, BODY, len(message), (), layout)
    return layout


def _locate(message: bytes, start: int, end: int, parent: Path, layout: Layout) -> None:
    while end - start >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(message, start)
        if length < _ATTRIBUTE.size or start + length > end:
            raise Malformed(f"an attribute of {length} bytes where {end - start} are left")
        path = parent + (kind & _TYPE_MASK,)
        layout[path] = (start + _ATTRIBUTE.size, start + length)
        if path in _NESTS:
            _locate(message, start + _ATTRIBUTE.size, start + length, path, layout)
        start += (length + 3) & ~3


def number(message: bytes, layout: Layout, path: Path) -> int | None:
    """The unsigned big-endian value of an attribute, ``None`` when the message does not carry it."""
    place = layout.get(path)
    return None if place is None else int.from_bytes(message[place[0] : place[1]], "big")


def zone(message: bytes, layout: Layout) -> tuple[int, str]:
    """Zone id and what carries it: ``both``, ``original`` or ``reply`` direction.

    An entry has one zone id. The kernel shows it as CTA_ZONE when it holds for both directions, as CTA_TUPLE_ZONE inside the
    tuple of the one direction else, and not at all for zone 0.
    """
    for path, carrier in (((ZONE,), "both"), (ORIGINAL_ZONE, "original"), (REPLY_ZONE, "reply")):
        value = number(message, layout, path)
        if value is not None:
            return value, carrier
    return 0, "both"


def labels(value: bytes) -> int:
    """Label bits as an integer: bit n is label n."""
    size = struct.calcsize("@L")
    words = struct.unpack(f"@{len(value) // size}L", value[: len(value) // size * size])
    return sum(word << 8 * size * index for index, word in enumerate(words))


def mask(message: bytes, layout: Layout, kept: t.Collection[Path]) -> int:
    """A number with ones over all that tells one sort of message from another, zeros over the rest.

    Ones cover the message's length, type and flags, the family, each attribute's header, and the values of ``kept``. A message
    that agrees under it with this one has the same layout and the same kept values. Nothing follows from two messages that agree
    each under a mask of its own. Little endian, for ``int.from_bytes``.
    """
    cover = bytearray(len(message))
    cover[0:8] = b"\xff" * 8
    cover[FAMILY_AT] = 0xFF
    for path, (start, end) in layout.items():
        cover[start - _ATTRIBUTE.size : start] = b"\xff" * _ATTRIBUTE.size
        if path in kept:
            cover[start:end] = b"\xff" * (end - start)
    return int.from_bytes(cover, "little")


def protocol_name(value: int) -> str:
    """The usual name of a protocol, or its number as text."""
    return PROTOCOL_NAMES.get(value, str(value))


def state_name(names: t.Sequence[str], value: int) -> str:
    return names[value] if value < len(names) else str(value)


def status_names(value: int) -> list[str]:
    """Names of the status bits that are set, lowest first; unknown bits as ``BIT_n``."""
    known = {bit: name for name, bit in STATUS_BITS.items()}
    return [known.get(1 << n, f"BIT_{n}") for n in range(32) if value >> n & 1]
