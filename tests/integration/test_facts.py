# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts against conntrack(8) and /proc, and what is returned when."""

from __future__ import annotations

import collections
import json
import os
import typing as t

import conntrack_command
import conntrack_table
import mixed_table
import pytest
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

ALWAYS = {"available", "reason", "reason_text", "module", "modules", "kernel", "netns", "gathered_at"}
DEFAULT = {"capabilities", "table", "statistics", "settings"}
EVERY = DEFAULT | {"zones", "protocols"}
NAMES = {1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 58: "icmpv6", 132: "sctp"}


def _facts(ns: Namespace, *subset: str) -> dict[str, t.Any]:
    options = {"gather_subset": list(subset)} if subset else {}
    return call("conntrack_facts", {**options, "netns": ns.name})["ansible_facts"]["conntrack"]


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ([], DEFAULT),
        (["all"], EVERY),
        (["min"], set()),
        (["zones"], {"zones"}),
        (["min", "protocols"], {"protocols"}),
        (["!capabilities"], DEFAULT - {"capabilities"}),
        (["!zones"], DEFAULT),
        (["all", "!zones", "!statistics"], EVERY - {"zones", "statistics"}),
        (["!all"], set()),
        (["!all", "table"], {"table"}),
        (["table", "!table"], {"table"}),
        (["all", "!zones", "zones"], EVERY),
        (["!min", "table"], {"table"}),
        (["settings", "table"], {"settings", "table"}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, list) else "",
)
def test_subsets(ns: Namespace, subset: list[str], expected: set[str]) -> None:
    for check in (False, True):
        options = {"gather_subset": subset} if subset else {}
        result = call("conntrack_facts", {**options, "netns": ns.name}, check=check)
        assert set(result) - {"failed"} == {"ansible_facts"}
        assert set(result["ansible_facts"]) == {"conntrack"}
        assert set(result["ansible_facts"]["conntrack"]) == ALWAYS | expected


@pytest.mark.parametrize("subset", [["tabel"], ["!tabel"], [""], ["table", "network"]], ids=str)
def test_unknown_subset(ns: Namespace, subset: list[str]) -> None:
    result = call("conntrack_facts", {"gather_subset": subset, "netns": ns.name})
    assert (result["failed"], result["option"]) == (True, "gather_subset")


def test_what_is_always_there(ns: Namespace) -> None:
    facts = _facts(ns, "min")
    assert (facts["available"], facts["reason"], facts["reason_text"]) == (True, None, None)
    assert (facts["kernel"], facts["netns"]) == (os.uname().release, ns.name)
    assert facts["module"] in ("builtin", "loaded")
    assert set(facts["modules"]) == {"nf_conntrack", "nf_conntrack_netlink"}


def test_table(ns: Namespace) -> None:
    mixed_table.fill(ns)
    table = _facts(ns, "table")["table"]
    assert table["count"] == conntrack_command.count(ns) == len(mixed_table.ENTRIES)
    assert (table["max"], table["buckets"]) == (ns.setting("max"), ns.setting("buckets"))
    assert table["used_percent"] == round(100 * table["count"] / table["max"], 1)
    assert table["max_per_bucket"] == round(table["max"] / table["buckets"], 2)
    assert (table["expectations"], table["expectations_max"]) == (0, ns.setting("expect_max"))


def test_expectations(ns: Namespace) -> None:
    try:
        ns.fill([conntrack_table.entry("10.8.0.1", ports=(1000, 21), helper="ftp")])
    except AssertionError:
        pytest.skip("this kernel has no FTP helper")
    ends = ["--orig-src", "10.8.0.1", "--orig-dst", "192.0.2.1", "-p", "tcp", "--sport", "1000", "--dport", "21", "-t", "300"]
    expected = ["--tuple-src", "10.8.0.1", "--tuple-dst", "192.0.2.1", "--mask-src", "255.255.255.255", "--mask-dst", "255.255.255.255"]
    ports = ["--tuple-port-src", "0", "--tuple-port-dst", "2000", "--mask-port-src", "0", "--mask-port-dst", "65535"]
    ns.command("conntrack", "-I", "exp", *ends, *expected, *ports)
    assert _facts(ns, "table")["table"]["expectations"] == len(ns.command("conntrack", "-L", "exp").splitlines()) == 1


