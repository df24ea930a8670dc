# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What this kernel's ctnetlink does, by observation.

Versions prove nothing under backports, and an old kernel ignores a filter without a word (nfnetlink skips unknown attributes). So
a few entries are made in a throw-away namespace and the filters are tried on them; where no namespace may be made, the live table
is read. facts: zone filter since 6.8; a kernel with the zone filter but without its fix takes zone 0 for "every zone"; the tuple
filter compares IPv6 the wrong way round from 5.8 to 7.3.
"""

from __future__ import annotations

import collections
import dataclasses
import errno
import typing as t

from .._netlink import namespace
from .._netlink.channel import Channel, read_list
from .._netlink.errors import NO_ZONES, NetstateError
from . import messages, table, wire
from .sieve import Kind, Sieve

EXACT, ZONE_ZERO_UNSAFE, IGNORED, UNSUPPORTED, UNKNOWN = (
    "exact",
    "zone_zero_unsafe",
    "ignored",
    "unsupported",
    "unknown",
)
ZONE_MEANINGS = {errno.EOPNOTSUPP: NO_ZONES}

_TCP = wire.PROTOCOLS["tcp"]
_SAMPLE = 1000  # entries of other zones, to see whether one of them stays
_SECONDS = 60  # of life for an entry made here; the namespace is gone long before
_ASSURED = wire.STATUS_BITS["SEEN_REPLY"] | wire.STATUS_BITS["ASSURED"] | wire.STATUS_BITS["CONFIRMED"]


@dataclasses.dataclass(frozen=True)
class Observed:
    """Capabilities and the observations behind them; ``None`` where nothing was observed.

    :ivar source: ``throwaway_namespace``, ``live_table`` or ``none``
    :ivar zones: whether zones are built in
    :ivar zone_filter: what a dump or flush by zone does, one of the constants of this file
    :ivar status_filter: whether a dump can be limited by status
    :ivar tuple_filter_ipv6: ``right``, ``inverted``, ``ignored`` or ``unsupported``
    :ivar labels: whether labels are built in
    :ivar evidence: capability to the observation in one sentence
    """

    source: str
    zones: bool | None = None
    zone_filter: str = UNKNOWN
    status_filter: bool | None = None
    tuple_filter_ipv6: str | None = None
    labels: bool | None = None
    evidence: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


def observe() -> Observed:
    """Observes in a throw-away namespace if one may be made, else on the live table.

    Conntrack must be there already (see ``presence``), else the kernel would load it.
    """
    try:
        return namespace.run_in_new(_in_throwaway)
    except NetstateError as error:
        return _on_live_table(str(error))


def has_zones(channel: Channel) -> bool | None:
    """Whether zones are built in, asked without reading or changing anything; ``None`` if the answer is a strange one."""
    refusal = _try(channel, messages.zone_question())
    return {"EOPNOTSUPP": False, "EINVAL": True}.get(refusal or "")


def require_zones(channel: Channel) -> None:
    """:raises NetstateError: ``no_zones`` on a kernel without them"""
    if has_zones(channel) is False:
        raise NetstateError("selecting by zone", errno.EOPNOTSUPP, NO_ZONES)


def zone_filter_in_throwaway() -> tuple[str, str]:
    """What a flush by zone does, zone 0 included, and the observation.

    :raises NetstateError: where no namespace may be made
    """

    def trial() -> tuple[str, str]:
        with Channel.open() as channel:
            for zone in (0, 1, 2):
                channel.ask("trial entry", _entry(zone, zone=zone or None), ZONE_MEANINGS)
            return _flush_trial(channel)

    return namespace.run_in_new(trial)


def judge_flush(after_one: frozenset[int], after_zero: frozenset[int]) -> tuple[str, str]:
    """What two flushes of a table with one entry in each of the zones 0, 1 and 2 tell.

    :param after_one: zones that still held their entry after a flush of zone 1
    :param after_zero: and after a flush of zone 0 on top
    """
    seen = f"flushing zone 1 of zones 0, 1, 2 left {_shown(after_one)}; flushing zone 0 then left {_shown(after_zero)}"
    if after_one == {0, 2}:
        if after_zero == {2}:
            return EXACT, seen
        return (ZONE_ZERO_UNSAFE if not after_zero else UNKNOWN), seen
    return (IGNORED if not after_one else UNKNOWN), seen


def judge_dump(zone: int, counts: t.Mapping[Kind, int], others_stayed: bool = False) -> tuple[str, str]:
    """What the answer to a dump by one zone, and nothing else, tells of the zone filter.

    :param counts: entries by kind
    :param others_stayed: whether entries of other zones were seen in the table both before and after the dump
    """
    unflagged = sum(count for kind, count in counts.items() if not kind.filtered)
    foreign = sum(count for kind, count in counts.items() if kind.filtered and kind.zone != zone)
    members = sum(counts.values()) - unflagged - foreign
    asked = f"a dump by zone {zone} alone"
    if unflagged:
        return IGNORED, f"{asked} returned {unflagged} entries without NLM_F_DUMP_FILTERED"
    if foreign:
        return ZONE_ZERO_UNSAFE if zone == 0 else UNKNOWN, f"{asked} returned {foreign} entries of other zones"
    seen = f"{asked} returned {members} entries, all flagged NLM_F_DUMP_FILTERED and of that zone"
    if members and zone:
        return EXACT, seen
    if others_stayed:
        return EXACT, f"{seen}, while entries of other zones were there before and after"
    if not members:
        return UNKNOWN, f"{asked} returned nothing, which any kernel may do"
    return UNKNOWN, f"{seen}; whether zone 0 means every zone to this kernel shows in a throw-away namespace only"


def kinds_of(message: bytes, meanings: t.Mapping[int, t.Any] | None = None) -> dict[Kind, int]:
    """Dumps and counts the entries by kind."""
    totals: dict[Kind, list[int]] = collections.defaultdict(lambda: [0])

    def collector() -> t.Callable[[bytes], None]:
        totals.clear()
        cell = Sieve(lambda kind, _message, _layout: totals[kind]).cell

        def visit(entry: bytes) -> None:
            cell(entry)[0] += 1

        return visit

    table.walk(message, collector, meanings)
    return {kind: count for kind, (count,) in totals.items()}


def _shown(zones: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(zones))) or "nothing"


def _entry(number: int, version: int = 4, **attributes: t.Any) -> bytes:
    """A trial entry; the number makes it distinct. Documentation addresses, never on a wire."""
    return messages.insert(*_tuples(number, version), timeout=_SECONDS, **attributes)


def _tuples(number: int, version: int) -> tuple[int, list[t.Any], list[t.Any]]:
    source, destination = _source(number, version), _source(200, version)
    family = wire.AF_INET if version == 4 else wire.AF_INET6
    ports = (10000 + number, 443)
    return (
        family,
        messages.tuple_of(source, destination, _TCP, src_port=ports[0], dst_port=ports[1]),
        messages.tuple_of(destination, source, _TCP, src_port=ports[1], dst_port=ports[0]),
    )


def _source(number: int, version: int) -> bytes:
    prefix = bytes([192, 0, 2]) if version == 4 else bytes.fromhex("20010db8") + bytes(11)
    return prefix + bytes([number])


def _zones_left(channel: Channel) -> frozenset[int]:
    """Which of the trial entries of the zones 0, 1 and 2 are there. Looked up one by one: a dump walks the buckets of the whole machine."""
    return frozenset(zone for zone in (0, 1, 2) if _is_there(channel, zone))


def _is_there(channel: Channel, zone: int) -> bool:
    family, original, _reply = _tuples(zone, 4)
    try:
        return bool(channel.ask("lookup of a trial entry", messages.lookup(family, original, zone or None)))
    except NetstateError as error:
        if error.number == errno.ENOENT:
            return False
        raise


def _flush_trial(channel: Channel) -> tuple[str, str]:
    channel.ask("trial flush of zone 1", messages.flush_zone(1))
    after_one = _zones_left(channel)
    channel.ask("trial flush of zone 0", messages.flush_zone(0))
    return judge_flush(after_one, _zones_left(channel))


def _in_throwaway() -> Observed:
    evidence: dict[str, str] = {}
    with Channel.open() as channel:
        channel.ask("trial entry", _entry(0))
        zones = _try_zones(channel, evidence)
        labels = _try_labels(channel, evidence)
        status_filter = _try_status(channel, evidence)
        tuple_filter = _try_tuple_filter(channel, evidence)
        zone_filter = UNSUPPORTED if zones is False else UNKNOWN
        if zones:
            zone_filter, evidence["zone_filter"] = _flush_trial(channel)
    return Observed("throwaway_namespace", zones, zone_filter, status_filter, tuple_filter, labels, evidence)


def _try(channel: Channel, message: bytes) -> str | None:
    """The errno name of a refusal, ``None`` for none."""
    try:
        channel.ask("trial", message)
    except NetstateError as error:
        return error.code
    return None


def _answer(refusal: str | None) -> str:
    return f"refused with {refusal}" if refusal else "accepted"


def _try_zones(channel: Channel, evidence: dict[str, str]) -> bool | None:
    refusals = [_try(channel, _entry(zone, zone=zone)) for zone in (1, 2)]
    evidence["zones"] = f"an entry of zone 1 was {_answer(refusals[0])}"
    if refusals[0] == "EOPNOTSUPP":
        evidence["zone_filter"] = evidence["zones"]
        return False
    return None if any(refusals) else True


def _try_labels(channel: Channel, evidence: dict[str, str]) -> bool:
    # ENOSPC: built in, but no rule of this namespace uses labels, so entries have no room for them.
    refusal = _try(channel, messages.update(*_tuples(0, 4), labels=bytes(16)))
    evidence["labels"] = f"labels for an entry were {_answer(refusal)}"
    return refusal != "EOPNOTSUPP"


def _try_status(channel: Channel, evidence: dict[str, str]) -> bool | None:
    if _try(channel, _entry(3, status=_ASSURED)):
        return None
    counts = kinds_of(messages.dump(wire.AF_INET, status=wire.STATUS_BITS["ASSURED"]))
    others = sum(count for kind, count in counts.items() if not kind.status & wire.STATUS_BITS["ASSURED"])
    evidence["status_filter"] = f"a dump by status ASSURED returned {sum(counts.values())} entries, {others} without it"
    return not others


def _try_tuple_filter(channel: Channel, evidence: dict[str, str]) -> str | None:
    if any(_try(channel, _entry(number, version=6)) for number in (4, 5)):
        return None
    request = messages.dump(wire.AF_INET6, source=_source(4, 6))
    try:
        found = read_list("trial dump", request)
    except NetstateError as error:
        evidence["tuple_filter_ipv6"] = f"a dump by one of two IPv6 sources was refused with {error.code}"
        return UNSUPPORTED
    sources = [_source_number(message) for message in found]
    verdicts = {(4,): "right", (5,): "inverted", (4, 5): IGNORED}
    names = {4: "that one", 5: "the other one"}
    shown = " and ".join(names.get(number, "another") for number in sorted(sources)) or "nothing"
    evidence["tuple_filter_ipv6"] = f"a dump by one of two IPv6 sources returned {shown}"
    return verdicts.get(tuple(sorted(sources)))


def _source_number(message: bytes) -> int:
    start, end = wire.locate(message)[(wire.TUPLE_ORIG, wire.TUPLE_IP, wire.V6_SRC)]
    return message[start:end][-1]


def _on_live_table(why: str) -> Observed:
    evidence = {}
    try:
        with Channel.open() as channel:
            zones = has_zones(channel)
        if zones is False:
            evidence["zones"] = evidence["zone_filter"] = "a lookup by zone was refused with EOPNOTSUPP"
            return Observed("live_table", zones=False, zone_filter=UNSUPPORTED, evidence=evidence)
        others = _outside_zone_zero()
        counts = kinds_of(messages.dump(zone=0), ZONE_MEANINGS)
        zone_filter, seen = judge_dump(0, counts, bool(others and _outside_zone_zero(others)))
    except NetstateError as error:
        return Observed("none", evidence={"zone_filter": f"{why}; {error}"})
    evidence["zone_filter"] = f"{why}; {seen}"
    evidence["zones"] = "a lookup by zone was taken for one without a tuple (EINVAL)"
    for name in ("status_filter", "tuple_filter_ipv6", "labels"):
        evidence[name] = f"{why}; it shows in a throw-away namespace only"
    return Observed("live_table", zones=zones, zone_filter=zone_filter, evidence=evidence)


def _outside_zone_zero(known: t.Collection[bytes] | None = None) -> set[bytes]:
    """Identities of some entries of other zones; of those ``known``, all that are there."""
    found: set[bytes] = set()

    def collector() -> t.Callable[[bytes], None]:
        found.clear()
        cell = Sieve(lambda kind, _message, layout: messages.identity_cut(layout) if kind.zone else ()).cell

        def visit(message: bytes) -> None:
            cut = cell(message)
            if cut and (known is not None or len(found) < _SAMPLE):
                identity = messages.identity(message, cut)
                if known is None or identity in known:
                    found.add(identity)

        return visit

    table.walk(messages.dump(), collector)
    return found
