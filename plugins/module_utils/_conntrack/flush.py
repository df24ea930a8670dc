# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Flushing a selection: never more than it names, with counts of what was seen.

One reading decides (``reading``). Entries go one by one, by their own bytes, which is right on every kernel; a whole zone goes by
one message of the kernel's only where the dump of that very zone proved that the kernel honours the zone filter, and where that is
cheaper.
"""

from __future__ import annotations

import collections
import dataclasses
import errno
import itertools
import typing as t

from .._netlink import namespace
from .._netlink.channel import Channel
from .._netlink.errors import TOO_MANY, UNPROVEN, NetstateError, OptionError, Reason
from . import capability, messages, presence, table, wire
from .reading import BUCKET_COST, PASSED_COST, Reading, read
from .selector import Selection
from .sieve import Kind

AUTO, KERNEL, ENTRIES, NONE = "auto", "kernel", "entries", "none"

# Microseconds for each entry. Only their order of magnitude matters: both ways are right, and the break-even is a flat one.
FLUSHED_COST = 1.8
DELETED_COST = 7.0


@dataclasses.dataclass(frozen=True)
class Order:
    """What a task asks for.

    :ivar method: ``auto``, ``kernel`` or ``entries``
    :ivar most: refuse, touching nothing, when more entries than this would go; ``None`` for no limit
    :ivar recount: count again afterwards
    :ivar check: tell what would happen, change nothing
    :ivar diff: tell the entries by zone and protocol, before and after
    """

    selection: Selection
    method: str = AUTO
    most: int | None = None
    recount: bool = False
    check: bool = False
    diff: bool = False

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 0:
            raise OptionError("max_entries", self.most, "give 0 or more")
        if self.method == KERNEL and not self.selection.is_plain():
            raise OptionError("method", KERNEL, "the kernel flushes whole zones; give zones (or all) and nothing else")


@dataclasses.dataclass
class Tally:
    """What became of the selected entries of one zone."""

    method: str = NONE
    deleted: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)  # by protocol
    gone: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)


class Flush:
    """One job, from reading to result. ``run`` once."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._selection = order.selection
        self._reading = Reading()
        self._tallies: dict[int, Tally] = {}
        self._proof = (capability.UNKNOWN, "nothing was read")
        self._remaining: int | None = None
        self._unavailable: Reason | None = None
        self._failed = False
        self._sending = False
        self._unsure = False

    def run(self) -> dict[str, t.Any]:
        """Does it, in the namespace of the calling thread.

        :returns: the result keys of the module, without ``netns``
        :raises NetstateError: carrying the counts so far
        """
        try:
            self._run()
        except NetstateError as error:
            self._failed = True
            # Without an answer it may have been carried out all the same.
            self._unsure = self._sending and error.number in (errno.ETIMEDOUT, errno.ENOBUFS)
            error.done.update(self.result())
            raise
        return self.result()

    def _run(self) -> None:
        reason = presence.nothing_to_read(presence.look(), may_load=not self._order.check)
        if reason:
            self._nothing(reason)
            return
        with Channel.open() as channel:
            held = self._look(channel)
            if held:
                self._read(held)
                self._plan(held)
                if not self._order.check:
                    self._carry_out(channel)
        if self._order.recount and not self._order.check:
            self._remaining = self._read_table(held).matched()

    def _nothing(self, reason: Reason) -> None:
        self._unavailable = reason
        self._proof = (capability.UNKNOWN, reason.text)
        self._remaining = 0 if self._order.recount and not self._order.check else None

    def _look(self, channel: Channel) -> int:
        """How many entries the namespace holds; refuses zones that the kernel does not have."""
        held, _limit = presence.counts(channel)
        if self._selection.wanted.zones is not None:
            self._proof = (capability.UNSUPPORTED, "a lookup by zone was refused with EOPNOTSUPP")
            capability.require_zones(channel)
            self._proof = (capability.UNKNOWN, "nothing was read")
        if not held:
            self._proof = (capability.UNKNOWN, "the table is empty, so there was nothing to observe")
        return held

    def _read(self, held: int) -> None:
        reading = self._reading = self._read_table(held)
        self._tallies = {zone: Tally() for zone in reading.found}
        self._proof = self._told()
        most = self._order.most
        if most is not None and reading.matched() > most:
            asked = f"flushing {reading.matched()} entries where max_entries allows {most}"
            raise NetstateError(asked, None, TOO_MANY)

    def _read_table(self, held: int) -> Reading:
        prove = self._order.method == KERNEL and not self._selection.whole
        return read(self._selection, held, table.buckets(), prove)

    def _plan(self, held: int) -> None:
        ignored = [proof for proof in self._reading.proofs.values() if proof[0] == capability.IGNORED]
        if self._order.method == KERNEL and ignored:
            raise _unproven(ignored[0])
        for zone, entries in sorted(self._reading.found.items()):
            # One zone's dump that was not filtered speaks for all.
            self._tallies[zone].method = ENTRIES if ignored else self._method_for(zone, len(entries), held)
        self._proof = self._told()

    def _method_for(self, zone: int, entries: int, held: int) -> str:
        order = self._order
        if order.method == ENTRIES or not self._selection.is_plain():
            return ENTRIES
        if order.method == AUTO and order.most is not None:  # only entry by entry can no more go than were counted
            return ENTRIES
        if self._selection.whole:  # no filter, hence none to be proven
            entries = self._reading.matched()
        if order.method == AUTO and not flush_is_cheaper(entries, held, table.buckets()):
            return ENTRIES
        if self._selection.whole:
            return KERNEL
        proof = self._prove(zone)
        if proof[0] == capability.EXACT:
            return KERNEL
        if order.method == KERNEL:
            raise _unproven(proof)
        return ENTRIES

    def _prove(self, zone: int) -> tuple[str, str]:
        """Whether a flush of this zone takes its members only; for zone 0 by trial, since a half-fixed kernel takes it for all."""
        proof = self._reading.proofs.get(zone, (capability.UNKNOWN, f"zone {zone} was read with all others"))
        if zone == 0 and proof[0] == capability.UNKNOWN:
            try:
                proof = capability.zone_filter_in_throwaway()
            except NetstateError as error:
                proof = (capability.UNKNOWN, str(error))
            self._reading.proofs[0] = proof
        return proof

    def _carry_out(self, channel: Channel) -> None:
        self._sending = True
        found = self._reading.found
        if self._selection.whole and any(tally.method == KERNEL for tally in self._tallies.values()):
            channel.ask("flush of the whole conntrack table", messages.flush_all())
            for zone, tally in self._tallies.items():
                tally.deleted.update(_by_protocol(found[zone].values()))
            return
        for zone in sorted(found):
            tally = self._tallies[zone]
            if tally.method == KERNEL:
                channel.ask(f"flush of conntrack zone {zone}", messages.flush_zone(zone), capability.ZONE_MEANINGS)
                tally.deleted.update(_by_protocol(found[zone].values()))
            else:
                _delete(channel, zone, found[zone], tally)

    def result(self) -> dict[str, t.Any]:
        """The result keys, whatever has been done so far."""
        reading = self._reading
        matched = reading.matched()
        deleted = sum(sum(tally.deleted.values()) for tally in self._tallies.values())
        kinds: collections.Counter[Kind] = collections.Counter()
        for entries in reading.found.values():
            kinds.update(entries.values())
        protocols: collections.Counter[int] = collections.Counter()
        for kind, count in kinds.items():
            protocols[kind.protocol] += count
        result: dict[str, t.Any] = {
            "changed": bool(matched if self._foretells() else deleted or self._unsure),
            "matched": matched,
            "deleted": deleted,
            "already_gone": sum(sum(tally.gone.values()) for tally in self._tallies.values()),
            "remaining": self._remaining,
            "method": self._method(),
            "zones": self._zone_rows(),
            "protocols": _named(protocols),
            "assured": sum(n for kind, n in kinds.items() if kind.status & wire.STATUS_BITS["ASSURED"]),
            "proof": {"filter": self._proof[0], "evidence": self._proof[1]},
            "unavailable_reason": self._unavailable.text if self._unavailable else None,
        }
        if self._order.diff:
            result["diff"] = self._diff()
        return result

    def _foretells(self) -> bool:
        """Whether the result is of what would be done; what is refused would be refused for real, too."""
        return self._order.check and not self._failed

    def _told(self) -> tuple[str, str]:
        """The proof that the result shows: the worst news first, then what is known, and how many zones say so."""
        proofs = self._reading.proofs
        for verdict in (capability.IGNORED, capability.ZONE_ZERO_UNSAFE, capability.EXACT):
            told = [evidence for found, evidence in proofs.values() if found == verdict]
            if told:
                more = "" if len(told) == 1 else f" (and so for {len(told) - 1} more zones)"
                return verdict, told[0] + more
        if proofs:
            return next(iter(proofs.values()))
        way = {
            KERNEL: "the whole table goes, so there is no filter to be proven",
            ENTRIES: "entries go one by one, by their own bytes",
            NONE: "nothing is to be deleted",
        }
        return capability.UNKNOWN, f"no dump by one zone alone was made: {way[self._method()]}"

    def _method(self) -> str:
        methods = {tally.method for tally in self._tallies.values()} - {NONE}
        return ENTRIES if ENTRIES in methods else (KERNEL if methods else NONE)

    def _zone_rows(self) -> list[dict[str, t.Any]]:
        rows = []
        for zone in sorted(self._selection.wanted.zones_named.union(self._reading.found)):
            tally = self._tallies.get(zone, Tally())
            rows.append(
                {
                    "zone": zone,
                    "matched": len(self._reading.found.get(zone, ())),
                    "deleted": sum(tally.deleted.values()),
                    "already_gone": sum(tally.gone.values()),
                    "method": tally.method,
                }
            )
        return rows

    def _diff(self) -> dict[str, dict[str, dict[str, int]]]:
        """Entries by zone and protocol, of the zones that the selection touches."""
        sides: dict[str, dict[str, dict[str, int]]] = {"before": {}, "after": {}}
        for zone, entries in sorted(self._reading.found.items()):
            tally = self._tallies.get(zone, Tally())
            going = _by_protocol(entries.values()) if self._foretells() else tally.deleted + tally.gone
            before = self._reading.seen[zone]
            sides["before"][f"zone {zone}"] = _named(before)
            sides["after"][f"zone {zone}"] = _named({number: before[number] - going[number] for number in before})
        return sides


