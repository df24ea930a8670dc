# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which entries are meant: options to a frozen :class:`Selector`, and the selector's judgement of an entry. Pure.

Within an option the values are alternatives, except ``status`` and ``labels``, whose values are bits that an entry must all
have. Options narrow each other. Option and kernel names are those of conntrack(8) and of the kernel.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import typing as t

from .._netlink.errors import OptionError
from . import wire
from .sieve import Kind

ZONES = 1 << 16
PORTS = 1 << 16
LABELS = 128

OPTIONS = frozenset(
    (
        "zones", "family", "protocols", "source", "destination", "reply_source", "reply_destination",
        "source_ports", "destination_ports", "reply_source_ports", "reply_destination_ports",
        "mark", "status", "tcp_states", "labels",
    )  # fmt: skip
)

_FAMILIES = {"any": wire.AF_UNSPEC, "ipv4": wire.AF_INET, "ipv6": wire.AF_INET6}
# Bounded, since Python refuses to read numbers of thousands of digits.
_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|\d{1,20}", re.ASCII)

_ADDRESS_PATHS = {
    "source": ((wire.TUPLE_ORIG, wire.TUPLE_IP, wire.V4_SRC), (wire.TUPLE_ORIG, wire.TUPLE_IP, wire.V6_SRC)),
    "destination": ((wire.TUPLE_ORIG, wire.TUPLE_IP, wire.V4_DST), (wire.TUPLE_ORIG, wire.TUPLE_IP, wire.V6_DST)),
    "reply_source": ((wire.TUPLE_REPLY, wire.TUPLE_IP, wire.V4_SRC), (wire.TUPLE_REPLY, wire.TUPLE_IP, wire.V6_SRC)),
    "reply_destination": (
        (wire.TUPLE_REPLY, wire.TUPLE_IP, wire.V4_DST),
        (wire.TUPLE_REPLY, wire.TUPLE_IP, wire.V6_DST),
    ),
}
_PORT_PATHS = {
    "source_ports": (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.SRC_PORT),
    "destination_ports": (wire.TUPLE_ORIG, wire.TUPLE_PROTO, wire.DST_PORT),
    "reply_source_ports": (wire.TUPLE_REPLY, wire.TUPLE_PROTO, wire.SRC_PORT),
    "reply_destination_ports": (wire.TUPLE_REPLY, wire.TUPLE_PROTO, wire.DST_PORT),
}


@dataclasses.dataclass(frozen=True)
class Addresses:
    """Networks that one address of an entry must, and must not, lie in: family and mask to network numbers."""

    wanted: t.Mapping[tuple[int, int], frozenset[int]]
    unwanted: t.Mapping[tuple[int, int], frozenset[int]]

    def match(self, family: int, address: bytes) -> bool:
        number = int.from_bytes(address, "big")
        if self.wanted and not _within(self.wanted, family, number):
            return False
        return not _within(self.unwanted, family, number)


@dataclasses.dataclass(frozen=True)
class Selector:
    """A conjunction; ``None`` (or an empty collection) leaves a property open.

    :ivar zones: zone ids
    :ivar zones_named: those that were named one by one, for a result row each even if empty
    :ivar family: an address family, ``AF_UNSPEC`` for both
    :ivar addresses: option name and condition
    :ivar ports: option name and port numbers
    :ivar mark: value and mask
    :ivar status: bits that must be set, bits that must not
    :ivar labels: label bits that must be set
    :ivar unknown_state: whether a TCP entry that shows no state, being offloaded, may be in any of the states
    """

    zones: frozenset[int] | None = None
    zones_named: frozenset[int] = frozenset()
    family: int = wire.AF_UNSPEC
    protocols: frozenset[int] | None = None
    addresses: tuple[tuple[str, Addresses], ...] = ()
    ports: tuple[tuple[str, frozenset[int]], ...] = ()
    mark: tuple[int, int] | None = None
    status: tuple[int, int] = (0, 0)
    tcp_states: frozenset[int] | None = None
    labels: int = 0
    unknown_state: bool = False

    def narrows(self) -> bool:
        """Whether anything but zones is named: then entries go one by one."""
        return dataclasses.replace(self, zones=None, zones_named=frozenset(), unknown_state=False) != Selector()

    def selects_all(self) -> bool:
        """Whether every entry that a table can hold is meant."""
        return (self.zones is None or len(self.zones) == ZONES) and not self.narrows()

    def looks_at(self) -> list[wire.Path]:
        """Attributes that a sieve must tell apart for :meth:`admits`, besides what it always does."""
        paths: list[wire.Path] = []
        if self.mark:
            paths.append((wire.MARK,))
        if self.labels:
            paths.append((wire.LABELS,))
        return paths

    def admits(self, kind: Kind) -> bool:
        """The part of the judgement that a whole sort of entries shares."""
        return (
            (self.zones is None or kind.zone in self.zones)
            and self.family in (wire.AF_UNSPEC, kind.family)
            and (self.protocols is None or kind.protocol in self.protocols)
            and kind.status & self.status[0] == self.status[0]
            and not kind.status & self.status[1]
            and self._admits_state(kind)
            and (self.mark is None or (kind.mark or 0) & self.mark[1] == self.mark[0])
            and (kind.labels or 0) & self.labels == self.labels
        )

    def _admits_state(self, kind: Kind) -> bool:
        if self.tcp_states is None or kind.tcp_state in self.tcp_states:
            return True
        return self.unknown_state and kind.tcp_state is None and kind.protocol == wire.PROTOCOLS["tcp"]

    def is_fine(self) -> bool:
        """Whether entries of one sort still have to be told apart, by :meth:`matches`."""
        return bool(self.addresses or self.ports)

    def matches(self, message: bytes, layout: wire.Layout) -> bool:
        """The part of the judgement that needs the entry itself: addresses and ports."""
        family = message[wire.FAMILY_AT]
        for option, condition in self.addresses:
            place = layout.get(_ADDRESS_PATHS[option][family == wire.AF_INET6])
            if place is None or not condition.match(family, message[place[0] : place[1]]):
                return False
        return all(wire.number(message, layout, _PORT_PATHS[option]) in ports for option, ports in self.ports)


