# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes that hold thousands of netlink sockets are told by what they hold."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import typing as t

import pytest
from netlink_holder import holding

if t.TYPE_CHECKING:
    Gather = t.Callable[..., t.Dict[str, t.Any]]

STANDARD_STREAMS = 3


def within(netns: str) -> list[str]:
    return ["ip", "netns", "exec", netns]


def row_of(facts: dict[str, t.Any], pid: int) -> dict[str, t.Any]:
    return next(row for row in facts["processes"] if row["pid"] == pid)


def test_thousands_of_sockets(netns: str, gather: Gather) -> None:
    with holding(generic=3000, route=500, files=100, limit=4096, through=within(netns)) as pid:
        facts = gather(netns=netns)
    row = row_of(facts, pid)
    assert row["protocols"] == {"generic": 3000, "route": 500}
    assert row["sockets"] == 3500
    assert row["open_files"] == 3600 + STANDARD_STREAMS
    assert row["soft_limit"] == 4096
    assert row["hard_limit"] == resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert row["used_percent"] == round(100 * row["open_files"] / 4096, 1)
    assert facts["totals"]["held"] == 3500
    assert facts["totals"]["unmatched"] == 0
    assert facts["totals"]["protocols"]["generic"] == 3001, "the kernel has one of its own"
    assert facts["netns"] == netns


def test_each_namespace_has_its_own(netns: str, gather: Gather) -> None:
    with holding(generic=40, through=within(netns)) as inside, holding(route=30) as outside:
        there, here = gather(netns=netns), gather(limit=1000)
        within_it = gather(through=within(netns))
    assert [row["pid"] for row in there["processes"]] == [inside]
    assert [row["pid"] for row in within_it["processes"]] == [inside]
    pids = {row["pid"] for row in here["processes"]}
    assert outside in pids
    assert inside not in pids


def test_the_busiest_come_first(netns: str, gather: Gather) -> None:
    through = within(netns)
    with holding(route=5, through=through) as few, holding(route=20, through=through) as most, holding(route=9, through=through) as some:
        facts = gather(netns=netns, limit=2)
        nothing = gather(netns=netns, limit=0)
    assert [row["pid"] for row in facts["processes"]] == [most, some]
    assert facts["totals"]["holders"] == 3
    assert nothing["processes"] == []
    assert nothing["totals"]["held"] == 34
    assert few


def test_drops_and_waiting_bytes(gather: Gather) -> None:
    """A listener that does not read loses what its queue cannot hold."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2) as listener:  # usersock
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind((0, 1))
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2) as sender:
            for _message in range(100):
                # The group gets it; the kernel, port 0 of the address, refuses its copy.
                with contextlib.suppress(ConnectionRefusedError):
                    sender.sendto(bytes(1000), (0, 1))
        facts = gather(limit=1000)
    row = row_of(facts, os.getpid())
    assert row["receive_queue_bytes"] > 0
    assert row["drops"] > 0
    assert facts["totals"]["drops"] >= row["drops"]


def test_a_socket_of_several_processes_counts_once(netns: str, gather: Gather) -> None:
    with holding(route=7, children=2, through=within(netns)):
        facts = gather(netns=netns)
    assert [row["sockets"] for row in facts["processes"]] == [7, 7, 7]
    assert facts["totals"]["holders"] == 3
    assert facts["totals"]["held"] == 7


def test_unreadable_processes_are_counted(gather: Gather, tmp_path: t.Any) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to become nobody")
    with holding(route=11) as pid:
        as_root, as_nobody = gather(limit=1000), gather(nobody=True, limit=1000)
    assert pid in {row["pid"] for row in as_root["processes"]}
    assert pid not in {row["pid"] for row in as_nobody["processes"]}
    assert as_nobody["totals"]["unreadable_processes"] > as_root["totals"]["unreadable_processes"]
    assert as_nobody["totals"]["unmatched"] >= 11
    assert as_nobody["available"] is True


def test_a_namespace_that_is_absent(run_module: Gather) -> None:
    result = run_module(netns="netstate-absent")
    assert result["failed"]
    assert result["reason"] == "no_namespace"
    assert not os.path.exists("/run/netns/netstate-absent")


def test_a_negative_limit_is_refused(run_module: Gather) -> None:
    result = run_module(limit=-1)
    assert result["failed"]
    assert result["option"] == "limit"


def test_a_hundred_thousand_sockets_cost_seconds(netns: str, gather: Gather) -> None:
    each, through = 17_000, within(netns)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < each + 1000:
        pytest.skip("the hard limit of open files is below 18,000")
    with contextlib.ExitStack() as stack:
        pids = {stack.enter_context(holding(generic=each, limit=each + 1000, through=through)) for _process in range(6)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        facts = gather(netns=netns)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert {row["pid"]: row["sockets"] for row in facts["processes"]} == dict.fromkeys(pids, each)
    # Of the processor, not of the clock: the machine may have other work.
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds < 8
