# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Open files of processes, joined with netlink sockets by inode. Reads /proc only."""

from __future__ import annotations

import collections
import dataclasses
import os
import typing as t

if t.TYPE_CHECKING:
    from .table import Socket

PROC = "/proc"
UNLIMITED = "unlimited"


@dataclasses.dataclass(frozen=True)
class Process:
    """A process whose open files could be read.

    :ivar command: the kernel's name of it, at most 15 bytes
    :ivar sockets: the netlink sockets that it holds, each once, by whatever number of descriptors
    :ivar soft_limit: RLIMIT_NOFILE; ``None`` for no limit
    """

    pid: int
    command: str
    open_files: int
    sockets: t.Sequence[Socket]
    soft_limit: int | None
    hard_limit: int | None

    @property
    def used_percent(self) -> float | None:
        return round(100.0 * self.open_files / self.soft_limit, 1) if self.soft_limit else None

    @property
    def drops(self) -> int:
        return sum(socket.drops for socket in self.sockets)

    def by_protocol(self) -> dict[str, int]:
        return count_protocols(self.sockets)


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a walk over the processes saw.

    :ivar holders: the processes that hold at least one of the sockets
    :ivar processes: all processes, whether they could be read or not
    :ivar unreadable: those whose open files may not be read
    """

    holders: t.Sequence[Process]
    processes: int
    unreadable: int


def count_protocols(sockets: t.Iterable[Socket]) -> dict[str, int]:
    """Protocol to number of sockets, sorted by name."""
    return dict(sorted(collections.Counter(socket.protocol_name for socket in sockets).items()))


def walk(sockets: t.Mapping[int, Socket], proc: str = PROC) -> Seen:
    """Finds the processes that hold the sockets; those that end meanwhile are left out."""
    links = {f"socket:[{inode}]": socket for inode, socket in sockets.items()}
    holders = []
    processes = unreadable = 0
    for pid in pids(proc):
        processes += 1
        try:
            process = _join(os.path.join(proc, str(pid)), pid, links)
        except PermissionError:
            unreadable += 1
        except OSError:  # it ended
            processes -= 1
        else:
            if process is not None:
                holders.append(process)
    return Seen(holders, processes, unreadable)


def are_hidden(proc: str = PROC) -> bool:
    """Whether the processes of others are not even listed (hidepid=2): there is always a first process."""
    return not os.path.exists(os.path.join(proc, "1"))


def pids(proc: str = PROC) -> list[int]:
    """The processes (not threads) that are there, sorted."""
    return sorted(int(name) for name in os.listdir(proc) if name.isdigit())


def look_at(pid: int, sockets: t.Mapping[int, Socket], proc: str = PROC) -> Process | None:
    """One process, whether it holds any of the sockets or not; ``None`` when its files may not be read, or it is gone."""
    folder = os.path.join(proc, str(pid))
    try:
        links = list(_links(folder))
        return _process(folder, pid, links, {f"socket:[{inode}]": socket for inode, socket in sockets.items()})
    except OSError:
        return None


def command(pid: int, proc: str = PROC) -> str | None:
    """Its name; ``None`` when it is gone."""
    try:
        return _text(os.path.join(proc, str(pid), "comm")).strip()
    except OSError:
        return None


def users(pid: int, proc: str = PROC) -> frozenset[int]:
    """Its real, effective, saved and file system user; ``-1`` when that cannot be told.

    The owner of the folder is no proof: it is root for each process that may not be dumped.
    """
    try:
        rows = _text(os.path.join(proc, str(pid), "status")).splitlines()
    except OSError:
        rows = []
    return next((frozenset(map(int, row.split()[1:])) for row in rows if row.startswith("Uid:")), frozenset([-1]))


def parse_limits(text: str) -> tuple[int | None, int | None]:
    """Soft and hard limit of open files from /proc/PID/limits; ``None`` for no limit."""
    for line in text.splitlines():
        if line.startswith("Max open files"):
            soft, hard = line.split()[3:5]
            return _limit(soft), _limit(hard)
    return None, None


def _limit(value: str) -> int | None:
    return None if value == UNLIMITED else int(value)


def _join(folder: str, pid: int, wanted: t.Mapping[str, Socket]) -> Process | None:
    """The process, or ``None`` when it holds none of the sockets."""
    links = list(_links(folder))
    if wanted.keys().isdisjoint(links):
        return None
    return _process(folder, pid, links, wanted)


def _process(folder: str, pid: int, links: t.Sequence[str], wanted: t.Mapping[str, Socket]) -> Process:
    held = [wanted[link] for link in set(links) if link in wanted]
    soft, hard = parse_limits(_text(os.path.join(folder, "limits")))
    name = _text(os.path.join(folder, "comm")).strip()
    return Process(pid, name, len(links), held, soft, hard)


def _links(folder: str) -> t.Iterator[str]:
    """Where each open file leads. A relative readlink spares the kernel the way down, half the time of a process with many files."""
    path = os.path.join(folder, "fd")
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in os.listdir(handle):
            try:
                yield os.readlink(name, dir_fd=handle)
            except FileNotFoundError:  # closed meanwhile
                continue
    finally:
        os.close(handle)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()
