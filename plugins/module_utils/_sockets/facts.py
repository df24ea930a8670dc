# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who holds netlink sockets on this host, as facts. Reads /proc only, loads nothing."""

from __future__ import annotations

import datetime
import re
import typing as t

from .._netlink import kernel, namespace
from .._netlink.errors import NOT_PERMITTED, UNREADABLE
from .._netlink.text import printable
from . import openvswitch, processes, reading, table

LIMIT = 10
MORE = 5  # of those with the most drops, and of those nearest to their limit
HEAVY = 64  # sockets; the audit's default too

HIDDEN = "hidden"

_EPOLL_EXCLUSIVE = (4, 5)


def gather(limit: int = LIMIT, netns: str | None = None) -> dict[str, t.Any]:
    """The facts of a network namespace; see the module's documentation for their shape.

    :param limit: how many processes are listed for their sockets; 0 lists none at all
    :raises NetstateError: for a namespace that cannot be entered
    """
    facts: dict[str, t.Any] = {
        "available": True,
        "reason": None,
        "reason_text": None,
        "kernel": kernel.release(),
        "netns": netns and printable(netns),
        "gathered_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "epoll_exclusive": has_epoll_exclusive(kernel.release()),
    }
    sockets = namespace.run(netns, reading.read)
    if isinstance(sockets, OSError):
        return _unreadable(facts, "/proc/net/netlink", sockets)
    try:
        seen, daemons = processes.walk(sockets), openvswitch.find()
    except OSError as error:
        return _unreadable(facts, processes.PROC, error)
    sockets = _still_open(sockets, seen, netns)
    facts["totals"] = totals(sockets, seen)
    facts["reason"], facts["reason_text"] = why_in_part(facts["totals"], processes.are_hidden())
    facts["openvswitch"] = []
    facts["openvswitch_left_out"] = len(daemons[openvswitch.MOST :])
    facts["processes"] = [row(process) for process in listed(seen.holders, limit)]
    if daemons:
        own = reading.read() if netns else sockets
        facts["openvswitch"] = openvswitch.gather(daemons, {} if isinstance(own, OSError) else own)
    return facts


def _still_open(sockets: dict[int, table.Socket], seen: processes.Seen, netns: str | None) -> dict[int, table.Socket]:
    """Without those that were closed while owners were looked for: a command that just ended is no owner that may not be seen."""
    held = _held(seen)
    if not any(socket.port and socket.inode not in held for socket in sockets.values()):
        return sockets
    left = namespace.run(netns, reading.read)
    if isinstance(left, OSError):
        return sockets
    return {inode: socket for inode, socket in sockets.items() if inode in held or inode in left}


def _held(seen: processes.Seen) -> set[int]:
    return {socket.inode for process in seen.holders for socket in process.sockets}


def _unreadable(facts: dict[str, t.Any], what: str, error: OSError) -> dict[str, t.Any]:
    return dict(facts, available=False, reason=UNREADABLE.slug, reason_text=f"{what}: {error.strerror or error}")


def why_in_part(sums: t.Mapping[str, t.Any], hidden: bool) -> tuple[str | None, str | None]:
    """Reason and text where sockets were seen, but not all who hold them.

    :param hidden: whether /proc does not even list the processes of others
    """
    lost = f"{sums['unmatched']} netlink sockets have no owner that was seen"
    if hidden:
        return HIDDEN, f"/proc hides the processes of others (hidepid), and {lost}: run as root (become: true)"
    if sums["unmatched"] and sums["unreadable_processes"]:
        return NOT_PERMITTED.slug, f"{sums['unreadable_processes']} of {sums['processes']} processes may not be read, and {lost}: run as root (become: true)"
    return None, None


def has_epoll_exclusive(release: str) -> bool | None:
    """Whether epoll can wake a single waiter, by release: there is nothing to observe it by."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found.group(1)), int(found.group(2))) >= _EPOLL_EXCLUSIVE if found else None


def busiest(holders: t.Sequence[processes.Process], limit: int) -> list[processes.Process]:
    """Those with the most sockets first; of equals, those nearer to their limit, then the older ones."""
    return sorted(holders, key=lambda process: (-len(process.sockets), -(process.used_percent or 0), process.pid))[:limit]


def listed(holders: t.Sequence[processes.Process], limit: int) -> list[processes.Process]:
    """The busiest, and besides them a few that lose messages or near their limit with fewer sockets; none at all with 0."""
    if not limit:
        return []
    order = busiest(holders, len(holders))
    rest = order[limit:]
    losing = sorted((process for process in rest if process.drops), key=lambda process: -process.drops)[:MORE]
    heavy = (process for process in rest if len(process.sockets) >= HEAVY and process.used_percent)
    filling = sorted(heavy, key=lambda process: -(process.used_percent or 0))[:MORE]
    wanted = {process.pid for process in (*order[:limit], *losing, *filling)}
    return [process for process in order if process.pid in wanted]


def row(process: processes.Process) -> dict[str, t.Any]:
    """One process as a fact."""
    return {
        "pid": process.pid,
        "command": process.command,
        "sockets": len(process.sockets),
        "protocols": process.by_protocol(),
        "receive_queue_bytes": sum(socket.queued for socket in process.sockets),
        "drops": process.drops,
        "open_files": process.open_files,
        "soft_limit": process.soft_limit,
        "hard_limit": process.hard_limit,
        "used_percent": process.used_percent,
    }


def totals(sockets: t.Mapping[int, table.Socket], seen: processes.Seen) -> dict[str, t.Any]:
    """Sums over the namespace. A socket that several processes hold counts once."""
    held = _held(seen)
    rest = [socket for socket in sockets.values() if socket.inode not in held]
    return {
        "sockets": len(sockets),
        "held": len(held),
        "kernel": sum(not socket.port for socket in rest),
        "unmatched": sum(bool(socket.port) for socket in rest),
        "protocols": processes.count_protocols(sockets.values()),
        "receive_queue_bytes": sum(socket.queued for socket in sockets.values()),
        "drops": sum(socket.drops for socket in sockets.values()),
        "most_drops": max((process.drops for process in seen.holders), default=0),
        "most_used_percent": max((process.used_percent or 0 for process in seen.holders if len(process.sockets) >= HEAVY), default=None),
        "holders": len(seen.holders),
        "processes": seen.processes,
        "unreadable_processes": seen.unreadable,
    }
