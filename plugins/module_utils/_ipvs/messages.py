# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests that are sent to IPVS, as bytes. Pure.

Message classes derive from pyroute2's bases, never from its own IPVS classes: releases differ in which of them work.
"""

from __future__ import annotations

import typing as t

from .._netlink.channel import NLM_F_DUMP, encoded, framed
from .._netlink.library import genlmsg, nla
from . import model, wire
from .model import Destination, DestinationKey, Key, Service

_NESTED = 0x8000  # NLA_F_NESTED, as libnl sends it
_OURS = model.PERSISTENT | model.ONE_PACKET | sum(model.SCHEDULER_FLAGS)


class service_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.SVC_AF, "IPVS_SVC_ATTR_AF", "uint16"),
        (wire.SVC_PROTOCOL, "IPVS_SVC_ATTR_PROTOCOL", "uint16"),
        (wire.SVC_ADDR, "IPVS_SVC_ATTR_ADDR", "cdata"),
        (wire.SVC_PORT, "IPVS_SVC_ATTR_PORT", "be16"),
        (wire.SVC_FWMARK, "IPVS_SVC_ATTR_FWMARK", "uint32"),
        (wire.SVC_SCHED_NAME, "IPVS_SVC_ATTR_SCHED_NAME", "asciiz"),
        (wire.SVC_FLAGS, "IPVS_SVC_ATTR_FLAGS", "cdata"),
        (wire.SVC_TIMEOUT, "IPVS_SVC_ATTR_TIMEOUT", "uint32"),
        (wire.SVC_NETMASK, "IPVS_SVC_ATTR_NETMASK", "cdata"),
        (wire.SVC_PE_NAME, "IPVS_SVC_ATTR_PE_NAME", "asciiz"),
    )


class destination_nest(nla):  # pylint: disable=missing-class-docstring
    nla_flags = _NESTED
    nla_map = (
        (wire.DEST_ADDR, "IPVS_DEST_ATTR_ADDR", "cdata"),
        (wire.DEST_PORT, "IPVS_DEST_ATTR_PORT", "be16"),
        (wire.DEST_FWD_METHOD, "IPVS_DEST_ATTR_FWD_METHOD", "uint32"),
        (wire.DEST_WEIGHT, "IPVS_DEST_ATTR_WEIGHT", "uint32"),
        (wire.DEST_U_THRESH, "IPVS_DEST_ATTR_U_THRESH", "uint32"),
        (wire.DEST_L_THRESH, "IPVS_DEST_ATTR_L_THRESH", "uint32"),
        (wire.DEST_ADDR_FAMILY, "IPVS_DEST_ATTR_ADDR_FAMILY", "uint16"),
        (wire.DEST_TUN_TYPE, "IPVS_DEST_ATTR_TUN_TYPE", "uint8"),
        (wire.DEST_TUN_PORT, "IPVS_DEST_ATTR_TUN_PORT", "be16"),
        (wire.DEST_TUN_FLAGS, "IPVS_DEST_ATTR_TUN_FLAGS", "uint16"),
    )


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
    """A request of the family, with the attributes that requests carry."""

    prefix = "IPVS_CMD_ATTR_"
    nla_map = (
        (wire.SERVICE, "IPVS_CMD_ATTR_SERVICE", "service_nest"),
        (wire.DEST, "IPVS_CMD_ATTR_DEST", "destination_nest"),
        (wire.DAEMON, "IPVS_CMD_ATTR_DAEMON", "daemon_nest"),
        (wire.TIMEOUT_TCP, "IPVS_CMD_ATTR_TIMEOUT_TCP", "uint32"),
        (wire.TIMEOUT_TCP_FIN, "IPVS_CMD_ATTR_TIMEOUT_TCP_FIN", "uint32"),
        (wire.TIMEOUT_UDP, "IPVS_CMD_ATTR_TIMEOUT_UDP", "uint32"),
    )
    service_nest = service_nest
    destination_nest = destination_nest
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
        return self._made(wire.GET_SERVICE, [_service(key)])

    def destinations(self, identity: bytes) -> bytes:
        """Dumps the destinations of one service; none, and no error, where the service is gone.

        :param identity: from :func:`identity`: on a large table there are thousands of these, so that no message class is used
        """
        return framed(self._family, NLM_F_DUMP, bytes((wire.GET_DEST, wire.VERSION, 0, 0)) + identity)

    def new_service(self, key: Key, service: Service) -> bytes:
        """EEXIST if there is one."""
        return self._made(wire.NEW_SERVICE, [_service(key, service)])

    def set_service(self, key: Key, service: Service) -> bytes:
        """Sets all; a persistence engine that is left out goes. ESRCH if there is no such service."""
        return self._made(wire.SET_SERVICE, [_service(key, service)])

    def delete_service(self, key: Key) -> bytes:
        """With its destinations. ESRCH if there is no such service."""
        return self._made(wire.DEL_SERVICE, [_service(key)])

    def new_destination(self, key: Key, destination: DestinationKey, one: Destination) -> bytes:
        """EEXIST if there is one, whatever its forwarding method; ESRCH without the service."""
        return self._made(wire.NEW_DEST, [_service(key), _destination(destination, one)])

    def set_destination(self, key: Key, destination: DestinationKey, one: Destination) -> bytes:
        """Sets all; a tunnel that is left out becomes plain IPIP. ENOENT if there is no such destination."""
        return self._made(wire.SET_DEST, [_service(key), _destination(destination, one)])

    def delete_destination(self, key: Key, destination: DestinationKey) -> bytes:
        """ENOENT if there is no such destination."""
        return self._made(wire.DEL_DEST, [_service(key), _destination(destination)])

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

    def _made(self, command: int, attributes: list[t.Any], flags: int = 0) -> bytes:
        message = ipvs_msg()
        message["cmd"], message["version"] = command, wire.VERSION
        message["attrs"] = attributes
        return encoded(message, self._family, flags)


def identity(found: t.Mapping[int, bytes]) -> bytes:
    """The attribute that names a service in requests, from the attributes that a dump gave of it, value by value.

    :param found: as :func:`wire.nested` returns them
    """
    parts = []
    for kind in wire.IDENTITY:
        value = found.get(kind)
        if value is not None:
            parts.append(wire.attribute(kind, value))
    return wire.attribute(wire.SERVICE | _NESTED, b"".join(parts))


def _service(key: Key, service: Service | None = None) -> list[t.Any]:
    attrs: list[t.Any] = [["IPVS_SVC_ATTR_AF", key.family]]
    if key.fwmark:
        attrs.append(["IPVS_SVC_ATTR_FWMARK", key.fwmark])
    else:
        attrs += [
            ["IPVS_SVC_ATTR_PROTOCOL", key.protocol],
            ["IPVS_SVC_ATTR_ADDR", _sixteen(key.address)],
            ["IPVS_SVC_ATTR_PORT", key.port],
        ]
    if service is not None:
        attrs += _settings(key.family, service)
    return ["IPVS_CMD_ATTR_SERVICE", {"attrs": attrs}]


def _settings(family: int, service: Service) -> list[t.Any]:
    flags = service.flags
    flags |= model.PERSISTENT if service.timeout else 0
    flags |= model.ONE_PACKET if service.one_packet else 0
    in_network_order = family == model.AF_INET
    mask = service.netmask.to_bytes(4, "big") if in_network_order else wire.U32.pack(service.netmask)
    attrs: list[t.Any] = [
        ["IPVS_SVC_ATTR_SCHED_NAME", service.scheduler],
        ["IPVS_SVC_ATTR_FLAGS", wire.U32.pack(flags) + wire.U32.pack(_OURS)],
        ["IPVS_SVC_ATTR_TIMEOUT", service.timeout],
        ["IPVS_SVC_ATTR_NETMASK", mask],
    ]
    return attrs + ([["IPVS_SVC_ATTR_PE_NAME", service.engine]] if service.engine else [])


def _destination(key: DestinationKey, one: Destination | None = None) -> list[t.Any]:
    attrs: list[t.Any] = [
        ["IPVS_DEST_ATTR_ADDR", _sixteen(key.address)],
        ["IPVS_DEST_ATTR_PORT", key.port],
        ["IPVS_DEST_ATTR_ADDR_FAMILY", key.family],
    ]
    if one is not None:
        attrs += [
            ["IPVS_DEST_ATTR_FWD_METHOD", one.forward],
            ["IPVS_DEST_ATTR_WEIGHT", one.weight],
            ["IPVS_DEST_ATTR_U_THRESH", one.upper],
            ["IPVS_DEST_ATTR_L_THRESH", one.lower],
        ]
        if one.tunnel != model.PLAIN_TUNNEL:
            attrs += [
                ["IPVS_DEST_ATTR_TUN_TYPE", one.tunnel.type],
                ["IPVS_DEST_ATTR_TUN_PORT", one.tunnel.port],
                ["IPVS_DEST_ATTR_TUN_FLAGS", one.tunnel.flags],
            ]
    return ["IPVS_CMD_ATTR_DEST", {"attrs": attrs}]


def _daemon(values: t.Mapping[str, t.Any]) -> list[t.Any]:
    attrs = [["IPVS_DAEMON_ATTR_" + name.upper(), value] for name, value in values.items()]
    return ["IPVS_CMD_ATTR_DAEMON", {"attrs": attrs}]


def _sixteen(address: bytes) -> bytes:
    return address + bytes(16 - len(address))