@dataclasses.dataclass(frozen=True)
class Selection:
    """What a task asked for: entries that ``wanted`` selects, without those that ``kept`` selects.

    :ivar whole: the task said ``all: true``
    """

    wanted: Selector
    kept: Selector | None = None
    whole: bool = False

    def is_plain(self) -> bool:
        """Whether whole zones, or the whole table, are meant, so that a flush by the kernel could do it."""
        return self.kept is None and not self.wanted.narrows()

    def looks_at(self) -> set[wire.Path]:
        return set(self.wanted.looks_at()) | set(self.kept.looks_at() if self.kept else [])

    def verdict(self, kind: Kind) -> bool | None:
        """Whether entries of this sort are selected; ``None`` when that needs :meth:`matches` on each."""
        if not self.wanted.admits(kind):
            return False
        keeps = self.kept is not None and self.kept.admits(kind)
        if keeps and self.kept is not None and not self.kept.is_fine():
            return False
        return None if keeps or self.wanted.is_fine() else True

    def matches(self, kind: Kind, message: bytes, layout: wire.Layout) -> bool:
        """The judgement of one entry whose sort has no verdict of its own."""
        if not self.wanted.matches(message, layout):
            return False
        return self.kept is None or not (self.kept.admits(kind) and self.kept.matches(message, layout))


def parse_query(options: t.Mapping[str, t.Any]) -> Selection:
    """Reads the selector options and ``exclude``; nothing given selects everything, as reading does no harm.

    :raises OptionError: naming the option and the value
    """
    wanted = parse(_given(options))
    excluded = options.get("exclude")
    if excluded is None:
        return Selection(wanted)
    given = _given(excluded)
    # An offloaded connection may be in any state: what is in doubt is kept.
    kept = dataclasses.replace(parse(given, "exclude."), unknown_state=True)
    if not kept.narrows() and kept.zones is None:
        given = {name: value for name, value in given.items() if name != "family"}  # "any", as by default
        raise OptionError("exclude", given, "it names nothing to keep; leave it out to keep nothing")
    return Selection(wanted, kept)


