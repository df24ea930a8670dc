# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What this host's IPVS can do and holds, as facts. Reads only, loads nothing."""

from __future__ import annotations

import datetime
import errno
import struct
import typing as t

from .._netlink import kernel, namespace
from .._netlink.channel import Channel
from .._netlink.errors import NetstateError, OptionError
from .._netlink.family import Family
from . import advice, config, messages, model, presence, settings, wire
from .model import Activity, Connections, Key, Table
from .snapshot import Reader, Snapshot

DEFAULT = ("capabilities", "totals", "settings", "sysctls")
SUBSETS = (*DEFAULT, "services")

SYSCTLS = "net/ipv4/vs"
# Commands of linux/ip_vs.h end at 17; the proposed dump of services with their destinations has the next number.
BULK_DUMP = wire.FLUSH + 1


def parse_subsets(values: t.Sequence[str]) -> frozenset[str]:
    """Reads ``gather_subset`` as ``ansible.builtin.setup`` does.

    :raises OptionError: for a name that is none
    """
    wanted: set[str] = set()
    unwanted: set[str] = set()
    for value in values:
        name = value.strip()
        side = unwanted if name.startswith("!") else wanted
        name = name.lstrip("!").strip()
        if name not in (*SUBSETS, "all", "min"):
            raise OptionError("gather_subset", value, f"give names of all, min, {', '.join(SUBSETS)}, '!' in front to leave one out")
        side.update(SUBSETS if name == "all" else () if name == "min" else (name,))
    only_exclusions = all(value.strip().startswith("!") for value in values)
    return frozenset((set(DEFAULT) if only_exclusions else wanted) - unwanted)


def gather(subsets: t.Collection[str], netns: str | None = None) -> dict[str, t.Any]:
    """The facts of a network namespace, by subset; see the module's documentation for their shape.

    IPVS that is absent, not loaded or not permitted is told in the facts and is no error.

    :raises NetstateError: for a namespace that cannot be entered, or a table that could not be read whole
    """
    return dict(namespace.run(netns, lambda: _gather(subsets)), netns=netns)


