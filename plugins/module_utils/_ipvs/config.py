# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The option ``config``: from a list of dictionaries to values and back, with every rule that can be checked without a kernel. Pure.

What the kernel does not check is checked here: it takes any protocol number, forwarding method and tunnel type.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import typing as t
from collections import abc

from .._netlink.errors import OptionError
from . import model
from .model import Destination, DestinationKey, Held, Key, Service, Table, Tunnel

_NAME = re.compile(r"[a-z0-9_-]{1,15}")  # IP_VS_SCHEDNAME_MAXLEN and IP_VS_PENAME_MAXLEN are 16 with the closing zero
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")

SERVICE_OPTIONS = frozenset(["protocol", "address", "port", "fwmark", "family", "scheduler", "scheduler_flags", "persistence", "one_packet", "destinations"])
DESTINATION_OPTIONS = frozenset(["address", "port", "forward", "weight", "upper_threshold", "lower_threshold", "tunnel"])
PERSISTENCE_OPTIONS = frozenset(["timeout", "netmask", "engine"])
TUNNEL_OPTIONS = frozenset(["type", "port", "checksum"])


@dataclasses.dataclass(frozen=True)
class WantedDestination:
    """A destination as a task names it.

    :ivar place: for errors, ``config[0].destinations[1]``
    :ivar given: option to value, what was left out is not there
    """

    place: str
    given: t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A service as a task names it.

    :ivar place: for errors, ``config[0]``
    :ivar given: option to value, what was left out is not there
    :ivar destinations: ``None`` where the option was left out, which is not the same as an empty list
    """

    place: str
    key: Key
    given: t.Mapping[str, t.Any]
    destinations: t.Mapping[DestinationKey, WantedDestination] | None


def parse(config: t.Sequence[t.Any], option: str = "config") -> list[Wanted]:
    """Reads the list; each service in the order given.

    :raises OptionError: naming option and value
    """
    wanted: dict[Key, Wanted] = {}
    for number, value in enumerate(config):
        service = _wanted(f"{option}[{number}]", value)
        if service.key in wanted:
            raise OptionError(service.place, str(service.key), f"named twice, in {wanted[service.key].place} as well")
        wanted[service.key] = service
    return list(wanted.values())


def table(wanted: t.Iterable[Wanted]) -> Table:
    """What the services are when nothing is there yet: what was left out takes its default.

    :raises OptionError: for values that do not go together
    """
    return {one.key: settle(one, None) for one in wanted}


def as_config(held: t.Mapping[Key, Held]) -> list[dict[str, t.Any]]:
    """A table as the option has it, sorted, everything said. Read back by :func:`parse` it gives the same table."""
    return [_service_config(key, one) for key, one in model.sorted_table(held)]


def identity(key: Key) -> dict[str, t.Any]:
    """The options that identify a service."""
    if key.fwmark:
        return {"fwmark": key.fwmark, "family": model.FAMILY_NAMES[key.family]}
    return {
        "protocol": model.protocol_name(key.protocol),
        "address": model.address_text(key.family, key.address),
        "port": key.port,
    }


def destination_config(key: DestinationKey, one: Destination) -> dict[str, t.Any]:
    """One destination as the option has it."""
    config: dict[str, t.Any] = {
        "address": model.address_text(key.family, key.address),
        "port": key.port,
        "forward": model.FORWARDS[one.forward] if one.forward < len(model.FORWARDS) else str(one.forward),
        "weight": one.weight,
        "upper_threshold": one.upper,
        "lower_threshold": one.lower,
    }
    if one.forward == model.TUNNEL:
        config["tunnel"] = tunnel_config(one.tunnel)
    return config


def tunnel_config(tunnel: Tunnel) -> dict[str, t.Any]:
    names = model.TUNNEL_TYPES
    config: dict[str, t.Any] = {"type": names[tunnel.type] if tunnel.type < len(names) else str(tunnel.type)}
    if tunnel.port:
        config["port"] = tunnel.port
    config["checksum"] = model.CHECKSUMS[tunnel.flags] if tunnel.flags < len(model.CHECKSUMS) else str(tunnel.flags)
    return config


def settle(wanted: Wanted, held: Held | None) -> Held:
    """What the service and the destinations that are named shall be; see :func:`settle_service`.

    :raises OptionError: for values that do not go together
    """
    service = settle_service(wanted, held.service if held else None)
    there: t.Mapping[DestinationKey, Destination] = held.destinations if held else {}
    named = (wanted.destinations or {}).items()
    return Held(service, {key: settle_destination(wanted.key, key, one, there.get(key)) for key, one in named})


def settle_service(wanted: Wanted, held: Service | None) -> Service:
    """What the service shall be: what was given, for the rest what it is, or else the defaults.

    :raises OptionError: for values that do not go together
    """
    family, given = wanted.key.family, wanted.given
    base = held or model.service_of(family, model.SCHEDULER, 0, 0, 0)
    scheduler = given.get("scheduler", base.scheduler)
    flags = base.flags if scheduler == base.scheduler else 0  # a flag means another thing to each scheduler
    if "scheduler_flags" in given:
        flags = _flags(wanted.place, scheduler, given["scheduler_flags"])
    timeout, netmask, engine = base.timeout, base.netmask, base.engine
    if "persistence" in given:
        persistence = given["persistence"]
        timeout = persistence.get("timeout", timeout or model.PERSISTENCE_SECONDS)
        netmask = persistence.get("netmask", netmask)
        engine = persistence.get("engine", engine)
    settled = model.service_of(family, scheduler, flags, timeout, netmask, engine, given.get("one_packet", base.one_packet))
    _check_service(wanted, settled)
    return settled


def settle_destination(service: Key, key: DestinationKey, wanted: WantedDestination, held: Destination | None) -> Destination:
    """As :func:`settle_service`, for a destination.

    :raises OptionError: for values that do not go together
    """
    given = wanted.given
    base = held or model.destination_of(model.DIRECT, 1)
    forward = given.get("forward", base.forward)
    tunnel = base.tunnel
    if "tunnel" in given:
        if forward != model.TUNNEL:
            why = f"it goes with forward: tunnel, not {model.FORWARDS[forward]}"
            raise OptionError(wanted.place + ".tunnel", dict(given["tunnel"]), why)
        of_other_type = given["tunnel"].get("type", tunnel.type) != tunnel.type
        tunnel = (model.PLAIN_TUNNEL if of_other_type else tunnel)._replace(**given["tunnel"])
    settled = model.destination_of(
        forward,
        given.get("weight", base.weight),
        given.get("upper", base.upper),
        given.get("lower", base.lower),
        tunnel,
    )
    _check_destination(service, key, wanted.place, settled)
    return settled


def number_of(option: str, value: object, least: int, most: int) -> int:
    """A whole number, decimal or hexadecimal, from either a number or its text.

    :raises OptionError: for anything else, or out of range
    """
    # A truth value is an int too, and so are subclasses of strange sorts.
    if type(value) is int and least <= value <= most:  # pylint: disable=unidiomatic-typecheck
        return value
    text = str(value).strip()
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        raise OptionError(option, value, f"give a whole number from {least} to {most}")
    number = int(text, 16 if text[:2].lower() == "0x" else 10)
    if not least <= number <= most:
        raise OptionError(option, value, f"out of range: {least} to {most}")
    return number


def _wanted(place: str, value: t.Any) -> Wanted:
    given = _dictionary(place, value, SERVICE_OPTIONS)
    key = _key(place, given)
    options: dict[str, t.Any] = {}
    if "scheduler" in given:
        options["scheduler"] = _name(place + ".scheduler", given["scheduler"])
    if "scheduler_flags" in given:
        options["scheduler_flags"] = [str(name) for name in _list(place + ".scheduler_flags", given["scheduler_flags"])]
    if "persistence" in given:
        options["persistence"] = _persistence(place + ".persistence", key.family, given["persistence"])
    if "one_packet" in given:
        options["one_packet"] = _boolean(place + ".one_packet", given["one_packet"])
    destinations = None
    if "destinations" in given:
        destinations = _destinations(place + ".destinations", key, given["destinations"])
    return Wanted(place, key, options, destinations)


def _key(place: str, given: t.Mapping[str, t.Any]) -> Key:
    if "fwmark" in given:
        for option in ("protocol", "address", "port"):
            if option in given:
                raise OptionError(f"{place}.{option}", given[option], "a service has either a fwmark or an address")
        mark = number_of(place + ".fwmark", given["fwmark"], 1, 0xFFFFFFFF)
        family = str(given.get("family", "ipv4"))
        if family not in model.FAMILIES:
            raise OptionError(place + ".family", family, "give ipv4 or ipv6")
        return Key(model.FAMILIES[family], fwmark=mark)
    for option in ("protocol", "address", "port"):
        if option not in given:
            raise OptionError(f"{place}.{option}", None, "a service is named by protocol, address and port, or by fwmark")
    protocol = str(given["protocol"]).lower()
    if protocol not in model.PROTOCOLS:
        raise OptionError(place + ".protocol", given["protocol"], "give one of {}".format(", ".join(model.PROTOCOLS)))
    family, address = _address(place + ".address", given["address"])
    if "family" in given and model.FAMILIES.get(str(given["family"])) != family:
        raise OptionError(place + ".family", given["family"], "address {} is of the other one".format(given["address"]))
    port = number_of(place + ".port", given["port"], 0, 0xFFFF)
    return Key(family, model.PROTOCOLS[protocol], address, port)


def _destinations(place: str, service: Key, values: t.Any) -> dict[DestinationKey, WantedDestination]:
    found: dict[DestinationKey, WantedDestination] = {}
    for number, value in enumerate(_list(place, values)):
        here = f"{place}[{number}]"
        given = _dictionary(here, value, DESTINATION_OPTIONS)
        if "address" not in given:
            raise OptionError(here + ".address", None, "a destination needs one")
        family, address = _address(here + ".address", given["address"])
        # By its bytes: a table has addresses by the ten thousand.
        if not any(address) or address[0] in model.MULTICAST[family] or address == b"\xff\xff\xff\xff":
            raise OptionError(here + ".address", given["address"], "a destination needs the address of one host")
        port = number_of(here + ".port", given["port"], 0, 0xFFFF) if "port" in given else service.port
        key = DestinationKey(family, address, port)
        if key in found:
            raise OptionError(here, str(key), f"named twice, in {found[key].place} as well")
        found[key] = WantedDestination(here, _destination_options(here, given))
    return found


def _destination_options(place: str, given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    options: dict[str, t.Any] = {}
    if "forward" in given:
        if given["forward"] not in model.CHOSEN_FORWARDS:
            raise OptionError(place + ".forward", given["forward"], "give one of {}".format(", ".join(model.CHOSEN_FORWARDS)))
        options["forward"] = model.FORWARDS.index(given["forward"])
    for option, short in (("weight", "weight"), ("upper_threshold", "upper"), ("lower_threshold", "lower")):
        if option in given:
            options[short] = number_of(f"{place}.{option}", given[option], 0, model.LARGEST)
    if "tunnel" in given:
        options["tunnel"] = _tunnel(place + ".tunnel", given["tunnel"])
    return options


def _tunnel(place: str, value: t.Any) -> dict[str, int]:
    given = _dictionary(place, value, TUNNEL_OPTIONS)
    options = {}
    for option, short, names in (("type", "type", model.TUNNEL_TYPES), ("checksum", "flags", model.CHECKSUMS)):
        if option in given:
            if given[option] not in names:
                raise OptionError(f"{place}.{option}", given[option], "give one of {}".format(", ".join(names)))
            options[short] = names.index(given[option])
    if "port" in given:
        options["port"] = number_of(place + ".port", given["port"], 1, 0xFFFF)
    return options


def _persistence(place: str, family: int, value: t.Any) -> dict[str, t.Any]:
    given = _dictionary(place, value, PERSISTENCE_OPTIONS)
    options: dict[str, t.Any] = {}
    if "timeout" in given:
        options["timeout"] = number_of(place + ".timeout", given["timeout"], 0, model.PERSISTENCE_MOST)
    if "netmask" in given:
        options["netmask"] = netmask_of(place + ".netmask", family, given["netmask"])
    if "engine" in given:
        engine = str(given["engine"])
        options["engine"] = _name(place + ".engine", engine) if engine else ""
    return options


def netmask_of(option: str, family: int, value: object) -> int:
    """The netmask of persistence, from ``255.255.255.0`` or a prefix length.

    :raises OptionError: for anything else, and for a mask of nothing
    """
    text = str(value).strip().lstrip("/")
    if family == model.AF_INET6:
        return number_of(option, text, 1, 128)
    if "." in text:
        try:
            number = int(ipaddress.IPv4Address(text))
        except ValueError:
            raise OptionError(option, value, "give a mask such as 255.255.255.0, or a prefix length") from None
        if not number:
            raise OptionError(option, value, "an empty mask would make all clients one")
        return number
    length = number_of(option, text, 1, 32)
    return (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF


def _flags(place: str, scheduler: str, names: t.Sequence[str]) -> int:
    bits = 0
    for name in names:
        try:
            bits |= model.flag_bit(scheduler, name)
        except ValueError:
            known = ", ".join(model.known_flags(scheduler))
            raise OptionError(place + ".scheduler_flags", name, f"scheduler {scheduler} has {known}") from None
    return bits


def _check_service(wanted: Wanted, service: Service) -> None:
    key, place = wanted.key, wanted.place
    if not key.fwmark and not key.port and not service.timeout:
        raise OptionError(place + ".port", 0, "port 0 stands for every port, and needs persistence")
    if service.one_packet and not key.fwmark and key.protocol != model.UDP:
        protocol = model.protocol_name(key.protocol)
        raise OptionError(place + ".one_packet", True, f"it is for udp and for fwmark, not for {protocol}")


def _check_destination(service: Key, key: DestinationKey, place: str, one: Destination) -> None:
    if key.family != service.family and one.forward != model.TUNNEL:
        text = model.address_text(key.family, key.address)
        why = f"the service is {model.FAMILY_NAMES[service.family]}: only forward: tunnel leads to the other family"
        raise OptionError(place + ".address", text, why)
    if one.lower > one.upper:
        why = f"above upper_threshold, which is {one.upper}" if one.upper else "it needs an upper_threshold"
        raise OptionError(place + ".lower_threshold", one.lower, why)
    tunnel, at = one.tunnel, place + ".tunnel"
    if tunnel.type == model.GUE and not tunnel.port:
        raise OptionError(at, tunnel_config(tunnel), "type gue needs a port")
    if tunnel.type != model.GUE and tunnel.port:
        raise OptionError(at + ".port", tunnel.port, "only type gue has one")
    known = {model.IPIP: 1, model.GRE: 2}.get(tunnel.type, len(model.CHECKSUMS))
    if tunnel.flags >= known:
        value, names = tunnel_config(tunnel), ", ".join(model.CHECKSUMS[:known])
        raise OptionError(at + ".checksum", value["checksum"], "type {} has {}".format(value["type"], names))


def _service_config(key: Key, held: Held) -> dict[str, t.Any]:
    service = held.service
    config = identity(key)
    config.update(
        scheduler=service.scheduler,
        scheduler_flags=model.flag_names(service.scheduler, service.flags),
        one_packet=service.one_packet,
        destinations=[destination_config(*item) for item in sorted(held.destinations.items())],
    )
    if service.timeout or service.engine:
        persistence: dict[str, t.Any] = {"timeout": service.timeout}
        if service.timeout:
            persistence["netmask"] = model.netmask_text(key.family, service.netmask)
        if service.engine:
            persistence["engine"] = service.engine
        config["persistence"] = persistence
    return config


def _dictionary(place: str, value: t.Any, known: t.Collection[str]) -> dict[str, t.Any]:
    """What was given of a dictionary; ``None`` is the same as left out."""
    if not isinstance(value, abc.Mapping):
        raise OptionError(place, value, "give a dictionary of {}".format(", ".join(sorted(known))))
    for name in value:
        if name not in known:
            raise OptionError(f"{place}.{name}", value[name], "no such option; there are {}".format(", ".join(sorted(known))))
    return {name: one for name, one in value.items() if one is not None}


def _list(place: str, value: t.Any) -> t.Sequence[t.Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, abc.Sequence):
        raise OptionError(place, value, "give a list")
    return value


def _boolean(place: str, value: t.Any) -> bool:
    if isinstance(value, bool):
        return value
    raise OptionError(place, value, "give true or false")


def _name(place: str, value: object) -> str:
    text = str(value)
    if not _NAME.fullmatch(text):
        raise OptionError(place, value, "give a name of at most 15 lower-case letters, digits, - and _")
    return text


def _address(place: str, value: object) -> tuple[int, bytes]:
    text = str(value).strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        family, address = model.packed(text)
    except ValueError:
        raise OptionError(place, value, "give an IPv4 or IPv6 address") from None
    return family, address
