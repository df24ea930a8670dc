# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests that are sent to IPVS, as bytes. Pure.

Those of services and destinations, of which a large table takes tens of thousands, are packed here: a message class takes many
times as long for each. The others are message classes derived from pyroute2's bases, never from its own IPVS classes: releases differ in which of
them work.
"""

from __future__ import annotations

import functools
import typing as t

from .._netlink.channel import NLM_F_DUMP, encoded, framed
from .._netlink.library import genlmsg, nla
from . import model, wire
from .model import Destination, DestinationKey, Key, Service

_NESTED = 0x8000  # NLA_F_NESTED, as libnl sends it
_OURS = model.PERSISTENT | model.ONE_PACKET | sum(model.SCHEDULER_FLAGS)


class daemon_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.DAEMON_STATE, "IPVS_DAEMON_ATTR_STATE", "uint32"),
        (wire.DAEMON_MCAST_IFN, "IPVS_DAEMON_ATTR_MCAST_IFN", "asciiz"),
        (wire.DAEMON_SYNC_ID, "IPVS_DAEMON_ATTR_SYNC_ID", "uint32"),
        (wire.DAEMON_SYNC_MAXLEN, "IPVS_DAEMON_ATTR_SYNC_MAXLEN", "uint16"),
        (wire.DAEMON_MCAST_GROUP, "IPVS_DAEMON_ATTR_MCAST_GROUP", "cdata"),
        (wire.DAEMON_MCAST_GROUP6, "IPVS_DAEMON_ATTR_MCAST_GROUP6", "cdata"),
        (wire.DAEMON_MCAST_PORT, "IPVS_DAEMON_ATTR_MCAST_PORT", "uint16"),
        (wire.DAEMON_MCAST_TTL, "IPVS_DAEMON_ATTR_MCAST_TTL", "uint8"),
    )


class ipvs_msg(genlmsg):
    """A request that is about no service."""

    prefix = "IPVS_CMD_ATTR_"
    nla_map = (
        (wire.DAEMON, "IPVS_CMD_ATTR_DAEMON", "daemon_nest"),
        (wire.TIMEOUT_TCP, "IPVS_CMD_ATTR_TIMEOUT_TCP", "uint32"),
        (wire.TIMEOUT_TCP_FIN, "IPVS_CMD_ATTR_TIMEOUT_TCP_FIN", "uint32"),
        (wire.TIMEOUT_UDP, "IPVS_CMD_ATTR_TIMEOUT_UDP", "uint32"),
    )
    daemon_nest = daemon_nest


class Requests:
    """Makes requests.

    :param family: number of the family on this kernel
    """

    def __init__(self, family: int) -> None:
        self._family = family

    def services(self) -> bytes:
        """Dumps all services of the namespace."""
        return self._made(wire.GET_SERVICE, [], NLM_F_DUMP)

    def service(self, key: Key) -> bytes:
        """Asks for one service. ESRCH if there is no such service."""
        return self._packed(wire.GET_SERVICE, _service(key))

    def destinations(self, key: Key) -> bytes:
        """Dumps the destinations of one service; none, and no error, where the service is gone."""
        return self._packed(wire.GET_DEST, _service(key), NLM_F_DUMP)

    def new_service(self, key: Key, service: Service) -> bytes:
        """EEXIST if there is one."""
        return self._packed(wire.NEW_SERVICE, _service(key, service))

    def set_service(self, key: Key, service: Service) -> bytes:
        """Sets all; a persistence engine that is left out goes. ESRCH if there is no such service."""
        return self._packed(wire.SET_SERVICE, _service(key, service))

    def delete_service(self, key: Key) -> bytes:
        """With its destinations. ESRCH if there is no such service."""
        return self._packed(wire.DEL_SERVICE, _service(key))

    def new_destination(self, key: Key, destination: DestinationKey, one: Destination) -> bytes:
        """EEXIST if there is one, whatever its forwarding method; ESRCH without the service."""
        return self._packed(wire.NEW_DEST, _service(key) + _destination(destination, one))

    def set_destination(self, key: Key, destination: DestinationKey, one: Destination) -> bytes:
        """Sets all; a tunnel that is left out becomes plain IPIP. ENOENT if there is no such destination."""
        return self._packed(wire.SET_DEST, _service(key) + _destination(destination, one))

    def delete_destination(self, key: Key, destination: DestinationKey) -> bytes:
        """ENOENT if there is no such destination."""
        return self._packed(wire.DEL_DEST, _service(key) + _destination(destination))

    def info(self) -> bytes:
        """Version and size of the connection table."""
        return self._made(wire.GET_INFO, [])

    def timeouts(self) -> bytes:
        return self._made(wire.GET_CONFIG, [])

    def set_timeouts(self, tcp: int = 0, tcp_fin: int = 0, udp: int = 0) -> bytes:
        """Seconds; 0 leaves one as it is."""
        values = (("TCP", tcp), ("TCP_FIN", tcp_fin), ("UDP", udp))
        return self._made(wire.SET_CONFIG, [["IPVS_CMD_ATTR_TIMEOUT_" + name, value] for name, value in values])

    def daemons(self) -> bytes:
        return self._made(wire.GET_DAEMON, [], NLM_F_DUMP)

    def new_daemon(self, **values: t.Any) -> bytes:
        """Starts a sync daemon.

        :param values: ``state`` (1 master, 2 backup), ``mcast_ifn``, ``sync_id``; ``sync_maxlen``, ``mcast_group`` or ``mcast_group6`` (packed),
            ``mcast_port``, ``mcast_ttl`` where they are not to take the kernel's defaults
        """
        return self._made(wire.NEW_DAEMON, [_daemon(values)])

    def delete_daemon(self, state: int) -> bytes:
        """Stops the master (1) or the backup (2). ESRCH if it is not running."""
        return self._made(wire.DEL_DAEMON, [_daemon({"state": state})])

    def _packed(self, command: int, attributes: bytes, flags: int = 0) -> bytes:
        return framed(self._family, flags, bytes((command, wire.VERSION, 0, 0)) + attributes)

    def _made(self, command: int, attributes: list[t.Any], flags: int = 0) -> bytes:
        message = ipvs_msg()
        message["cmd"], message["version"] = command, wire.VERSION
        message["attrs"] = attributes
        return encoded(message, self._family, flags)


def _service(key: Key, service: Service | None = None) -> bytes:
    """The attribute that names a service, with its settings where they are to be set."""
    parts = [_name_of(key)]
    if service is not None:
        ours = (model.PERSISTENT if service.timeout else 0) | (model.ONE_PACKET if service.one_packet else 0)
        mask = service.netmask.to_bytes(4, "big") if key.family == model.AF_INET else wire.U32.pack(service.netmask)
        parts += [
            wire.attribute(wire.SVC_SCHED_NAME, _terminated(service.scheduler)),
            wire.attribute(wire.SVC_FLAGS, wire.U32.pack(service.flags | ours) + wire.U32.pack(_OURS)),
            wire.attribute(wire.SVC_TIMEOUT, wire.U32.pack(service.timeout)),
            wire.attribute(wire.SVC_NETMASK, mask),
        ]
        if service.engine:
            parts.append(wire.attribute(wire.SVC_PE_NAME, _terminated(service.engine)))
    return wire.attribute(wire.SERVICE | _NESTED, b"".join(parts))


@functools.lru_cache(maxsize=8)  # requests about the destinations of one service follow each other
def _name_of(key: Key) -> bytes:
    family = wire.attribute(wire.SVC_AF, wire.U16.pack(key.family))
    if key.fwmark:
        return family + wire.attribute(wire.SVC_FWMARK, wire.U32.pack(key.fwmark))
    return (
        family
        + wire.attribute(wire.SVC_PROTOCOL, wire.U16.pack(key.protocol))
        + wire.attribute(wire.SVC_ADDR, _sixteen(key.address))
        + wire.attribute(wire.SVC_PORT, key.port.to_bytes(2, "big"))
    )


def _destination(key: DestinationKey, one: Destination | None = None) -> bytes:
    """The attribute that names a destination, with its settings where they are to be set."""
    parts = [
        wire.attribute(wire.DEST_ADDR, _sixteen(key.address)),
        wire.attribute(wire.DEST_PORT, key.port.to_bytes(2, "big")),
        wire.attribute(wire.DEST_ADDR_FAMILY, wire.U16.pack(key.family)),
    ]
    if one is not None:
        parts.append(_settings(one))
    return wire.attribute(wire.DEST | _NESTED, b"".join(parts))


@functools.lru_cache(maxsize=1024)
def _settings(one: Destination) -> bytes:
    numbers = (
        (wire.DEST_FWD_METHOD, one.forward),
        (wire.DEST_WEIGHT, one.weight),
        (wire.DEST_U_THRESH, one.upper),
        (wire.DEST_L_THRESH, one.lower),
    )
    parts = [wire.attribute(kind, wire.U32.pack(value)) for kind, value in numbers]
    if one.tunnel != model.PLAIN_TUNNEL:
        parts += [
            wire.attribute(wire.DEST_TUN_TYPE, bytes([one.tunnel.type])),
            wire.attribute(wire.DEST_TUN_PORT, one.tunnel.port.to_bytes(2, "big")),
            wire.attribute(wire.DEST_TUN_FLAGS, wire.U16.pack(one.tunnel.flags)),
        ]
    return b"".join(parts)


def _terminated(name: str) -> bytes:
    return name.encode("ascii") + b"\0"


def _daemon(values: t.Mapping[str, t.Any]) -> list[t.Any]:
    attrs = [["IPVS_DAEMON_ATTR_" + name.upper(), value] for name, value in values.items()]
    return ["IPVS_CMD_ATTR_DAEMON", {"attrs": attrs}]


def _sixteen(address: bytes) -> bytes:
    return address + bytes(16 - len(address))
