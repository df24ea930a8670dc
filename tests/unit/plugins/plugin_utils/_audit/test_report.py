# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that did not answer, sums, and what changed since an earlier report."""

from __future__ import annotations

import copy
import typing as t

import pytest
import synthetic_fleet
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import host, report

Build = t.Callable[..., t.Dict[str, t.Any]]

STATUSES: list[tuple[t.Any, str, str]] = [
    (None, "failed", "was not asked"),
    ({"unreachable": True, "msg": "\x1b[31mssh: No route\nto host\x1b[0m"}, "unreachable", "ssh: No route to host"),
    ({"msg": "MODULE FAILURE", "module_stdout": "python3: not found", "rc": 127}, "failed", "MODULE FAILURE python3: not found"),
    ({"ansible_facts": {"discovered_interpreter_python": "/usr/bin/python3"}, "msg": "broken"}, "failed", "broken"),
    ({"unreachable": True, "msg": "Task failed: no route"}, "unreachable", "no route"),
    ({}, "failed", "was not asked"),
    ({"unreachable": True}, "unreachable", "no reason was given"),
    ({"ansible_facts": 5}, "failed", "no facts came back"),
    ({"ansible_facts": ["kernel_audit"]}, "failed", "no facts came back"),
    (5, "failed", "what it returned cannot be judged: AttributeError"),
    ({"changed": False}, "failed", "no facts came back"),
]


@pytest.mark.parametrize("result, status, reason", STATUSES)
def test_a_host_without_facts(result: t.Any, status: str, reason: str, build: Build) -> None:
    (one,) = build({"web1": result})["hosts"]
    assert one["status"] == status
    assert reason in one["reason"]
    assert not one["reason"].startswith("Task failed")
    assert [finding["id"] for finding in one["findings"]] == [f"host-{status}"]
    assert one["kernel"] is None and one["table"] is None


def test_a_host_that_is_audited(facts: dict[str, t.Any], build: Build) -> None:
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert (one["status"], one["reason"], one["kernel"], one["worst"]) == ("audited", "", "6.12.117", "info")
    assert one["capabilities"]["ipvs"] == "loaded"
    assert one["capabilities"]["ovs"] == "no"


def test_a_host_without_ipvs_facts(facts: dict[str, t.Any], build: Build) -> None:
    del facts["ipvs"]
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert one["status"] == "audited"
    assert one["capabilities"]["ipvs"] is None


@pytest.mark.parametrize(
    "conntrack, ipvs, shown",
    [
        ({"available": True}, {"available": True, "totals": {"services": 1, "destinations": 0}}, (True, "in use")),
        ({"available": False, "reason": "not_built"}, {"available": False, "reason": "not_built"}, (False, "no")),
        ({"available": False, "reason": "not_permitted"}, {"available": False, "reason": "not_permitted"}, (None, None)),
        ({"available": False, "reason": "not_permitted", "modules": {"nf_conntrack": "builtin"}}, {"available": False}, (True, None)),
        ({"available": False, "reason": "not_loaded", "modules": {"nf_conntrack": "loadable"}}, {}, (False, None)),
        ({"available": False, "reason": "not_loaded", "modules": {"nf_conntrack": "loaded"}}, {}, (True, None)),
        ({"available": False, "reason": "missing_library", "modules": {"nf_conntrack": "loaded"}}, {"reason": "missing_library"}, (True, None)),
    ],
)
def test_what_is_known_of_a_table_that_cannot_be_read(
    conntrack: dict[str, t.Any], ipvs: dict[str, t.Any], shown: tuple[t.Any, t.Any], facts: dict[str, t.Any], build: Build
) -> None:
    facts.update(conntrack=conntrack, ipvs=ipvs)
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert (one["capabilities"]["conntrack"], one["capabilities"]["ipvs"]) == shown


@pytest.mark.parametrize("reason", ["missing_library", "no_answer"])
def test_a_host_that_is_audited_in_part(reason: str, facts: dict[str, t.Any], build: Build) -> None:
    facts["kernel_audit"]["problems"] = {"conntrack": {"reason": reason, "text": "why"}}
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert (one["status"], one["reason"]) == ("partial", "conntrack: why")


def test_a_reason_of_two_parts_is_told_once(facts: dict[str, t.Any], build: Build) -> None:
    problem = {"reason": "missing_library", "text": "no pyroute2"}
    facts["kernel_audit"]["problems"] = {"ipvs": problem, "conntrack": problem, "netlink_sockets": {"reason": None, "text": "other"}}
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert one["reason"] == "conntrack, ipvs: no pyroute2; netlink_sockets: other"


