# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What this host's connection tracking can do and holds, as facts. Reads only, loads nothing."""

from __future__ import annotations

import collections
import datetime
import errno
import typing as t

from .._netlink import kernel, namespace
from .._netlink.channel import Channel, read_list
from .._netlink.errors import NetstateError
from .._netlink.text import printable
from . import capability, messages, presence, wire
from .sieve import Kind

DEFAULT = ("capabilities", "table", "statistics", "settings")
WALKING = ("zones", "protocols")  # these walk the table, so they are given only on request
SUBSETS = DEFAULT + WALKING

SYSCTLS = "net/netfilter"
PREFIX = "nf_conntrack_"

HELPERS = ("amanda", "ftp", "h323", "irc", "netbios_ns", "pptp", "sane", "sip", "snmp", "tftp")


def gather(subsets: t.Collection[str], netns: str | None = None) -> dict[str, t.Any]:
    """The facts of a network namespace, by subset; see the module's documentation for their shape.

    Conntrack that is absent, not loaded or not permitted is told in the facts and is no error.

    :raises NetstateError: for a namespace that cannot be entered, or a table that could not be read whole
    """
    facts = namespace.run(netns, lambda: _gather(subsets))
    facts["netns"] = netns and printable(netns)
    return facts


def _gather(subsets: t.Collection[str]) -> dict[str, t.Any]:
    present = presence.look()
    facts: dict[str, t.Any] = {
        "available": present.available,
        "reason": present.reason.slug if present.reason else None,
        "reason_text": present.reason.text if present.reason else None,
        "module": present.module,
        "modules": {presence.TRACKER: present.tracker, presence.READER: present.reader},
        "kernel": kernel.release(),
        "gathered_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if present.tracks and "settings" in subsets:
        facts["settings"] = kernel.sysctls(SYSCTLS, PREFIX)
    if present.available:
        try:
            _read(facts, subsets)
        except NetstateError as error:
            if error.number not in (errno.EPERM, errno.EACCES) or error.reason is None:
                raise
            facts.update(available=False, reason=error.reason.slug, reason_text=str(error))
    if present.tracks and "table" in subsets and "table" not in facts:
        facts.update(_table_by_settings())
    if "capabilities" in subsets:
        facts["capabilities"] = _capabilities(facts["reason_text"])
    return facts


def _read(facts: dict[str, t.Any], subsets: t.Collection[str]) -> None:
    with Channel.open() as channel:
        count, limit = presence.counts(channel)
    if "table" in subsets:
        expectations = read_list("dump of the conntrack expectations", messages.expectations())
        facts["table"] = _table(count, limit, len(expectations))
    if "statistics" in subsets:
        facts["statistics"] = _statistics()
    if not set(subsets).isdisjoint(WALKING):
        kinds = capability.kinds_of(messages.dump())
        if "zones" in subsets:
            facts["zones"] = zones(kinds)
        if "protocols" in subsets:
            facts["protocols"] = protocols(kinds)


def _capabilities(why_not: str | None) -> dict[str, t.Any]:
    """What was observed, or why nothing could be."""
    observed = capability.Observed("none", evidence={"zone_filter": why_not}) if why_not else capability.observe()
    return {
        "zones": observed.zones,
        "zone_filter": observed.zone_filter,
        "status_filter": observed.status_filter,
        "tuple_filter_ipv6": observed.tuple_filter_ipv6,
        "labels": observed.labels,
        "accounting": _switch("acct"),
        "timestamps": _switch("timestamp"),
        "events": {0: "off", 1: "on", 2: "auto"}.get(t.cast(int, _setting("events"))),
        "helpers": {name: kernel.module_state("nf_conntrack_" + name) for name in HELPERS},
        "source": observed.source,
        "evidence": dict(observed.evidence),
    }


def _switch(name: str) -> bool | None:
    value = _setting(name)
    return None if value is None else bool(value)


def _setting(name: str) -> int | None:
    value = kernel.sysctl(f"{SYSCTLS}/{PREFIX}{name}")
    return value if isinstance(value, int) else None


def _table_by_settings() -> dict[str, t.Any]:
    """The table as everybody may know it, where it cannot be read itself: for want of privileges, or of nf_conntrack_netlink."""
    count, limit = _setting("count"), _setting("max")
    return {} if count is None or limit is None else {"table": _table(count, limit, None)}


def _table(count: int, limit: int, expectations: int | None) -> dict[str, t.Any]:
    buckets = _setting("buckets")
    return {
        "count": count,
        "max": limit,
        "buckets": buckets,
        "used_percent": round(100.0 * count / limit, 1) if limit else None,
        "max_per_bucket": round(limit / buckets, 2) if buckets else None,
        "expectations": expectations,
        "expectations_max": _setting("expect_max"),
    }


def _statistics() -> dict[str, int]:
    """Counters summed over CPUs by the kernel's names; those that it does not keep are not there.

    They overlap (an unresolvable clash counts as ``drop`` and as ``insert_failed``), so they must not be added to each other.
    """
    totals: collections.Counter[str] = collections.Counter()
    for answer in read_list("dump of the conntrack statistics", messages.cpu_stats()):
        totals.update(messages.cpu_counters(answer))
    return dict(sorted(totals.items()))


def zones(kinds: t.Mapping[Kind, int]) -> list[dict[str, t.Any]]:
    """A row for each zone that holds entries, the largest first."""
    rows: dict[int, dict[str, t.Any]] = {}
    for kind, count in kinds.items():
        row = rows.get(kind.zone)
        if row is None:
            row = rows[kind.zone] = dict(zone=kind.zone, entries=0, both=0, original=0, reply=0, assured=0, protocols={})
        row["entries"] += count
        row[kind.carrier] += count
        row["assured"] += count if kind.status & wire.STATUS_BITS["ASSURED"] else 0
        name = wire.protocol_name(kind.protocol)
        row["protocols"][name] = row["protocols"].get(name, 0) + count
    return sorted(rows.values(), key=lambda row: (-row["entries"], row["zone"]))


def protocols(kinds: t.Mapping[Kind, int]) -> dict[str, dict[str, t.Any]]:
    """Totals by family and protocol, those of TCP also by state."""
    totals: dict[str, dict[str, t.Any]] = {}
    for kind, count in kinds.items():
        family = totals.setdefault(wire.FAMILY_NAMES.get(kind.family, str(kind.family)), {})
        row = family.setdefault(wire.protocol_name(kind.protocol), {"entries": 0})
        row["entries"] += count
        if kind.protocol == wire.PROTOCOLS["tcp"]:
            # An offloaded entry shows no state.
            state = "OFFLOADED" if kind.tcp_state is None else wire.state_name(wire.TCP_STATES, kind.tcp_state)
            states = row.setdefault("states", {})
            states[state] = states.get(state, 0) + count
    return totals