def _given(options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The selector options that have a value; ``zone`` is another name of ``zones``."""
    given = {name: value for name, value in options.items() if name in OPTIONS and value is not None}
    if options.get("zone") is not None:
        given["zones"] = options["zone"]
    return given


def parse_selection(options: t.Mapping[str, t.Any]) -> Selection:
    """As :func:`parse_query`, for what is to be deleted: everything is selected only by ``all: true``, and by that alone.

    :raises OptionError: naming the option and the value
    """
    selection = parse_query(options)
    whole = bool(options.get("all"))
    if whole and not selection.wanted.selects_all():
        raise OptionError("all", True, "it cannot go with options that select less: leave out one or the other")
    if not whole and _without_the_obvious(selection.wanted).selects_all():
        given = _given(options).get("zones")
        if given is not None:
            raise OptionError("zones", given, "that is the whole table; say all: true if it is meant")
        if options.get("status"):
            raise OptionError("status", options["status"], "so is every entry of a table; say all: true if all are meant")
        raise OptionError("all", False, "nothing is selected: name zones or another selector, or say all: true for everything")
    return dataclasses.replace(selection, whole=whole)


def _without_the_obvious(selector: Selector) -> Selector:
    """The same without status bits that every entry of a table has (CONFIRMED), or none has (DYING, TEMPLATE)."""
    wanted, unwanted = selector.status
    never = wire.STATUS_BITS["DYING"] | wire.STATUS_BITS["TEMPLATE"]
    return dataclasses.replace(selector, status=(wanted & ~wire.STATUS_BITS["CONFIRMED"], unwanted & ~never))


def parse(options: t.Mapping[str, t.Any], prefix: str = "") -> Selector:
    """Reads the selector options of a module's parameters.

    :param options: option name to value; missing and ``None`` leave a property open
    :param prefix: put before option names in errors, such as ``"exclude."``
    :raises OptionError: naming the option and the value
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, list) and not value:
            raise OptionError(prefix + name, value, "an empty list selects nothing; leave the option out to select all")
    zones, zones_named = _zones(prefix, given.get("zones"))
    family = _FAMILIES[given.get("family") or "any"]
    protocols = _protocols(prefix, given.get("protocols"))
    return Selector(
        zones=zones,
        zones_named=zones_named,
        family=family,
        protocols=protocols,
        addresses=tuple(
            (name, _addresses(prefix + name, given[name], family)) for name in _ADDRESS_PATHS if name in given
        ),
        ports=tuple((name, _ports(prefix, name, given[name], protocols)) for name in _PORT_PATHS if name in given),
        mark=_mark(prefix + "mark", given["mark"]) if "mark" in given else None,
        status=_status(prefix + "status", given.get("status", [])),
        tcp_states=_tcp_states(prefix + "tcp_states", given.get("tcp_states"), protocols),
        labels=_labels(prefix + "labels", given.get("labels", [])),
    )


def _within(networks: t.Mapping[tuple[int, int], frozenset[int]], family: int, number: int) -> bool:
    return any(at == family and number & mask in known for (at, mask), known in networks.items())


def _zones(prefix: str, values: list[str] | None) -> tuple[frozenset[int] | None, frozenset[int]]:
    if values is None:
        return None, frozenset()
    spans = [_span(prefix + "zones", value, ZONES - 1, "100-199") for value in values]
    named = frozenset(first for first, last in spans if first == last)
    return frozenset(number for first, last in spans for number in range(first, last + 1)), named


def _ports(prefix: str, name: str, values: list[str], protocols: frozenset[int] | None) -> frozenset[int]:
    option = prefix + name
    spans = [_span(option, value, PORTS - 1, "8000-8099") for value in values]
    if protocols is None:
        raise OptionError(option, values, f"ports need protocols that have them: {prefix}protocols: [tcp], say")
    portless = sorted(protocols - wire.PORT_CARRYING)
    if portless:
        protocol = wire.protocol_name(portless[0])
        raise OptionError(option, values, f"protocol {protocol} carries no ports; leave it out of {prefix}protocols")
    return frozenset(number for first, last in spans for number in range(first, last + 1))


