# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One by one, by the kernel, or whichever is cheaper: the same entries go and the same is told."""

from __future__ import annotations

import typing as t

import conntrack_command
import conntrack_table
import mixed_table
import pytest
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

MANY = 6000  # so many that a flush by the kernel is the cheaper way for auto


def _fill(ns: Namespace) -> None:
    mixed_table.fill(ns)
    ns.fill(conntrack_table.many(MANY, lambda number: 700, first=1 << 20))
    ns.fill(conntrack_table.many(500, lambda number: 701, first=1 << 21))


@pytest.mark.parametrize("method", ["auto", "kernel", "entries"])
@pytest.mark.parametrize(
    ("zones", "matched"), [(["700"], MANY), (["700-701", "1"], MANY + 511), (["1"], 11), (["0"], 8), (["0", "65535"], 10), (["9"], 0)], ids=str
)
def test_methods_agree(ns: Namespace, zones: list[str], matched: int, method: str) -> None:
    _fill(ns)
    before = conntrack_command.lines(ns)
    options = {"netns": ns.name, "zones": zones, "method": method, "recount": True}
    trial = call("conntrack_flush", options, check=True)
    assert conntrack_command.count(ns) == len(before)
    done = call("conntrack_flush", options)
    again = call("conntrack_flush", options)

    wanted = {number for first, _dash, last in (text.partition("-") for text in zones) for number in range(int(first), int(last or first) + 1)}
    assert conntrack_command.table(ns) == {line.shown() for line in before if line.zone not in wanted}
    assert (done["matched"], done["deleted"], done["already_gone"], done["remaining"]) == (matched, matched, 0, 0)
    assert (done["changed"], again["changed"], again["matched"]) == (matched > 0, False, 0)
    assert trial["method"] == done["method"]
    if not matched:
        assert done["method"] == "none"
    elif method != "auto":
        assert {row["method"] for row in done["zones"] if row["matched"]} == {method}
    expected = {700: MANY, 701: 500, 1: 11, 0: 8, 65535: 2, 9: 0}
    assert {row["zone"]: row["deleted"] for row in done["zones"]} == {zone: expected[zone] for zone in wanted}


def test_auto_lets_the_kernel_flush_a_large_zone(ns: Namespace) -> None:
    """This kernel was seen to honour the zone filter; see the capabilities' tests for those that do not."""
    _fill(ns)
    capabilities = call("conntrack_facts", {"netns": ns.name, "gather_subset": ["capabilities"]})["ansible_facts"]["conntrack"]["capabilities"]
    done = call("conntrack_flush", {"netns": ns.name, "zones": ["700", "2"]})
    methods = {row["zone"]: row["method"] for row in done["zones"]}
    if capabilities["zone_filter"] != "exact":
        assert set(methods.values()) == {"entries"}
        pytest.skip(f"this kernel's zone filter is {capabilities['zone_filter']}, so entries went one by one")
    assert methods == {700: "kernel", 2: "entries"}
    assert done["method"] == "entries"
    assert done["proof"]["filter"] == "exact"


@pytest.mark.parametrize("method", ["auto", "kernel", "entries"])
def test_whole_table(ns: Namespace, make_namespace: t.Callable[[], Namespace], method: str) -> None:
    """Of this namespace: the hash table is shared by all, the flush is not."""
    other = make_namespace()
    mixed_table.fill(other)
    held = conntrack_command.table(other)
    _fill(ns)
    matched = MANY + 500 + len(mixed_table.ENTRIES)
    done = call("conntrack_flush", {"netns": ns.name, "all": True, "method": method})
    assert (done["matched"], done["deleted"]) == (matched, matched)
    assert conntrack_command.count(ns) == 0
    assert conntrack_command.table(other) == held
    assert done["method"] == ("entries" if method == "entries" else "kernel")


@pytest.mark.parametrize("method", ["auto", "kernel", "entries"])
@pytest.mark.parametrize("check", [False, True], ids=["for-real", "check-mode"])
def test_max_entries(ns: Namespace, method: str, check: bool) -> None:
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    options: dict[str, t.Any] = {"netns": ns.name, "zones": ["1"], "method": method}
    for most in (10, 0):
        refused = call("conntrack_flush", {**options, "max_entries": most}, check=check)
        assert (refused["failed"], refused["reason"], refused["changed"]) == (True, "too_many", False)
        assert (refused["matched"], refused["deleted"]) == (11, 0)
        assert "diff" not in refused
        assert "11" in refused["msg"]
        assert f"max_entries allows {most}" in refused["msg"]
        assert conntrack_command.table(ns) == before
    allowed = call("conntrack_flush", {**options, "max_entries": 11}, check=check)
    assert (allowed["failed"], allowed["matched"], allowed["changed"]) == (False, 11, True)
    assert conntrack_command.count(ns) == len(before) - (0 if check else 11)


def test_empty_table(ns: Namespace) -> None:
    for options in ({"all": True}, {"zones": ["5"]}, {"zones": ["5"], "method": "kernel"}, {"protocols": ["tcp"]}):
        done = call("conntrack_flush", {"netns": ns.name, "recount": True, **options})
        assert (done["failed"], done["changed"], done["matched"], done["method"], done["remaining"]) == (False, False, 0, "none", 0)
