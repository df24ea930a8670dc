# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who holds netlink sockets on this host, as facts. Reads /proc only, loads nothing."""

from __future__ import annotations

import contextlib
import datetime
import re
import typing as t

from .._netlink import kernel, namespace
from .._netlink.errors import NetstateError
from . import diagnosis, openvswitch, processes, table

LIMIT = 10
LONG = 4000  # sockets; up to here /proc takes 20 ms

_EPOLL_EXCLUSIVE = (4, 5)


def gather(limit: int = LIMIT, netns: str | None = None) -> dict[str, t.Any]:
    """The facts of a network namespace; see the module's documentation for their shape.

    :param limit: how many processes are listed
    :raises NetstateError: for a namespace that cannot be entered
    """
    facts: dict[str, t.Any] = {
        "available": True,
        "reason": None,
        "reason_text": None,
        "kernel": kernel.release(),
        "netns": netns,
        "gathered_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "epoll_exclusive": has_epoll_exclusive(kernel.release()),
    }
    sockets = namespace.run(netns, _read)
    if isinstance(sockets, OSError):
        facts.update(available=False, reason="unreadable", reason_text=f"/proc/net/netlink: {sockets.strerror}")
        return facts
    seen = processes.walk(sockets)
    facts["totals"] = totals(sockets, seen)
    facts["openvswitch"] = []
    facts["processes"] = [row(process) for process in busiest(seen.holders, limit)]
    daemons = openvswitch.find()
    if daemons:
        own = namespace.run(None, _read) if netns else sockets
        facts["openvswitch"] = [openvswitch.facts(pid, {} if isinstance(own, OSError) else own) for pid in daemons]
    return facts


def _read() -> dict[int, table.Socket] | OSError:
    """The sockets of the calling thread's namespace: from /proc, and a long list from sock_diag where that is there."""
    try:
        rows, sockets = table.read(namespace.own_proc(), LONG)
        if rows < LONG:
            return sockets
        if diagnosis.is_there():
            with contextlib.suppress(NetstateError):  # built without it after all
                return diagnosis.read()
        return table.read(namespace.own_proc())[1]
    except OSError as error:
        return error


def has_epoll_exclusive(release: str) -> bool | None:
    """Whether epoll can wake a single waiter, by release: there is nothing to observe it by."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found.group(1)), int(found.group(2))) >= _EPOLL_EXCLUSIVE if found else None


def busiest(holders: t.Sequence[processes.Process], limit: int) -> list[processes.Process]:
    """Those with the most sockets first; of equals, those nearer to their limit, then the older ones."""
    return sorted(holders, key=lambda process: (-len(process.sockets), -(process.used_percent or 0), process.pid))[:limit]


def row(process: processes.Process) -> dict[str, t.Any]:
    """One process as a fact."""
    return {
        "pid": process.pid,
        "command": process.command,
        "sockets": len(process.sockets),
        "protocols": process.by_protocol(),
        "receive_queue_bytes": sum(socket.queued for socket in process.sockets),
        "drops": sum(socket.drops for socket in process.sockets),
        "open_files": process.open_files,
        "soft_limit": process.soft_limit,
        "hard_limit": process.hard_limit,
        "used_percent": process.used_percent,
    }


def totals(sockets: t.Mapping[int, table.Socket], seen: processes.Seen) -> dict[str, t.Any]:
    """Sums over the namespace. A socket that several processes hold counts once."""
    held = {socket.inode for process in seen.holders for socket in process.sockets}
    rest = [socket for socket in sockets.values() if socket.inode not in held]
    return {
        "sockets": len(sockets),
        "held": len(held),
        "kernel": sum(not socket.port for socket in rest),
        "unmatched": sum(bool(socket.port) for socket in rest),
        "protocols": processes.count_protocols(sockets.values()),
        "receive_queue_bytes": sum(socket.queued for socket in sockets.values()),
        "drops": sum(socket.drops for socket in sockets.values()),
        "holders": len(seen.holders),
        "processes": seen.processes,
        "unreadable_processes": seen.unreadable,
    }
