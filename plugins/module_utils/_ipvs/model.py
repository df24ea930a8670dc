# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Virtual services and their destinations as frozen values that compare, in normal form. Pure.

Normal form is what the kernel acts on, whatever way it was said: the HASHED bit is not kept; a netmask says something only of a
persistent service, and an IPv6 one is a prefix length; a tunnel says something only of a destination reached through one. Two
tables are the same when they are equal.

Names and limits are those of ``linux/ip_vs.h`` and, for what the kernel does not check, of ``ipvsadm`` 1.31.
"""

from __future__ import annotations

import socket
import typing as t

AF_INET, AF_INET6 = 2, 10
FAMILIES = {"ipv4": AF_INET, "ipv6": AF_INET6}
FAMILY_NAMES = {number: name for name, number in FAMILIES.items()}

PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
PROTOCOL_NAMES = {number: name for name, number in PROTOCOLS.items()}
UDP = PROTOCOLS["udp"]

# IP_VS_CONN_F_*, by number. The kernel itself puts "local" and "bypass" into connections; neither is for the user to choose.
FORWARDS = ("masquerade", "local", "tunnel", "direct", "bypass")
MASQUERADE, TUNNEL, DIRECT = 0, 2, 3
CHOSEN_FORWARDS = ("masquerade", "direct", "tunnel")

# IP_VS_CONN_F_TUNNEL_TYPE_* and IP_VS_TUNNEL_ENCAP_FLAG_*, by number.
TUNNEL_TYPES = ("ipip", "gue", "gre")
IPIP, GUE, GRE = 0, 1, 2
CHECKSUMS = ("none", "csum", "remcsum")

# IP_VS_SVC_F_*
PERSISTENT, HASHED, ONE_PACKET = 0x1, 0x2, 0x4
SCHEDULER_FLAGS = (0x8, 0x10, 0x20)
_OWN_FLAG_NAMES = {"sh": ("sh-fallback", "sh-port", "flag-3"), "mh": ("mh-fallback", "mh-port", "flag-3")}
_FLAG_NAMES = ("flag-1", "flag-2", "flag-3")

SCHEDULER = "wlc"
NO_SCHEDULER = "none"
PERSISTENCE_SECONDS = 360  # "-p" without a value, in ipvsadm 1.31
PERSISTENCE_MOST = 31 * 86400
LARGEST = 0x7FFFFFFF  # weights and thresholds are signed in the kernel
WHOLE_ADDRESS = {AF_INET: 0xFFFFFFFF, AF_INET6: 128}
MULTICAST = {AF_INET: range(224, 240), AF_INET6: range(255, 256)}  # first byte


class Key(t.NamedTuple):
    """What identifies a service: ``fwmark`` (not 0) and family, or family, protocol, address and port.

    :ivar address: packed; empty for a fwmark service, as ``protocol`` and ``port`` are 0
    """

    family: int
    protocol: int = 0
    address: bytes = b""
    port: int = 0
    fwmark: int = 0

    def __str__(self) -> str:
        if self.fwmark:
            return f"fwmark {self.fwmark} {FAMILY_NAMES[self.family]}"
        return f"{protocol_name(self.protocol)} {endpoint(self.family, self.address, self.port)}"


class Service(t.NamedTuple):
    """What can change of a service.

    :ivar flags: bits of ``SCHEDULER_FLAGS``
    :ivar timeout: seconds of persistence, 0 for none
    :ivar netmask: of persistence; a 32-bit mask for IPv4, a prefix length for IPv6
    :ivar engine: persistence engine, empty for none
    """

    scheduler: str
    flags: int
    timeout: int
    netmask: int
    engine: str
    one_packet: bool


class DestinationKey(t.NamedTuple):
    """What identifies a destination within its service. The forwarding method is no part of it."""

    family: int
    address: bytes
    port: int

    def __str__(self) -> str:
        return endpoint(self.family, self.address, self.port)


class Tunnel(t.NamedTuple):
    """How a destination is tunnelled to; numbers of ``TUNNEL_TYPES`` and ``CHECKSUMS``. ``port`` is that of GUE."""

    type: int = IPIP
    port: int = 0
    flags: int = 0


class Destination(t.NamedTuple):
    """What can change of a destination.

    :ivar forward: number of ``FORWARDS``
    :ivar upper: connections above which it gets no new ones, 0 for no limit
    :ivar lower: connections below which it gets new ones again, 0 for three quarters of ``upper``
    """

    forward: int
    weight: int
    upper: int
    lower: int
    tunnel: Tunnel


class Held(t.NamedTuple):
    """A service with its destinations."""

    service: Service
    destinations: t.Mapping[DestinationKey, Destination]


Table = t.Dict[Key, Held]


class Connections(t.NamedTuple):
    """What a destination has to do.

    :ivar persistent: persistence templates, which bind a client to it
    """

    active: int = 0
    inactive: int = 0
    persistent: int = 0


Activity = t.Dict[t.Tuple[Key, DestinationKey], Connections]

PLAIN_TUNNEL = Tunnel()


def service_of(
    family: int, scheduler: str, flags: int, timeout: int, netmask: int, engine: str = "", one_packet: bool = False
) -> Service:
    """A service in normal form."""
    if not timeout:
        netmask = WHOLE_ADDRESS[family]
    return Service(scheduler or NO_SCHEDULER, flags, timeout, netmask, engine, one_packet)


def destination_of(forward: int, weight: int, upper: int = 0, lower: int = 0, tunnel: Tunnel = PLAIN_TUNNEL) -> Destination:
    """A destination in normal form."""
    return Destination(forward, weight, upper, lower, tunnel if forward == TUNNEL else PLAIN_TUNNEL)


def protocol_name(number: int) -> str:
    return PROTOCOL_NAMES.get(number, str(number))


def address_text(family: int, address: bytes) -> str:
    return socket.inet_ntop(family, address)


def endpoint(family: int, address: bytes, port: int) -> str:
    """``10.0.0.1:80`` or ``[2001:db8::1]:80``."""
    text = socket.inet_ntop(family, address)
    return f"[{text}]:{port}" if family == AF_INET6 else f"{text}:{port}"


def packed(text: str) -> tuple[int, bytes]:
    """Family and packed address of its text form.

    :raises ValueError: for what is no IPv4 or IPv6 address
    """
    for family in (AF_INET, AF_INET6):
        try:
            return family, socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
    raise ValueError(text)


def netmask_text(family: int, netmask: int) -> str:
    """As ipvsadm has it: dotted for IPv4, a prefix length for IPv6."""
    return str(netmask) if family == AF_INET6 else socket.inet_ntop(AF_INET, netmask.to_bytes(4, "big"))


def flag_names(scheduler: str, flags: int) -> list[str]:
    """The names that ipvsadm has for scheduler flags."""
    names = _OWN_FLAG_NAMES.get(scheduler, _FLAG_NAMES)
    return [name for bit, name in zip(SCHEDULER_FLAGS, names) if flags & bit]


def flag_bit(scheduler: str, name: str) -> int:
    """The bit of a scheduler flag.

    :raises ValueError: for a name that this scheduler has no flag of
    """
    for names in (_OWN_FLAG_NAMES.get(scheduler, _FLAG_NAMES), _FLAG_NAMES):
        if name in names:
            return SCHEDULER_FLAGS[names.index(name)]
    raise ValueError(name)


def known_flags(scheduler: str) -> tuple[str, ...]:
    own = _OWN_FLAG_NAMES.get(scheduler, ())
    return tuple(dict.fromkeys(own + _FLAG_NAMES))


def service_order(key: Key) -> tuple[t.Any, ...]:
    """For sorting: address services by family, protocol, address and port, then those of a fwmark."""
    return (key.fwmark, key)


def sorted_table(table: t.Mapping[Key, Held]) -> list[tuple[Key, Held]]:
    return sorted(table.items(), key=lambda item: service_order(item[0]))
