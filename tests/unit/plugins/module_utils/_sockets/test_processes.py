# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a made-up /proc, joined by inode."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import facts, openvswitch, processes, reading, table
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


def holder(pid: int, sockets: int = 1, drops: int = 0, used: int = 0) -> processes.Process:
    rows = [Socket(pid * 1000 + number, 16, 500, 0, drops if not number else 0) for number in range(sockets)]
    return processes.Process(pid, f"p{pid}", used, rows, 100, 100)


MANY = [holder(pid, sockets=100 - pid) for pid in range(1, 13)]


@pytest.mark.parametrize(
    "others, limit, more",
    [
        ([], 10, []),
        ([holder(50)], 10, []),
        ([holder(50, drops=4997)], 10, [50]),
        ([holder(50, drops=4997)], 0, None),
        ([holder(pid, drops=pid) for pid in range(50, 58)], 10, [53, 54, 55, 56, 57]),
        ([holder(50, sockets=70, used=99)], 10, [50]),
        ([holder(50, sockets=63, used=99)], 10, []),  # not many sockets
        ([holder(50, sockets=70)], 10, []),
        ([holder(pid, sockets=70, used=pid) for pid in range(50, 58)], 10, [57, 56, 55, 54, 53]),
        ([holder(50, sockets=70, used=99, drops=1), holder(51, drops=5)], 10, [50, 51]),
        ([holder(50, drops=4997)], 100, [11, 12, 50]),
    ],
)
def test_those_in_trouble_are_listed_too(others: list[processes.Process], limit: int, more: list[int] | None) -> None:
    holders = [*others, *MANY]
    expected = [] if more is None else [*range(1, 11), *more]
    assert [process.pid for process in facts.listed(holders, limit)] == expected


def test_totals_tell_of_those_who_are_not_listed() -> None:
    seen = processes.Seen([holder(1, drops=4), holder(2, drops=9, used=99), holder(3, sockets=64, used=85)], 3, 0)
    totals = facts.totals({}, seen)
    assert (totals["most_drops"], totals["most_used_percent"]) == (9, 85.0)
    nothing = facts.totals({}, processes.Seen([], 3, 0))
    assert (nothing["most_drops"], nothing["most_used_percent"]) == (0, None)


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    make(tmp_path, 1, "one", ["socket:[10]"])
    (tmp_path / "1/comm").write_bytes(b"x\xff\xc3\n")
    assert processes.walk(SOCKETS, str(tmp_path)).holders[0].command == "x\\xff\\xc3"
    assert processes.command(1, str(tmp_path)) == "x\\xff\\xc3"


def test_hidden_processes(tmp_path: Path) -> None:
    assert processes.are_hidden(str(tmp_path))
    make(tmp_path, 1, "init", [])
    assert not processes.are_hidden(str(tmp_path))


@pytest.mark.parametrize(
    "unmatched, unreadable, hidden, reason",
    [
        (0, 0, False, None),
        (3, 0, False, None),  # of other PID namespaces
        (0, 7, False, None),  # none of them holds any
        (3, 7, False, "not_permitted"),
        (3, 7, True, "hidden"),
        (0, 0, True, "hidden"),
    ],
)
def test_owners_that_are_not_seen(unmatched: int, unreadable: int, hidden: bool, reason: str | None) -> None:
    found, text = facts.why_in_part({"unmatched": unmatched, "unreadable_processes": unreadable, "processes": 9}, hidden)
    assert found == reason
    assert (text is None) == (reason is None)


@pytest.mark.parametrize(
    "later, unmatched, reason",
    [
        pytest.param({10, 11, 12, 13}, 0, None, id="its process ended"),
        pytest.param({13}, 0, None, id="the others closed theirs afterwards"),
        pytest.param({10, 11, 12, 13, 14}, 1, "not_permitted", id="it is still there"),
        pytest.param(None, 1, "not_permitted", id="nothing can be read any more"),
    ],
)
def test_a_socket_that_was_closed_while_its_owner_was_looked_for(
    monkeypatch: pytest.MonkeyPatch, later: set[int] | None, unmatched: int, reason: str | None
) -> None:
    again = OSError(13, "Permission denied") if later is None else {inode: SOCKETS[inode] for inode in later}
    readings = iter([SOCKETS, again])
    holder = processes.Process(7, "holder", 3, [SOCKETS[10], SOCKETS[11], SOCKETS[12]], 1024, 4096)
    monkeypatch.setattr(reading, "read", lambda: next(readings))
    monkeypatch.setattr(processes, "walk", lambda _sockets: processes.Seen([holder], 9, 1))
    monkeypatch.setattr(processes, "are_hidden", lambda: False)
    monkeypatch.setattr(openvswitch, "find", list)
    found = facts.gather()
    totals = found["totals"]
    assert (totals["unmatched"], totals["held"], totals["kernel"], totals["sockets"]) == (unmatched, 3, 1, 4 + unmatched)
    assert found["reason"] == reason


@pytest.mark.parametrize("broken", ["walk", "find", "read"])
def test_proc_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fails(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    place, name = {"walk": (processes, "walk"), "find": (openvswitch, "find"), "read": (table, "read")}[broken]
    monkeypatch.setattr(place, name, fails)
    found = facts.gather()
    assert (found["available"], found["reason"]) == (False, "unreadable")
    assert found["reason_text"] in ("/proc: Permission denied", "/proc/net/netlink: Permission denied")


@pytest.mark.parametrize(
    "release, expected",
    [("6.18.44-fc", True), ("4.5.0", True), ("4.4.302", False), ("3.10.0-1160.el7", False), ("10.0", True), ("strange", None)],
)
def test_epoll_exclusive(release: str, expected: bool | None) -> None:
    assert facts.has_epoll_exclusive(release) is expected
