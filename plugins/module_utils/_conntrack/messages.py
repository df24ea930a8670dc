# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests that are sent to ctnetlink, as bytes. Pure.

Message classes derive from pyroute2's bases, never from its own conntrack classes: those lack the zone of a single direction
(CTA_TUPLE_ZONE), encode helpers wrongly, and share their compiled attribute map with subclasses.
"""

from __future__ import annotations

import functools
import struct
import typing as t

from .._netlink.channel import NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, encoded, framed
from .._netlink.library import nfgen_msg, nla
from . import wire

_NESTED = 0x8000  # NLA_F_NESTED, as libnetfilter_conntrack sends it

# CTA_FILTER_ORIG_FLAGS, host order: which parts of CTA_TUPLE_ORIG are compared.
FILTER_SOURCE = 1 << 0


class ip_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.V4_SRC, "CTA_IP_V4_SRC", "cdata"),
        (wire.V4_DST, "CTA_IP_V4_DST", "cdata"),
        (wire.V6_SRC, "CTA_IP_V6_SRC", "cdata"),
        (wire.V6_DST, "CTA_IP_V6_DST", "cdata"),
    )


class proto_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.PROTO_NUM, "CTA_PROTO_NUM", "uint8"),
        (wire.SRC_PORT, "CTA_PROTO_SRC_PORT", "be16"),
        (wire.DST_PORT, "CTA_PROTO_DST_PORT", "be16"),
        (wire.ICMP_ID, "CTA_PROTO_ICMP_ID", "be16"),
        (wire.ICMP_TYPE, "CTA_PROTO_ICMP_TYPE", "uint8"),
        (wire.ICMP_CODE, "CTA_PROTO_ICMP_CODE", "uint8"),
        (wire.ICMPV6_ID, "CTA_PROTO_ICMPV6_ID", "be16"),
        (wire.ICMPV6_TYPE, "CTA_PROTO_ICMPV6_TYPE", "uint8"),
        (wire.ICMPV6_CODE, "CTA_PROTO_ICMPV6_CODE", "uint8"),
    )


class tuple_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.TUPLE_IP, "CTA_TUPLE_IP", "ip_nest"),
        (wire.TUPLE_PROTO, "CTA_TUPLE_PROTO", "proto_nest"),
        (wire.TUPLE_ZONE, "CTA_TUPLE_ZONE", "be16"),
    )
    ip_nest = ip_nest
    proto_nest = proto_nest


class filter_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = ((1, "CTA_FILTER_ORIG_FLAGS", "uint32"), (2, "CTA_FILTER_REPLY_FLAGS", "uint32"))


class tcp_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = ((wire.INFO_STATE, "CTA_PROTOINFO_TCP_STATE", "uint8"),)


class sctp_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.INFO_STATE, "CTA_PROTOINFO_SCTP_STATE", "uint8"),
        (wire.SCTP_VTAG_ORIGINAL, "CTA_PROTOINFO_SCTP_VTAG_ORIGINAL", "be32"),
        (wire.SCTP_VTAG_REPLY, "CTA_PROTOINFO_SCTP_VTAG_REPLY", "be32"),
    )


class protoinfo_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.INFO_TCP, "CTA_PROTOINFO_TCP", "tcp_nest"),
        (wire.INFO_SCTP, "CTA_PROTOINFO_SCTP", "sctp_nest"),
    )
    tcp_nest = tcp_nest
    sctp_nest = sctp_nest


class help_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = ((wire.HELP_NAME, "CTA_HELP_NAME", "asciiz"),)


class conntrack_msg(nfgen_msg):
    """A message of the ctnetlink subsystem, with the attributes that requests carry."""

    prefix = "CTA_"
    nla_map = (
        (wire.TUPLE_ORIG, "CTA_TUPLE_ORIG", "tuple_nest"),
        (wire.TUPLE_REPLY, "CTA_TUPLE_REPLY", "tuple_nest"),
        (wire.STATUS, "CTA_STATUS", "be32"),
        (wire.PROTOINFO, "CTA_PROTOINFO", "protoinfo_nest"),
        (wire.HELP, "CTA_HELP", "help_nest"),
        (wire.TIMEOUT, "CTA_TIMEOUT", "be32"),
        (wire.MARK, "CTA_MARK", "be32"),
        (wire.ZONE, "CTA_ZONE", "be16"),
        (wire.LABELS, "CTA_LABELS", "cdata"),
        (25, "CTA_FILTER", "filter_nest"),
        (26, "CTA_STATUS_MASK", "be32"),
    )
    tuple_nest = tuple_nest
    protoinfo_nest = protoinfo_nest
    help_nest = help_nest
    filter_nest = filter_nest


class stats_msg(nfgen_msg):
    """The answer to CT_GET_STATS: entries of the namespace, and the most that it may hold."""

    prefix = "CTA_STATS_GLOBAL_"
    nla_map = ((1, "CTA_STATS_GLOBAL_ENTRIES", "be32"), (2, "CTA_STATS_GLOBAL_MAX_ENTRIES", "be32"))


class cpu_stats_msg(nfgen_msg):
    """One CPU's counters; ``res_id`` is the CPU. Names are the kernel's, in capitals."""

    prefix = "CTA_STATS_"
    nla_map = (
        (1, "CTA_STATS_SEARCHED", "be32"),
        (2, "CTA_STATS_FOUND", "be32"),
        (3, "CTA_STATS_NEW", "be32"),
        (4, "CTA_STATS_INVALID", "be32"),
        (5, "CTA_STATS_IGNORE", "be32"),
        (6, "CTA_STATS_DELETE", "be32"),
        (7, "CTA_STATS_DELETE_LIST", "be32"),
        (8, "CTA_STATS_INSERT", "be32"),
        (9, "CTA_STATS_INSERT_FAILED", "be32"),
        (10, "CTA_STATS_DROP", "be32"),
        (11, "CTA_STATS_EARLY_DROP", "be32"),
        (12, "CTA_STATS_ERROR", "be32"),
        (13, "CTA_STATS_SEARCH_RESTART", "be32"),
        (14, "CTA_STATS_CLASH_RESOLVE", "be32"),
        (15, "CTA_STATS_CHAIN_TOOLONG", "be32"),
    )


def dump(family: int = wire.AF_UNSPEC, zone: int | None = None, **filters: t.Any) -> bytes:
    """A dump request.

    With a zone and nothing else it is the read-only proof: a kernel that knows the zone filter flags every entry of the answer,
    one that does not returns all zones without the flag. A family or another filter would set the flag too.

    :param filters: ``status`` (u32; entries with all these bits), ``source`` (packed address; CTA_FILTER, needs the family)
    """
    message = conntrack_msg()
    message["nfgen_family"] = family
    attributes: list[t.Any] = []
    if zone is not None:
        attributes.append(["CTA_ZONE", zone])
    if "status" in filters:
        attributes.append(["CTA_STATUS", filters["status"]])
    if "source" in filters:
        name = "CTA_IP_V4_SRC" if family == wire.AF_INET else "CTA_IP_V6_SRC"
        address = {"attrs": [[name, filters["source"]]]}
        attributes.append(["CTA_TUPLE_ORIG", {"attrs": [["CTA_TUPLE_IP", address]]}])
        attributes.append(["CTA_FILTER", {"attrs": [["CTA_FILTER_ORIG_FLAGS", FILTER_SOURCE]]}])
    message["attrs"] = attributes
    return encoded(message, wire.CT_GET, NLM_F_DUMP)


def zone_question() -> bytes:
    """A lookup without a tuple, which is refused: with EINVAL, or first with EOPNOTSUPP where zones are not built in."""
    message = conntrack_msg()
    message["attrs"] = [["CTA_ZONE", 0]]
    return encoded(message, wire.CT_GET, 0)


def lookup(family: int, original: t.Sequence[t.Any], zone: int | None = None) -> bytes:
    """Asks for the entry of that tuple; ENOENT if there is none.

    :param original: attributes of the tuple, as :func:`tuple_of` makes them
    """
    message = conntrack_msg()
    message["nfgen_family"] = family
    attributes: list[t.Any] = [["CTA_TUPLE_ORIG", {"attrs": original}]]
    if zone is not None:
        attributes.append(["CTA_ZONE", zone])
    message["attrs"] = attributes
    return encoded(message, wire.CT_GET, 0)


def flush_zone(zone: int) -> bytes:
    """Deletes every entry of the zone, both families. ONLY for a kernel proven to know the zone filter: any other deletes all."""
    message = conntrack_msg()
    message["attrs"] = [["CTA_ZONE", zone]]
    return encoded(message, wire.CT_DELETE, 0)


def flush_all() -> bytes:
    """Deletes every entry of the namespace."""
    return encoded(conntrack_msg(), wire.CT_DELETE, 0)


def delete(body: bytes) -> bytes:
    """Deletes the one entry that :func:`identity` was taken from."""
    return framed(wire.CT_DELETE, 0, body)


Cut = t.Callable[[bytes], t.Tuple[bytes, ...]]


def identity_cut(layout: wire.Layout) -> Cut:
    """Cuts the parts of an entry's identity out of messages of one layout; see :func:`identity`.

    One ``struct`` call takes a quarter of the time that slices take.

    :raises wire.Malformed: for an entry without a tuple or an id
    """
    for path in ((wire.TUPLE_ORIG,), (wire.ID,)):
        if path not in layout:  # a delete without a tuple is a flush, and one without an id has no guard
            raise wire.Malformed(f"an entry without attribute {path[0]}")
    attributes = [layout[path] for path in ((wire.TUPLE_ORIG,), (wire.ZONE,), (wire.ID,)) if path in layout]
    places = [(wire.FAMILY_AT, wire.BODY)] + sorted((start - 4, (end + 3) & ~3) for start, end in attributes)
    parts, at = "=", 0
    for start, end in places:
        parts += f"{start - at}x{end - start}s"
        at = end
    return _cutter(parts)


@functools.lru_cache(maxsize=256)
def _cutter(parts: str) -> Cut:
    return struct.Struct(parts).unpack_from


def identity(message: bytes, cut: Cut) -> bytes:
    """The body of a delete request for the entry of a dump, from the entry's own bytes.

    Its nfgenmsg (the family, then zeros), original tuple (with the zone of that direction, if any) and zone pass through undecoded;
    CTA_ID guards against another entry that took the tuple meanwhile. Distinct entries have distinct identities.
    """
    return b"".join(cut(message))


def count() -> bytes:
    return encoded(stats_msg(), wire.CT_GET_STATS, 0)


def cpu_stats() -> bytes:
    return encoded(cpu_stats_msg(), wire.CT_GET_STATS_CPU, NLM_F_DUMP)


def expectations() -> bytes:
    return encoded(conntrack_msg(), wire.EXPECT_GET, NLM_F_DUMP)


def insert(family: int, original: t.Sequence[t.Any], reply: t.Sequence[t.Any], **attributes: t.Any) -> bytes:
    """Creates an entry; EEXIST if there is one.

    :param original: attributes of the tuple, as :func:`tuple_of` makes them
    :param attributes: ``zone``, ``timeout`` (seconds; the kernel insists on one), ``status``, ``mark``, ``labels`` (bytes),
        ``helper`` (name), ``tcp_state``, ``sctp`` (state, original tag, reply tag)
    """
    return encoded(_entry(family, original, reply, attributes), wire.CT_NEW, NLM_F_CREATE | NLM_F_EXCL)


def update(family: int, original: t.Sequence[t.Any], reply: t.Sequence[t.Any], **attributes: t.Any) -> bytes:
    """Changes an entry; ENOENT if there is none. Parameters as for :func:`insert`."""
    return encoded(_entry(family, original, reply, attributes), wire.CT_NEW, 0)


def _entry(
    family: int, original: t.Sequence[t.Any], reply: t.Sequence[t.Any], attributes: t.Mapping[str, t.Any]
) -> conntrack_msg:
    message = conntrack_msg()
    message["nfgen_family"] = family
    attrs: list[t.Any] = [["CTA_TUPLE_ORIG", {"attrs": original}], ["CTA_TUPLE_REPLY", {"attrs": reply}]]
    for name in ("timeout", "status", "mark", "zone", "labels"):
        if attributes.get(name) is not None:
            attrs.append(["CTA_" + name.upper(), attributes[name]])
    if attributes.get("helper"):
        attrs.append(["CTA_HELP", {"attrs": [["CTA_HELP_NAME", attributes["helper"]]]}])
    if attributes.get("tcp_state") is not None:
        state = {"attrs": [["CTA_PROTOINFO_TCP_STATE", attributes["tcp_state"]]]}
        attrs.append(["CTA_PROTOINFO", {"attrs": [["CTA_PROTOINFO_TCP", state]]}])
    if attributes.get("sctp") is not None:
        names = ("STATE", "VTAG_ORIGINAL", "VTAG_REPLY")
        values = [["CTA_PROTOINFO_SCTP_" + name, value] for name, value in zip(names, attributes["sctp"])]
        attrs.append(["CTA_PROTOINFO", {"attrs": [["CTA_PROTOINFO_SCTP", {"attrs": values}]]}])
    message["attrs"] = attrs
    return message


def tuple_of(source: bytes, destination: bytes, protocol: int, zone: int | None = None, **parts: int) -> list[t.Any]:
    """The attributes of one direction's tuple.

    :param source: packed address, 4 or 16 bytes
    :param zone: for an entry whose zone holds in this direction only
    :param parts: protocol attributes by the end of their name in lower case: ``src_port``, ``icmp_id`` ...
    """
    version = "V4" if len(source) == 4 else "V6"
    address = [[f"CTA_IP_{version}_SRC", source], [f"CTA_IP_{version}_DST", destination]]
    proto = [["CTA_PROTO_NUM", protocol]] + [["CTA_PROTO_" + name.upper(), value] for name, value in parts.items()]
    attributes: list[t.Any] = [["CTA_TUPLE_IP", {"attrs": address}], ["CTA_TUPLE_PROTO", {"attrs": proto}]]
    if zone is not None:
        attributes.append(["CTA_TUPLE_ZONE", zone])
    return attributes


def global_counts(answer: bytes) -> tuple[int, int]:
    """Entries in the namespace, and the limit, from the answer to :func:`count`."""
    message = stats_msg(answer)
    message.decode()
    return message.get_attr("CTA_STATS_GLOBAL_ENTRIES"), message.get_attr("CTA_STATS_GLOBAL_MAX_ENTRIES")


def cpu_counters(answer: bytes) -> dict[str, int]:
    """One CPU's counters by the kernel's names in small letters; what the kernel does not send is not there."""
    message = cpu_stats_msg(answer)
    message.decode()
    known = {name for _number, name, _type in cpu_stats_msg.nla_map}
    return {name[len("CTA_STATS_") :].lower(): value for name, value in message["attrs"] if name in known}