def test_sums_agree_with_the_hosts(build: Build) -> None:
    whole = build(synthetic_fleet.results(300))
    hosts, summary = whole["hosts"], whole["summary"]
    assert summary["hosts"] == len(hosts) == sum(summary["statuses"].values()) == sum(summary["hosts_by_worst"].values()) == 300
    for severity, number in summary["findings"].items():
        assert number == sum(finding["severity"] == severity for one in hosts for finding in one["findings"])
        assert summary["hosts_affected"][severity] == sum(any(finding["severity"] == severity for finding in one["findings"]) for one in hosts)
    for rule in whole["rules"]:
        assert rule["findings"] == sum(finding["id"] == rule["id"] for one in hosts for finding in one["findings"])
    assert sum(step["hosts"] for step in whole["distributions"]["table_use"]) + whole["distributions"]["table_use_unknown"] == 300
    assert sum(row["hosts"] for row in whole["distributions"]["kernels"]) == sum(bool(one["kernel"]) for one in hosts)
    tables = [table for one in hosts for table in [one["table"], *(space["table"] for space in one["namespaces"])] if table]
    assert summary["entries"] == sum(table["count"] for table in tables)


def test_names_are_sorted_as_people_do(build: Build) -> None:
    assert [one["name"] for one in build(dict.fromkeys(["web10", "web2", "db", "web1"]))["hosts"]] == ["db", "web1", "web2", "web10"]


@pytest.mark.parametrize(
    "worst, fail_on, fails",
    [("high", "critical", False), ("high", "high", True), ("high", "low", True), ("info", "info", True), ("info", "low", False), ("critical", "never", False)],
)
def test_fails(worst: str, fail_on: str, fails: bool) -> None:
    summary = {"findings": dict.fromkeys(("critical", "high", "medium", "low", "info"), 0)}
    summary["findings"][worst] = 1
    assert report.fails(summary, fail_on) is fails


def results(**hosts: t.Any) -> dict[str, t.Any]:
    return {name: {"ansible_facts": copy.deepcopy(facts)} if "kernel_audit" in facts else facts for name, facts in hosts.items()}


def test_comparison(facts: dict[str, t.Any], build: Build) -> None:
    earlier = build(results(gone=facts, same=facts, worse=facts, better=facts, down={"unreachable": True, "msg": "x"}))
    earlier_better = next(one for one in earlier["hosts"] if one["name"] == "better")
    earlier_better["findings"].append({"id": "conntrack-buckets-few", "severity": "low", "space": "", "evidence": "x"})
    worse = copy.deepcopy(facts)
    worse["conntrack"]["table"]["used_percent"] = 96.0
    worse["conntrack"]["capabilities"]["zone_filter"] = "ignored"
    worse["kernel_audit"]["kernel"] = "6.1.0"
    compared = build(results(new=facts, same=facts, worse=worse, better=facts, down=facts), earlier)["comparison"]
    rows = {row["name"]: row for row in compared["changed"]}
    assert (compared["added"], compared["removed"], compared["unchanged"]) == (["new"], ["gone"], 1)
    assert set(rows) == {"worse", "better", "down"}
    assert rows["worse"]["kernel"] == ["6.12.117", "6.1.0"]
    assert rows["worse"]["table_used_percent"] == [0.0, 96.0]
    assert rows["worse"]["capabilities"] == {"zone_filter": ["exact", "ignored"]}
    assert {finding["id"] for finding in rows["worse"]["findings_new"]} == {"conntrack-table-critical", "conntrack-zone-flush-wipes"}
    assert {finding["id"] for finding in rows["worse"]["findings_resolved"]} == {"conntrack-zone-flush-native"}
    assert {finding["id"] for finding in rows["better"]["findings_resolved"]} == {"conntrack-buckets-few"}
    assert rows["down"]["status"] == ["unreachable", "audited"]
    assert {finding["id"] for finding in rows["down"]["findings_resolved"]} == {"host-unreachable"}
    assert rows["down"]["findings_new"] == [], "what it has now it may have had then"


FEW, CRITICAL = ("conntrack-buckets-few", ""), ("conntrack-table-critical", "qrouter-1")
WORSE = {"conntrack.table.max_per_bucket": 9.0, "kernel_audit.namespaces.0.conntrack.table.used_percent": 99.0}