def _gather(subsets: t.Collection[str]) -> dict[str, t.Any]:
    present = presence.look()
    facts: dict[str, t.Any] = {
        "available": present.available,
        "reason": present.reason.slug if present.reason else None,
        "reason_text": present.reason.text if present.reason else None,
        "module": present.module,
        "kernel": kernel.release(),
        "gathered_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if not present.available:
        return facts
    sysctls = kernel.sysctls(SYSCTLS)
    if "sysctls" in subsets:
        facts["sysctls"] = sysctls
    try:
        _read(facts, subsets, sysctls)
    except NetstateError as error:
        if error.number not in (errno.EPERM, errno.EACCES) or error.reason is None:
            raise
        facts.update(available=False, reason=error.reason.slug, reason_text=str(error))
    return facts


def _read(facts: dict[str, t.Any], subsets: t.Collection[str], sysctls: t.Mapping[str, int | str]) -> None:
    with presence.open_channel() as channel:
        family = presence.attach(channel)
        requests = messages.Requests(family.id)
        facts.update(_info(channel, requests))
        found = _table(subsets)
        if "capabilities" in subsets:
            facts["capabilities"] = _capabilities(channel, family, requests, found)
        if "settings" in subsets:
            held = settings.read(channel, requests)
            facts["settings"] = {
                "timeouts": held.timeouts,
                "sync_daemons": [dict(daemon._asdict(), role=role) for role, daemon in sorted(held.daemons.items())],
            }
    if found is None:
        return
    if "totals" in subsets:
        facts["totals"] = totals(found.table, found.activity)
    if "sysctls" in subsets:
        facts["advice"] = advice.advise(sysctls, found.table, facts["kernel"])
    if "services" in subsets:
        facts["services"] = services(found)


def _table(subsets: t.Collection[str]) -> Snapshot | None:
    """The table, as far as a subset needs it."""
    if set(subsets).isdisjoint(["totals", "sysctls", "services", "capabilities"]):
        return None
    only_services = set(subsets).isdisjoint(["totals", "sysctls", "services"])
    with Reader(raw=True) as reader:
        return reader.read((lambda _key: False) if only_services else None)


def _info(channel: Channel, requests: messages.Requests) -> dict[str, t.Any]:
    (answer,) = channel.ask("reading the version of IPVS", requests.info(), presence.MEANINGS)[:1]
    found = wire.top(answer)
    version, size = (wire.U32.unpack(found[kind])[0] for kind in (wire.INFO_VERSION, wire.INFO_CONN_TAB_SIZE))
    return {"version": ".".join(str(part) for part in struct.pack(">I", version)[1:]), "connection_table_size": size}


def _capabilities(channel: Channel, family: Family, requests: messages.Requests, found: Snapshot | None) -> dict[str, t.Any]:
    raw = [attributes for key, attributes in (found.raw if found else {}).items() if isinstance(key, Key)]
    return {
        "commands": [wire.COMMANDS.get(number, str(number)) for number in sorted(family.operations)],
        "bulk_dump": BULK_DUMP in family.operations,
        "ipv6": _has_ipv6(channel, requests),
        "counters_64bit": any(wire.SVC_STATS64 in attributes for attributes in raw) if raw else None,
        "schedulers": _by_state(presence.schedulers()),
        "persistence_engines": _by_state(presence.engines()),
    }


def _has_ipv6(channel: Channel, requests: messages.Requests) -> bool:
    """Asks for an IPv6 service that nobody has: ESRCH where there could be one, EAFNOSUPPORT where there could not."""
    nobody = Key(model.AF_INET6, model.PROTOCOLS["tcp"], bytes(16), 0)
    try:
        channel.ask("lookup of an IPv6 service", requests.service(nobody), presence.MEANINGS)
    except NetstateError as error:
        if error.number == errno.EAFNOSUPPORT:
            return False
        if error.number != errno.ESRCH:
            raise
    return True


def _by_state(states: t.Mapping[str, str]) -> dict[str, list[str]]:
    return {
        "usable": [name for name, state in states.items() if state in kernel.PRESENT],
        "loadable": [name for name, state in states.items() if state == kernel.LOADABLE],
    }


def totals(table: Table, activity: Activity) -> dict[str, t.Any]:
    """Sums over the table. Pure."""
    protocols = dict.fromkeys((*model.PROTOCOLS, "fwmark"), 0)
    families = dict.fromkeys(model.FAMILIES, 0)
    for key in table:
        name = "fwmark" if key.fwmark else model.protocol_name(key.protocol)
        protocols[name] = protocols.get(name, 0) + 1
        families[model.FAMILY_NAMES[key.family]] += 1
    destinations = [one for held in table.values() for one in held.destinations.values()]
    return {
        "services": len(table),
        "destinations": len(destinations),
        "by_protocol": protocols,
        "by_family": families,
        "active_connections": sum(one.active for one in activity.values()),
        "inactive_connections": sum(one.inactive for one in activity.values()),
        "persistent_connections": sum(one.persistent for one in activity.values()),
        "destinations_weight_0": sum(not one.weight for one in destinations),
    }


def services(found: Snapshot) -> list[dict[str, t.Any]]:
    """Services in the form of the option ``config``, with connections and statistics. Pure."""
    rows = config.as_config(found.table)
    for row, (key, held) in zip(rows, model.sorted_table(found.table)):
        row["statistics"] = wire.statistics(found.raw[key], wire.SVC_STATS64, wire.SVC_STATS)
        for destination, one in zip(row["destinations"], sorted(held.destinations)):
            connections = found.activity.get((key, one), Connections())
            destination.update(
                active_connections=connections.active,
                inactive_connections=connections.inactive,
                persistent_connections=connections.persistent,
                statistics=wire.statistics(found.raw[key, one], wire.DEST_STATS64, wire.DEST_STATS),
            )
    return rows
