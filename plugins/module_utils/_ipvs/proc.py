# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The text of ``/proc/net/ip_vs``. Pure.

It tells less than netlink: no thresholds, tunnels, scheduler flags or persistence engines, the time of persistence in ticks, and the family of a
fwmark service only through its destinations. Addresses and ports are hexadecimal, an IPv6 netmask is a prefix length in the byte order of
the network, printed in that of the host (seen on 6.1 and 7.2).
"""

from __future__ import annotations

import re
import typing as t

from . import config, model
from .model import DestinationKey, Held, Key, Table
from .wording import RulesError

_TITLE = "IP Virtual Server version"
_HEADS = (_TITLE, "Prot LocalAddress:Port", "-> RemoteAddress:Port")
_KERNELS_HEAD = "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn"

_ENDPOINT = r"(?:([0-9A-F]{8})|\[([0-9a-f:]{39})\]):([0-9A-F]{4})"
_SERVICE = re.compile(
    rf"(?:(TCP|UDP|SCTP)\s+{_ENDPOINT}|FWM\s+([0-9A-F]{{8}}))\s+([a-z0-9_-]+)(\s+ops)?(?:\s+persistent\s+([0-9]{{1,10}})\s+([0-9A-F]{{8}}))?\s*"
)
_DESTINATION = re.compile(rf"\s+->\s+{_ENDPOINT}\s+(Masq|Local|Tunnel|Route|Bypass)\s+([0-9]{{1,10}})\s+[0-9]+\s+[0-9]+\s*")
_FORWARDS = {name: number for number, name in enumerate(("Masq", "Local", "Tunnel", "Route", "Bypass"))}


def is_listing(lines: t.Sequence[str]) -> bool:
    """Whether the text starts as the kernel's listing, or ipvsadm's, does."""
    return any(line.strip() for line in lines) and next(line for line in lines if line.strip()).startswith(_TITLE)


def parse(lines: t.Sequence[str], hz: int | None = None) -> Table:
    """The table of a listing.

    :param hz: the kernel's ticks a second (CONFIG_HZ); needed only where a service is persistent
    :raises RulesError: naming line and text
    :raises OptionError: for ``hz``
    """
    if hz is not None:
        hz = config.number_of("hz", hz, 1, 10000)
    if not any(line.rstrip() == _KERNELS_HEAD for line in lines):
        why = "this is what ipvsadm lists, which leaves tunnels and thresholds out: take ipvsadm -Sn, or /proc/net/ip_vs"
        raise RulesError(why, 1, lines[0])
    blocks: list[tuple[int, str, re.Match[str], dict[DestinationKey, model.Destination]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.strip().startswith(_HEADS):
            continue
        service = _SERVICE.fullmatch(line)
        destination = _DESTINATION.fullmatch(line)
        if service:
            blocks.append((number, line, service, {}))
        elif destination and blocks:
            try:
                key, one = _destination(destination)
                if key in blocks[-1][3]:
                    raise RulesError(f"destination {key} was there before")
            except RulesError as error:
                raise RulesError(str(error), number, line) from None
            blocks[-1][3][key] = one
        else:
            raise RulesError("neither a service nor a destination of one", number, line)
    table: Table = {}
    for number, line, match, destinations in blocks:
        try:
            key = _key(match, destinations)
            if key in table:
                raise RulesError(f"service {key} was there before")
            table[key] = Held(_service(match, key.family, hz), destinations)
        except RulesError as error:
            raise RulesError(str(error), number, line) from None
    return table


def _address(short: str | None, long: str | None) -> tuple[int, bytes]:
    if short is not None:
        return model.AF_INET, bytes.fromhex(short)
    try:
        return model.packed(t.cast(str, long))
    except ValueError:
        raise RulesError(f"[{long}] is no address") from None


def _destination(match: re.Match[str]) -> tuple[DestinationKey, model.Destination]:
    short, long, port, forward, weight = match.groups()
    family, address = _address(short, long)
    return DestinationKey(family, address, int(port, 16)), model.destination_of(_FORWARDS[forward], int(weight))


def _key(match: re.Match[str], destinations: t.Mapping[DestinationKey, model.Destination]) -> Key:
    protocol, short, long, port, mark = match.groups()[:5]
    if not mark:
        family, address = _address(short, long)
        return Key(family, model.PROTOCOLS[protocol.lower()], address, int(port, 16))
    if not int(mark, 16):
        raise RulesError("no service has the fwmark 0")
    # Only a tunnel leads to the other family.
    direct = {key.family for key, one in destinations.items() if one.forward != model.TUNNEL}
    families = direct or {key.family for key in destinations}
    if len(families) != 1:
        raise RulesError("the text does not tell whether this is an IPv4 or an IPv6 service")
    return Key(families.pop(), fwmark=int(mark, 16))


def _service(match: re.Match[str], family: int, hz: int | None) -> model.Service:
    scheduler, one_packet, ticks, mask = match.groups()[5:]
    timeout, netmask = 0, model.WHOLE_ADDRESS[family]
    if ticks:
        if hz is None:
            raise RulesError("the time of persistence is told in ticks: say how many a second this kernel has (hz)")
        timeout = max(1, int(ticks) // hz)
        netmask = int(mask, 16)
        if family == model.AF_INET6:
            netmask = netmask if netmask <= 128 else int.from_bytes(netmask.to_bytes(4, "big"), "little")
    return model.service_of(family, scheduler, 0, timeout, netmask, "", bool(one_packet))