def test_statistics(ns: Namespace) -> None:
    mixed_table.fill(ns)
    ns.command("conntrack", "-D", "-p", "udp")
    seen = conntrack_command.statistics(ns)
    told = _facts(ns, "statistics")["statistics"]
    assert {name.replace("_", ""): value for name, value in told.items()} == {name.replace("_", ""): value for name, value in seen.items()}
    assert told["insert"] == len(mixed_table.ENTRIES)


def test_settings(ns: Namespace) -> None:
    for value in (0, 1):
        ns.setting("acct", value)
        ns.setting("tcp_timeout_established", 4000 + value)
        listed = ns.command("sh", "-c", "cd /proc/sys/net/netfilter && grep '' nf_conntrack_*")
        expected = dict(line.split(":", 1) for line in listed.splitlines())
        settings = _facts(ns, "settings")["settings"]
        assert {name: str(number) for name, number in settings.items()} == expected
        assert settings["nf_conntrack_tcp_timeout_established"] == 4000 + value


def test_switches(ns: Namespace) -> None:
    for value, events in ((0, "off"), (1, "on"), (2, "auto")):
        for name in ("acct", "timestamp", "events"):
            ns.setting(name, value if name == "events" else min(value, 1))
        capabilities = _facts(ns, "capabilities")["capabilities"]
        assert (capabilities["accounting"], capabilities["timestamps"], capabilities["events"]) == (bool(value), bool(value), events)


def test_zones(ns: Namespace) -> None:
    mixed_table.fill(ns)
    lines = conntrack_command.lines(ns)
    expected: dict[int, dict[str, t.Any]] = {}
    for line in lines:
        row = expected.setdefault(line.zone, {"both": 0, "original": 0, "reply": 0, "assured": 0, "protocols": collections.Counter()})
        carrier = "original" if "zone-orig=" in line.rest else "reply" if "zone-reply=" in line.rest else "both"
        row[carrier] += 1
        row["assured"] += "[ASSURED]" in line.rest
        row["protocols"][NAMES[line.protocol]] += 1
    rows = _facts(ns, "zones")["zones"]
    assert {row["zone"]: {key: row[key] for key in ("both", "original", "reply", "assured", "protocols")} for row in rows} == expected
    assert all(row["entries"] == row["both"] + row["original"] + row["reply"] for row in rows)
    sizes = [row["entries"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == len(lines)


def test_protocols(ns: Namespace) -> None:
    mixed_table.fill(ns)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    states: collections.Counter[tuple[str, str]] = collections.Counter()
    for line in conntrack_command.lines(ns):
        counts[line.family, NAMES[line.protocol]] += 1
        if line.protocol == 6:
            states[line.family, line.rest.split()[0]] += 1
    told = _facts(ns, "protocols")["protocols"]
    assert {(family, name): row["entries"] for family, rows in told.items() for name, row in rows.items()} == counts
    assert {(family, state): number for family, rows in told.items() for state, number in rows["tcp"]["states"].items()} == states
    assert [name for rows in told.values() for name, row in rows.items() if "states" in row] == ["tcp"] * len(told)


def test_empty_table(ns: Namespace) -> None:
    facts = _facts(ns, "all")
    assert (facts["zones"], facts["protocols"], facts["table"]["count"], facts["table"]["used_percent"]) == ([], {}, 0, 0.0)


def test_size_with_many_zones(ns: Namespace) -> None:
    """The default does not grow with the table."""
    ns.fill(conntrack_table.many(5000, lambda number: 1 + number % 500))
    assert len(json.dumps(call("conntrack_facts", {"netns": ns.name}))) < 16 << 10
    assert len(json.dumps(_facts(ns, "all"))) < 256 << 10
    assert len(_facts(ns, "zones")["zones"]) == 500


def test_nothing_is_changed(ns: Namespace, make_namespace: t.Callable[[], Namespace]) -> None:
    """Neither this namespace's table nor another's, though capabilities are tried out by flushing."""
    other = make_namespace()
    for namespace in (ns, other):
        mixed_table.fill(namespace)
    before, beside = conntrack_command.table(ns), conntrack_command.table(other)
    settings = ns.command("sh", "-c", "cd /proc/sys/net/netfilter && grep '' nf_conntrack_*")
    _facts(ns, "all")
    assert conntrack_command.table(ns) == before
    assert conntrack_command.table(other) == beside
    assert ns.command("sh", "-c", "cd /proc/sys/net/netfilter && grep '' nf_conntrack_*") == settings
