# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What IPVS answers, as facts. For where IPVS is there; asked otherwise, the kernel loads it."""

from __future__ import annotations

import errno
import struct
import typing as t

from .._netlink import kernel
from .._netlink.channel import Channel
from .._netlink.errors import NetstateError
from .._netlink.family import Family
from . import advice, config, messages, model, presence, settings, wire
from .model import Activity, Connections, Key, Table
from .snapshot import Reader, Snapshot

# Commands of linux/ip_vs.h end at 17; the proposed dump of services with their destinations has the next number.
BULK_DUMP = wire.FLUSH + 1


def read(subsets: t.Collection[str], sysctls: t.Mapping[str, int | str]) -> dict[str, t.Any]:
    """The facts of the calling thread's namespace, by subset.

    :param sysctls: those of IPVS, for the advice
    :raises NetstateError: when the kernel refuses, or a table could not be read whole
    """
    with presence.open_channel() as channel:
        family = presence.attach(channel)
        requests = messages.Requests(family.id)
        facts = _info(channel, requests)
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
        return facts
    if "totals" in subsets:
        facts["totals"] = totals(found.table, found.activity)
    if "sysctls" in subsets:
        facts["advice"] = advice.advise(sysctls, found.table, kernel.release())
    if "services" in subsets:
        facts["services"] = services(found)
    return facts


def _table(subsets: t.Collection[str]) -> Snapshot | None:
    """The table, as far as a subset needs it."""
    if set(subsets).isdisjoint(["totals", "sysctls", "services", "capabilities"]):
        return None
    only_services = set(subsets).isdisjoint(["totals", "sysctls", "services"])
    with Reader(keep=True) as reader:
        return reader.read((lambda _key: False) if only_services else None)


def _info(channel: Channel, requests: messages.Requests) -> dict[str, t.Any]:
    (answer,) = channel.ask("reading the version of IPVS", requests.info(), presence.MEANINGS)[:1]
    found = wire.top(answer)
    version, size = (wire.U32.unpack(found[kind])[0] for kind in (wire.INFO_VERSION, wire.INFO_CONN_TAB_SIZE))
    return {"version": ".".join(str(part) for part in struct.pack(">I", version)[1:]), "connection_table_size": size}


def _capabilities(channel: Channel, family: Family, requests: messages.Requests, found: Snapshot | None) -> dict[str, t.Any]:
    held = [message for key, message in (found.messages if found else {}).items() if isinstance(key, Key)]
    return {
        "commands": [wire.COMMANDS.get(number, str(number)) for number in sorted(family.operations)],
        "bulk_dump": BULK_DUMP in family.operations,
        "ipv6": _has_ipv6(channel, requests),
        "counters_64bit": any(wire.SVC_STATS64 in wire.nested(message) for message in held) if held else None,
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
        row["statistics"] = wire.statistics(wire.nested(found.messages[key]), wire.SVC_STATS64, wire.SVC_STATS)
        for destination, one in zip(row["destinations"], sorted(held.destinations)):
            connections = found.activity.get((key, one), Connections())
            destination.update(
                active_connections=connections.active,
                inactive_connections=connections.inactive,
                persistent_connections=connections.persistent,
                statistics=wire.statistics(wire.nested(found.messages[key, one], wire.DEST), wire.DEST_STATS64, wire.DEST_STATS),
            )
    return rows