@pytest.mark.parametrize(
    "unseen, seen",
    [
        ({}, {FEW, CRITICAL}),
        ({"conntrack": {"available": False, "reason": "not_permitted"}}, {CRITICAL}),
        ({"kernel_audit.namespaces": []}, {FEW}),
        ({"kernel_audit.namespaces.0.conntrack": {"available": False}}, {FEW}),
        ({"conntrack.table.max_per_bucket": "odd"}, None),
        ({"kernel_audit.namespaces.0.name": "another"}, {FEW}),
    ],
)
def test_only_what_was_judged_on_both_days_is_new_or_resolved(
    unseen: dict[str, t.Any], seen: set[tuple[str, str]] | None, facts: dict[str, t.Any], build: Build
) -> None:
    """``None`` is a host whose facts are refused."""
    bad, other = copy.deepcopy(facts), facts
    for target, changes in ((bad, WORSE), (other, unseen)):
        for path, value in changes.items():
            _set(target, path, value)
    for first, second, key in ((bad, other, "findings_resolved"), (other, bad, "findings_new")):
        changed = build(results(web=second), build(results(web=first)))["comparison"]["changed"]
        found = {(finding["id"], finding["space"]) for row in changed for finding in row[key]}
        assert found & {FEW, CRITICAL} == (seen or set())


def test_a_rule_that_is_only_in_one_report_is_neither_new_nor_resolved(facts: dict[str, t.Any], build: Build) -> None:
    bad = copy.deepcopy(facts)
    _set(bad, "conntrack.table.max_per_bucket", 9.0)
    for first, second, key in ((bad, facts, "findings_resolved"), (facts, bad, "findings_new")):
        earlier = build(results(web=first))
        if key == "findings_new":
            earlier["rules"] = [rule for rule in earlier["rules"] if rule["id"] != FEW[0]]
        else:
            next(one for one in earlier["hosts"] if one["name"] == "web")["findings"].append({"id": "mine", "severity": "low", "space": "", "evidence": "x"})
        changed = build(results(web=second), earlier)["comparison"]["changed"]
        assert {finding["id"] for row in changed for finding in row[key]} == ({FEW[0]} if key == "findings_resolved" else set())


def _set(facts: dict[str, t.Any], path: str, value: t.Any) -> None:
    *way, last = path.split(".")
    target: t.Any = facts
    for step in way:
        target = target[int(step) if isinstance(target, list) else step]
    target[last] = value


def test_a_host_that_went_down_resolved_nothing(facts: dict[str, t.Any], build: Build) -> None:
    earlier = build(results(web=facts))
    (row,) = build({"web": {"unreachable": True, "msg": "x"}}, earlier)["comparison"]["changed"]
    assert row["findings_resolved"] == []
    assert [finding["id"] for finding in row["findings_new"]] == ["host-unreachable"]


@pytest.mark.parametrize("earlier", [{}, [], {"schema": "other"}, {"schema": report.SCHEMA, "schema_version": 99, "hosts": []}])  # more in test_audit_report.py
def test_an_earlier_report_that_is_none(earlier: t.Any, build: Build) -> None:
    with pytest.raises(report.ReportError):
        build({}, earlier)


@pytest.mark.parametrize(
    "uptime, before, seconds, expected",
    [
        (36000, None, None, (60.0, "since the kernel started")),
        (36000, {"drop": 0}, 7200, (300.0, "since the earlier report")),
        (3600, {"drop": 0}, 7200, (600.0, "since the kernel started")),  # restarted since
        (36000, {"drop": 601}, 7200, (60.0, "since the kernel started")),  # the counter went back
        (60, None, None, (600.0, "since the kernel started")),
        (None, None, None, (None, "")),
        (36000, {"drop": 0}, -7200, (60.0, "since the kernel started")),  # its clock was set back
    ],
)
def test_rates(uptime: t.Any, before: t.Any, seconds: t.Any, expected: tuple[t.Any, str]) -> None:
    rates, over = host.rates({"drop": 600}, uptime, before, seconds)
    assert (rates.get("drop"), over) == expected


@pytest.mark.parametrize(
    "uptime, before, seconds, told",
    [
        (36000, None, None, "10.0 an hour since the kernel started"),
        (3600, None, None, "100.0 an hour since the kernel started"),
        (600, None, None, "100 in 10 minutes, since the kernel started"),
        (60.4, None, None, "100 in 1 minute, since the kernel started"),
        (42, None, None, "100 in 42 seconds, since the kernel started"),
        (0.2, None, None, "100 in 1 second, since the kernel started"),
        (36000, {"drop": 90}, 1800, "10 in 30 minutes, since the earlier report"),
        (None, None, None, None),
    ],
)
def test_rates_in_words(uptime: t.Any, before: t.Any, seconds: t.Any, told: str | None) -> None:
    assert host.rates_told({"drop": 100}, uptime, before, seconds).get("drop") == told