def flush(order: Order, netns: str | None = None) -> dict[str, t.Any]:
    """Carries out an order in a network namespace.

    :returns: the module's result keys
    :raises NetstateError: with the same keys in ``done``
    """
    try:
        result = namespace.run(netns, Flush(order).run)
    except NetstateError as error:
        error.done = {**Flush(order).result(), **error.done, "netns": netns}
        raise
    result["netns"] = netns
    return result


def flush_is_cheaper(entries: int, held: int, buckets: int) -> bool:
    """Whether one flush by the kernel, which walks the whole table again, costs less than deleting so many entries."""
    walk = buckets * BUCKET_COST + held * PASSED_COST
    return walk + entries * FLUSHED_COST < entries * DELETED_COST


def _delete(channel: Channel, zone: int, entries: t.Mapping[bytes, Kind], tally: Tally) -> None:
    asked = f"deleting entries of conntrack zone {zone}"
    size = channel.batch_size()
    pairs = iter(entries.items())
    while True:
        chunk = list(itertools.islice(pairs, size))
        if not chunk:
            return
        failures = channel.batch(asked, [messages.delete(identity) for identity, _kind in chunk])
        others = {code for code in failures.values() if code != errno.ENOENT}
        for index, (_identity, kind) in enumerate(chunk):
            code = failures.get(index)
            if code is None:
                tally.deleted[kind.protocol] += 1
            elif code == errno.ENOENT:
                tally.gone[kind.protocol] += 1
        if others:
            count = sum(code in others for code in failures.values())
            raise NetstateError(f"{asked} ({count} of a batch of {len(chunk)})", min(others))


def _by_protocol(kinds: t.Iterable[Kind]) -> collections.Counter[int]:
    return collections.Counter(kind.protocol for kind in kinds)


def _named(counts: t.Mapping[int, int]) -> dict[str, int]:
    return {wire.protocol_name(number): counts[number] for number in sorted(counts) if counts[number]}


def _unproven(proof: tuple[str, str]) -> NetstateError:
    return NetstateError("method: kernel", None, UNPROVEN.after(f"it is not proven safe: {proof[1]}"))
