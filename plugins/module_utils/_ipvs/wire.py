# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the kernel's IPVS messages mean: numbers of ``linux/ip_vs.h``, and answers to values. Pure; no pyroute2.

pyroute2's own decoding is not used: it takes 100 times as long, reads the port of a tunnel in the wrong byte order and an IPv6 netmask as
an address. Tables repeat themselves: the same settings are the same value, made once.
"""

from __future__ import annotations

import functools
import struct
import typing as t

from .._netlink import attributes, family
from . import model
from .model import Connections, Destination, DestinationKey, Key, Service, Tunnel

NAME, VERSION = "IPVS", 1

(
    NEW_SERVICE, SET_SERVICE, DEL_SERVICE, GET_SERVICE, NEW_DEST, SET_DEST, DEL_DEST, GET_DEST,
    NEW_DAEMON, DEL_DAEMON, GET_DAEMON, SET_CONFIG, GET_CONFIG, SET_INFO, GET_INFO, ZERO, FLUSH,
) = range(1, 18)  # fmt: skip
COMMANDS = {
    NEW_SERVICE: "new_service",
    SET_SERVICE: "set_service",
    DEL_SERVICE: "del_service",
    GET_SERVICE: "get_service",
    NEW_DEST: "new_dest",
    SET_DEST: "set_dest",
    DEL_DEST: "del_dest",
    GET_DEST: "get_dest",
    NEW_DAEMON: "new_daemon",
    DEL_DAEMON: "del_daemon",
    GET_DAEMON: "get_daemon",
    SET_CONFIG: "set_config",
    GET_CONFIG: "get_config",
    SET_INFO: "set_info",
    GET_INFO: "get_info",
    ZERO: "zero",
    FLUSH: "flush",
}

SERVICE, DEST, DAEMON = 1, 2, 3
TIMEOUT_TCP, TIMEOUT_TCP_FIN, TIMEOUT_UDP = 4, 5, 6

(
    SVC_AF, SVC_PROTOCOL, SVC_ADDR, SVC_PORT, SVC_FWMARK, SVC_SCHED_NAME, SVC_FLAGS, SVC_TIMEOUT, SVC_NETMASK,
    SVC_STATS, SVC_PE_NAME, SVC_STATS64,
) = range(1, 13)  # fmt: skip
(
    DEST_ADDR, DEST_PORT, DEST_FWD_METHOD, DEST_WEIGHT, DEST_U_THRESH, DEST_L_THRESH, DEST_ACTIVE_CONNS, DEST_INACT_CONNS,
    DEST_PERSIST_CONNS, DEST_STATS, DEST_ADDR_FAMILY, DEST_STATS64, DEST_TUN_TYPE, DEST_TUN_PORT, DEST_TUN_FLAGS,
) = range(1, 16)  # fmt: skip
(
    DAEMON_STATE, DAEMON_MCAST_IFN, DAEMON_SYNC_ID, DAEMON_SYNC_MAXLEN, DAEMON_MCAST_GROUP, DAEMON_MCAST_GROUP6,
    DAEMON_MCAST_PORT, DAEMON_MCAST_TTL,
) = range(1, 9)  # fmt: skip
INFO_VERSION, INFO_CONN_TAB_SIZE = 1, 2

# IPVS_STATS_ATTR_*, by number.
STATISTICS = (
    "connections",
    "packets_in",
    "packets_out",
    "bytes_in",
    "bytes_out",
    "connections_per_second",
    "packets_in_per_second",
    "packets_out_per_second",
    "bytes_in_per_second",
    "bytes_out_per_second",
)

U16, U32, U64 = struct.Struct("=H"), struct.Struct("=I"), struct.Struct("=Q")
BE16 = struct.Struct(">H")
FORWARD_MASK = 0x7  # IP_VS_CONN_F_FWD_MASK
_SIZES = {model.AF_INET: 4, model.AF_INET6: 16}  # of an address; the kernel always gives 16 bytes

Attributes = t.Dict[int, bytes]


def top(message: bytes) -> Attributes:
    """The outer attributes of an answer."""
    return attributes.walk(message, family.BODY_AT, len(message))


def nested(message: bytes, kind: int = SERVICE) -> Attributes:
    """The attributes inside ``SERVICE``, ``DEST`` or ``DAEMON`` of an answer; none where it has none."""
    outer = top(message).get(kind, b"")
    return attributes.walk(outer, 0, len(outer))


_SERVICE = attributes.Picker(
    SERVICE,
    family.BODY_AT,
    (
        (SVC_AF, "H"),
        (SVC_PROTOCOL, "H"),
        (SVC_ADDR, ""),
        (SVC_PORT, "2s"),
        (SVC_FWMARK, "I"),
        (SVC_SCHED_NAME, ""),
        (SVC_FLAGS, "I4x"),
        (SVC_TIMEOUT, "I"),
        (SVC_NETMASK, "4s"),
        (SVC_PE_NAME, ""),
    ),
)
_DESTINATION = attributes.Picker(
    DEST,
    family.BODY_AT,
    (
        (DEST_ADDR_FAMILY, "H"),
        (DEST_ADDR, ""),
        (DEST_PORT, "2s"),
        (DEST_ACTIVE_CONNS, "I"),
        (DEST_INACT_CONNS, "I"),
        (DEST_PERSIST_CONNS, "I"),
        (DEST_FWD_METHOD, "I"),
        (DEST_WEIGHT, "I"),
        (DEST_U_THRESH, "I"),
        (DEST_L_THRESH, "I"),
        (DEST_TUN_TYPE, "B"),
        (DEST_TUN_PORT, "2s"),
        (DEST_TUN_FLAGS, "H"),
    ),
)


def services(datagram: bytes) -> t.Iterator[tuple[Key, Service]]:
    """The messages of a dump of the services."""
    for af, protocol, address, port, mark, scheduler, flags, timeout, netmask, engine in _SERVICE.pick_each(datagram):
        key = Key(af, fwmark=mark) if mark else Key(af, protocol, address[: _SIZES[af]], int.from_bytes(port, "big"))
        yield key, _service(af, scheduler, flags, timeout, netmask, engine)


@functools.lru_cache(maxsize=1024)
def _service(af: int, scheduler: bytes | None, flags: int, timeout: int, netmask: bytes, engine: bytes | None) -> Service:
    return model.service_of(
        af,
        text(scheduler or b""),
        flags & sum(model.SCHEDULER_FLAGS),
        timeout if flags & model.PERSISTENT else 0,
        int.from_bytes(netmask, "big") if af == model.AF_INET else U32.unpack(netmask)[0],
        text(engine or b""),
        bool(flags & model.ONE_PACKET),
    )


def destinations(datagram: bytes, service_family: int) -> t.Iterator[tuple[DestinationKey, Destination, Connections]]:
    """The messages of a dump of the destinations of a service.

    :param service_family: kernels before 3.18 tell no family: it is that of the service
    """
    for found in _DESTINATION.pick_each(datagram):
        af = found[0] or service_family
        key = DestinationKey(af, found[1][: _SIZES[af]], int.from_bytes(found[2], "big"))
        yield key, _destination(*found[6:]), _connections(*found[3:6])


@functools.lru_cache(maxsize=1024)
def _destination(forward: int, weight: int, upper: int, lower: int, tunnel: int | None, port: bytes | None, flags: int | None) -> Destination:
    method = forward & FORWARD_MASK
    encapsulation = model.PLAIN_TUNNEL if tunnel is None else Tunnel(tunnel, int.from_bytes(port or b"", "big"), flags or 0)
    return model.destination_of(method, weight, upper, lower, encapsulation)


@functools.lru_cache(maxsize=1024)
def _connections(active: int | None, inactive: int | None, persistent: int | None) -> Connections:
    return Connections(active or 0, inactive or 0, persistent or 0)


def statistics(found: t.Mapping[int, bytes], wide: int, narrow: int) -> dict[str, int]:
    """Counters and rates, from the 64-bit ones where the kernel has them; the others wrap.

    :param wide: number of the attribute with 64-bit counters
    :param narrow: number of the one with 32-bit counters
    """
    nest = found.get(wide, found.get(narrow, b""))
    values = attributes.walk(nest, 0, len(nest))
    return {name: int.from_bytes(values[number], "little" if U16.pack(1)[0] else "big") for number, name in enumerate(STATISTICS, 1) if number in values}


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, padded."""
    length = 4 + len(value)
    return attributes.HEAD.pack(length, kind) + value + bytes(-length & 3)


def text(value: bytes) -> str:
    return value.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