def test_the_evidence_of_a_rate_is_true(facts: dict[str, t.Any], build: Build) -> None:
    facts["conntrack"]["statistics"]["drop"] = 100
    facts["kernel_audit"]["uptime_seconds"] = 600.0
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert "100 in 10 minutes, since the kernel started (100 together)" in [finding["evidence"] for finding in one["findings"]]


@pytest.mark.parametrize(
    "part, value, status, reason",
    [
        ("netlink_sockets", {"available": False, "reason": "unreadable", "reason_text": "/proc/net/netlink: no"}, "partial", "/proc/net/netlink: no"),
        ("netlink_sockets", {"available": False, "reason": "other", "reason_text": None}, "partial", "it could not be read"),
        ("ipvs", {"available": False, "reason": "not_loaded"}, "audited", ""),
        ("ipvs", {"available": False, "reason": "not_built"}, "audited", ""),
        ("ipvs", {"available": False, "reason": "absent"}, "audited", ""),
        ("netlink_sockets", {"totals": {"unmatched": 9, "unreadable_processes": 80}}, "partial", "80 processes may not be looked into, 9 sockets have"),
        # As of root, to whom one process is hidden that has no sockets.
        ("netlink_sockets", {"totals": {"unmatched": 0, "unreadable_processes": 1}}, "audited", ""),
        ("netlink_sockets", {"totals": {"unmatched": 9, "unreadable_processes": 0}}, "audited", ""),
    ],
)
def test_a_part_that_is_missing(part: str, value: dict[str, t.Any], status: str, reason: str, facts: dict[str, t.Any], build: Build) -> None:
    facts[part] = value
    (one,) = build({"web1": {"ansible_facts": facts}})["hosts"]
    assert one["status"] == status
    assert reason in one["reason"] and bool(one["reason"]) is bool(reason)


SHAPES: list[tuple[str, t.Any, str]] = [
    ("conntrack", [], "facts.conntrack is no mapping"),
    ("conntrack.table.used_percent", "99", "facts.conntrack.table.used_percent is of another type"),
    ("conntrack.table.count", True, "facts.conntrack.table.count is of another type"),
    ("conntrack.table", {}, "facts.conntrack.table lacks count"),
    ("netlink_sockets.processes", {}, "facts.netlink_sockets.processes is no list"),
    ("netlink_sockets.processes", [{}], "facts.netlink_sockets.processes[0] lacks pid"),
    ("kernel_audit.namespaces", [{"name": 5, "problems": {}}], "facts.kernel_audit.namespaces[0].name is of another type"),
    ("kernel_audit.namespaces", [{"problems": {}}], "facts.kernel_audit.namespaces[0] lacks name"),
    ("kernel_audit.namespaces", [{"name": "a"}], "facts.kernel_audit.namespaces[0] lacks problems"),
    ("kernel_audit.problems", {"ipvs": {}}, "facts.kernel_audit.problems.ipvs lacks reason"),
    ("kernel_audit.uptime_seconds", 10**400, "facts.kernel_audit.uptime_seconds is beyond what a kernel counts"),
    ("netlink_sockets.totals.holders", "x", "facts.netlink_sockets.totals.holders is of another type"),
    ("netlink_sockets.openvswitch", [{"evidence": "x"}], "facts.netlink_sockets.openvswitch[0] lacks upcall_mode"),
    ("ipvs.totals", {"services": 1}, "facts.ipvs.totals lacks destinations"),
    ("ipvs.capabilities.schedulers.usable", {}, "facts.ipvs.capabilities.schedulers.usable is no list"),
    ("conntrack.statistics.drop", 10**400, "facts.conntrack.statistics.drop is beyond what a kernel counts"),
    ("conntrack.statistics.drop", 2**64, "facts.conntrack.statistics.drop is beyond what a kernel counts"),
    ("conntrack.statistics.drop", -1, "facts.conntrack.statistics.drop is beyond what a kernel counts"),
    ("conntrack.table.count", 10**400, "facts.conntrack.table.count is beyond what a kernel counts"),
    ("conntrack.table.count", 1.0, "facts.conntrack.table.count is of another type"),
    ("conntrack.table.used_percent", float("nan"), "facts.conntrack.table.used_percent is no finite number"),
    ("conntrack.table.used_percent", float("inf"), "facts.conntrack.table.used_percent is no finite number"),
    ("conntrack.table.used_percent", -500, "facts.conntrack.table.used_percent is beyond what a kernel counts"),
    ("conntrack.table.used_percent", 10**400, "facts.conntrack.table.used_percent is beyond what a kernel counts"),
    ("conntrack.table.unknown", float("nan"), "facts.conntrack.table.unknown is no finite number"),
    ("conntrack.settings.nf_conntrack_udp_timeout", 2**64, "facts.conntrack.settings.nf_conntrack_udp_timeout is beyond what a kernel counts"),
    ("conntrack.unknown", [{"deep": float("nan")}], "facts.conntrack.unknown[0].deep is no finite number"),
    ("unknown", [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]], "facts.unknown[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0] is nested too deep"),
    ("kernel_audit", {}, "facts.kernel_audit lacks kernel"),
    ("kernel_audit.kernel", "x" * 16385, "facts.kernel_audit.kernel has 16385 characters, more than 16384"),
    ("unknown", [0] * 65537, "facts.unknown has 65537 items, more than 65536"),
    ("conntrack.statistics", dict.fromkeys(map(str, range(1025)), 0), "facts.conntrack.statistics has 1025 keys, more than 1024"),
    ("conntrack.statistics", {"x" * 16385: 0}, "facts.conntrack.statistics has a key of 16385 characters"),
    (
        "conntrack.capabilities.zone_filter",
        "**x**",
        "facts.conntrack.capabilities.zone_filter is none of exact, ignored, zone_zero_unsafe, unsupported, unknown",
    ),
    ("conntrack.capabilities.zone_filter", [], "facts.conntrack.capabilities.zone_filter is none of exact, ignored, zone_zero_unsafe, unsupported, unknown"),
    ("conntrack.capabilities.tuple_filter_ipv6", "x", "facts.conntrack.capabilities.tuple_filter_ipv6 is none of right, inverted, ignored, unsupported"),
    (
        "netlink_sockets.openvswitch",
        [{"upcall_mode": "<b>", "evidence": "x"}],
        "facts.netlink_sockets.openvswitch[0].upcall_mode is none of per_cpu, per_port, per_port_and_handler, none, unknown",
    ),
]