def _span(option: str, value: object, most: int, example: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    if not found:
        raise OptionError(option, value, f"give numbers from 0 to {most}, or ranges such as {example}")
    first = int(found.group(1))
    last = int(found.group(2) or first)
    if max(first, last) > most:
        raise OptionError(option, value, f"out of range: 0 to {most}")
    if first > last:
        raise OptionError(option, value, "the range runs backwards")
    return first, last


def _protocols(prefix: str, values: list[str] | None) -> frozenset[int] | None:
    if values is None:
        return None
    numbers = set()
    for value in values:
        text = str(value).strip().lower()
        if text in wire.PROTOCOLS:
            numbers.add(wire.PROTOCOLS[text])
        elif _RANGE.fullmatch(text) and "-" not in text and int(text) < 256:
            numbers.add(int(text))
        else:
            names = ", ".join(sorted(wire.PROTOCOLS))
            raise OptionError(prefix + "protocols", value, f"give a number from 0 to 255, or one of {names}")
    if len(numbers) == 256:
        raise OptionError(prefix + "protocols", values, "that is every protocol: leave it out")
    return frozenset(numbers)


def _addresses(option: str, values: list[str], family: int) -> Addresses:
    sides: tuple[list, list] = ([], [])
    for value in values:
        text = str(value).strip()
        negated = text.startswith("!")
        network = _network(option, value, text[1:].strip() if negated else text)
        at = wire.AF_INET if network.version == 4 else wire.AF_INET6
        if family not in (wire.AF_UNSPEC, at):
            raise OptionError(option, value, f"family: {wire.FAMILY_NAMES[family]} excludes it")
        sides[negated].append(network)
    return Addresses(*(_by_mask(option, values, networks) for networks in sides))


def _by_mask(option: str, values: list[str], networks: list[t.Any]) -> dict[tuple[int, int], frozenset[int]]:
    found: dict[tuple[int, int], set[int]] = {}
    for version, at in ((4, wire.AF_INET), (6, wire.AF_INET6)):
        for network in ipaddress.collapse_addresses(one for one in networks if one.version == version):
            if network.prefixlen == 0:
                raise OptionError(option, values, f"together these are every IPv{version} address: {_EVERY % version}")
            found.setdefault((at, int(network.netmask)), set()).add(int(network.network_address))
    return {key: frozenset(numbers) for key, numbers in found.items()}


_EVERY = "leave it out, or give family: ipv%d"


def _network(option: str, value: object, text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    if "%" in text:
        raise OptionError(option, value, "conntrack keeps no scope; leave the %interface out")
    try:
        network = ipaddress.ip_network(text, strict=False)
        exact = ipaddress.ip_interface(text)
    except ValueError:
        raise OptionError(option, value, "give an IPv4 or IPv6 address or CIDR, '!' in front to negate") from None
    if getattr(exact.ip, "ipv4_mapped", None):
        raise OptionError(option, value, "conntrack keeps IPv4 addresses as such: write the IPv4 address")
    if exact.ip != network.network_address:
        raise OptionError(option, value, f"host bits are set: write {network}, or {exact.ip}")
    if network.prefixlen == 0:
        raise OptionError(option, value, f"that is every address: {_EVERY % network.version}")
    if exact.ip.is_unspecified and network.num_addresses == 1:
        raise OptionError(option, value, "the unspecified address is not 'any': leave the option out to select any")
    return network


def _mark(option: str, value: object) -> tuple[int, int]:
    text = str(value).strip()
    number_text, slash, mask_text = text.partition("/")
    if slash and not number_text:
        raise OptionError(option, value, "a mask without a value: write value/mask")
    numbers = []
    for part in (number_text, mask_text) if slash else (number_text, "0xffffffff"):
        if not _NUMBER.fullmatch(part):
            raise OptionError(option, value, "give value or value/mask, decimal or hexadecimal")
        numbers.append(int(part, 16 if part[:2].lower() == "0x" else 10))
    number, mask = numbers
    if max(numbers) > 0xFFFFFFFF:
        raise OptionError(option, value, "a mark has 32 bits")
    if number & ~mask:
        raise OptionError(option, value, "the value has bits outside the mask, so nothing can match")
    if mask == 0:
        raise OptionError(option, value, "an empty mask matches every mark: leave the option out")
    return number, mask


def _status(option: str, values: list[str]) -> tuple[int, int]:
    bits = [0, 0]
    for value in values:
        text = str(value).strip().upper()
        negated = text.startswith("!")
        name = text[negated:].strip()
        if name not in wire.STATUS_BITS:
            raise OptionError(option, value, f"give names of {', '.join(wire.STATUS_BITS)}, '!' in front to negate")
        bits[negated] |= wire.STATUS_BITS[name]
        if bits[0] & bits[1]:
            raise OptionError(option, value, "asked for both ways, so nothing can match")
    return bits[0], bits[1]


def _tcp_states(option: str, values: list[str] | None, protocols: frozenset[int] | None) -> frozenset[int] | None:
    if values is None:
        return None
    if protocols is not None and wire.PROTOCOLS["tcp"] not in protocols:
        raise OptionError(option, values, "protocols leaves tcp out, so nothing can match")
    numbers = set()
    for value in values:
        name = str(value).strip().upper()
        name = "SYN_SENT2" if name == "LISTEN" else name  # as conntrack(8) calls it
        if name not in wire.TCP_STATES:
            raise OptionError(option, value, f"give names of {', '.join(wire.TCP_STATES)}")
        numbers.add(wire.TCP_STATES.index(name))
    return frozenset(numbers)


def _labels(option: str, values: list[t.Any]) -> int:
    bits = 0
    for value in values:
        text = str(value).strip()
        if isinstance(value, bool) or not text.isdigit() or not text.isascii() or int(text) >= LABELS:
            raise OptionError(option, value, f"give label bits, numbers from 0 to {LABELS - 1}")
        bits |= 1 << int(text)
    return bits
