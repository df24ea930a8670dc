# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a made-up /proc, joined by inode."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import facts, processes
from ansible_collections.netstate.kernel.plugins.module_utils._sockets.table import Socket

if t.TYPE_CHECKING:
    from pathlib import Path

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max open files            %-20s %-20s files
Max locked memory         8388608              8388608              bytes
"""

SOCKETS = {
    10: Socket(10, 16, 500, 100, 1),
    11: Socket(11, 16, 501, 0, 2),
    12: Socket(12, 0, 502, 0, 0),
    13: Socket(13, 0, 0, 0, 0),  # of the kernel
    14: Socket(14, 0, 503, 0, 0),  # of nobody seen
}


def make(proc: Path, pid: int, command: str, links: list[str], soft: str = "1024", hard: str = "4096") -> None:
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_text(command + "\n")
    (folder / "limits").write_text(LIMITS % (soft, hard))
    for number, link in enumerate(links):
        (folder / "fd" / str(number)).symlink_to(link)


@pytest.mark.parametrize(
    "soft, hard, expected",
    [("1024", "4096", (1024, 4096)), ("unlimited", "unlimited", (None, None)), ("0", "unlimited", (0, None))],
)
def test_limits(soft: str, hard: str, expected: tuple[int | None, int | None]) -> None:
    assert processes.parse_limits(LIMITS % (soft, hard)) == expected


def test_limits_that_are_not_there() -> None:
    assert processes.parse_limits("") == (None, None)


def test_walk(tmp_path: Path) -> None:
    make(tmp_path, 7, "holder", ["socket:[10]", "socket:[10]", "socket:[12]", "/dev/null", "socket:[999]"])
    make(tmp_path, 8, "sharer", ["socket:[11]", "socket:[12]"], soft="unlimited")
    make(tmp_path, 9, "stranger", ["socket:[999]", "pipe:[10]"])
    (tmp_path / "sys").mkdir()
    seen = processes.walk(SOCKETS, str(tmp_path))
    holder, sharer = seen.holders
    assert (seen.processes, seen.unreadable) == (3, 0)
    assert (holder.pid, holder.command, holder.open_files, len(holder.sockets)) == (7, "holder", 5, 2)
    assert holder.by_protocol() == {"generic": 1, "route": 1}
    assert holder.used_percent == 0.5
    assert (sharer.soft_limit, sharer.used_percent) == (None, None)
    totals = facts.totals(SOCKETS, seen)
    assert (totals["sockets"], totals["held"], totals["kernel"], totals["unmatched"]) == (5, 3, 1, 1)
    assert (totals["drops"], totals["receive_queue_bytes"], totals["holders"]) == (3, 100, 2)


def test_the_busiest_first(tmp_path: Path) -> None:
    make(tmp_path, 1, "one", ["socket:[10]"], soft="4096")
    make(tmp_path, 2, "nearer", ["socket:[11]"], soft="10")
    make(tmp_path, 3, "two", ["socket:[12]", "socket:[14]"])
    holders = processes.walk(SOCKETS, str(tmp_path)).holders
    assert [process.command for process in facts.busiest(holders, 3)] == ["two", "nearer", "one"]
    assert [process.command for process in facts.busiest(holders, 1)] == ["two"]


@pytest.mark.parametrize(
    "release, expected",
    [("6.18.44-fc", True), ("4.5.0", True), ("4.4.302", False), ("3.10.0-1160.el7", False), ("10.0", True), ("strange", None)],
)
def test_epoll_exclusive(release: str, expected: bool | None) -> None:
    assert facts.has_epoll_exclusive(release) is expected