@pytest.mark.parametrize("path, value, why", SHAPES)
def test_a_host_whose_facts_are_of_another_shape(path: str, value: t.Any, why: str, facts: dict[str, t.Any], build: Build) -> None:
    honest = copy.deepcopy(facts)
    *way, last = path.split(".")
    target = facts
    for step in way:
        target = target[step]
    target[last] = value
    (other, one) = build({"honest": {"ansible_facts": honest}, "liar": {"ansible_facts": facts}})["hosts"]
    assert other["status"] == "audited"
    assert (one["status"], one["reason"]) == ("failed", f"it returned no facts of this audit: {why}")


@pytest.mark.parametrize(
    "path, value",
    [
        ("conntrack.table.count", 2**64 - 1),
        ("conntrack.table.used_percent", 100.1),  # the limit was lowered
        ("conntrack.statistics.drop", 2**64 - 1),
        ("conntrack.settings.nf_conntrack_udp_timeout", -1),
        ("kernel_audit.uptime_seconds", 0.0),
        ("unknown", {"new": [1, None, "x", True, -5.5]}),
    ],
)
def test_what_a_kernel_can_hold_is_audited(path: str, value: t.Any, facts: dict[str, t.Any], build: Build) -> None:
    *way, last = path.split(".")
    target = facts
    for step in way:
        target = target[step]
    target[last] = value
    (one,) = build({"host": {"ansible_facts": facts}})["hosts"]
    assert (one["status"], one["rule_errors"]) == ("audited", [])


@pytest.mark.parametrize("most, status", [(0, "failed"), (1, "audited"), (None, "audited")])
def test_more_namespaces_than_were_asked_for(most: int | None, status: str, facts: dict[str, t.Any], build: Build) -> None:
    (one,) = build({"host": {"ansible_facts": facts}}, most=most)["hosts"]
    assert one["status"] == status
    assert ("has 1 items, more than audit_namespaces_limit, which is 0" in one["reason"]) is (status == "failed")


def test_what_a_rule_cannot_compare_is_told_and_harms_nothing(facts: dict[str, t.Any], build: Build) -> None:
    facts["conntrack"]["settings"]["nf_conntrack_udp_timeout"] = "long"
    (one,) = build({"odd": {"ansible_facts": facts}})["hosts"]
    assert any("conntrack-timeout-long" in error for error in one["rule_errors"])
    assert "conntrack-zone-flush-native" in {finding["id"] for finding in one["findings"]}
