# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The option ``scope``: which services may be removed for not being named. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from .._netlink.errors import OptionError
from . import config, model
from .model import Key

OPTIONS = frozenset(["all", "addresses", "fwmarks", "protocols", "families"])


@dataclasses.dataclass(frozen=True)
class Scope:
    """A set of services. ``None`` leaves a property open.

    Addresses and fwmarks name services of one kind each: where only one of the two is given, services of the other kind are outside.

    :ivar networks: family, network number and mask of each
    :ivar protocols: numbers; a fwmark service has none, and is inside only where ``fwmarks`` names it
    """

    networks: frozenset[tuple[int, int, int]] | None = None
    fwmarks: frozenset[int] | None = None
    protocols: frozenset[int] | None = None
    families: frozenset[int] | None = None

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, Key):
            return False
        if self.families is not None and key.family not in self.families:
            return False
        if key.fwmark:
            return key.fwmark in self.fwmarks if self.fwmarks is not None else self.networks is None and self.protocols is None
        if self.protocols is not None and key.protocol not in self.protocols:
            return False
        if self.networks is None:
            return self.fwmarks is None
        number = int.from_bytes(key.address, "big")
        return any(family == key.family and number & mask == network for family, network, mask in self.networks)


def parse(value: t.Mapping[str, t.Any] | None) -> Scope:
    """Reads the option.

    :raises OptionError: naming option and value, also for a scope of nothing: everything has to be asked for by ``all``
    """
    given = {name: one for name, one in (value or {}).items() if one is not None}
    for name in given:
        if name not in OPTIONS:
            raise OptionError(f"scope.{name}", given[name], f"no such option; there are {', '.join(sorted(OPTIONS))}")
    whole = given.pop("all", False)
    for name, one in given.items():
        if not one:
            raise OptionError(f"scope.{name}", one, "an empty list is no service at all: leave the option out to leave it open")
    if whole and given:
        raise OptionError("scope.all", True, f"it cannot go with {', '.join(sorted(given))}, which say less")
    if "protocols" in given and "fwmarks" in given and "addresses" not in given:
        raise OptionError("scope.protocols", given["protocols"], "a fwmark service has none: give addresses as well, or leave it out")
    if not whole and not given:
        raise OptionError("scope", value, "say what may be removed: addresses, fwmarks, protocols, families, or all: true for everything")
    return Scope(
        networks=_each(given, "addresses", _network),
        fwmarks=_each(given, "fwmarks", lambda option, one: config.number_of(option, one, 1, 0xFFFFFFFF)),
        protocols=_each(given, "protocols", lambda option, one: _named(option, one, model.PROTOCOLS)),
        families=_each(given, "families", lambda option, one: _named(option, one, model.FAMILIES)),
    )


def _each(given: t.Mapping[str, t.Any], name: str, read: t.Callable[[str, t.Any], t.Any]) -> frozenset[t.Any] | None:
    return frozenset(read(f"scope.{name}", one) for one in given[name]) if name in given else None


def _named(option: str, value: t.Any, known: t.Mapping[str, int]) -> int:
    if value not in known:
        raise OptionError(option, value, f"give one of {', '.join(known)}")
    return known[value]


def _network(option: str, value: t.Any) -> tuple[int, int, int]:
    text = str(value).strip()
    try:
        if "%" in text:  # taken by Python since 3.9, and then left out
            raise ValueError
        network = ipaddress.ip_network(text)
    except ValueError:
        raise OptionError(option, value, "give an IPv4 or IPv6 address or CIDR without host bits") from None
    family = model.AF_INET if network.version == 4 else model.AF_INET6
    return family, int(network.network_address), int(network.netmask)
