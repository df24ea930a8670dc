# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule applies where it should and nowhere else; rules of users are read and refused."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import rules
from synthetic_fleet import process, switch

# What is found on the host on which nothing is wrong.
ALWAYS = {("conntrack-zone-flush-native", "")}


def change(facts: dict[str, t.Any], path: str, value: t.Any) -> None:
    """Sets what a dotted path leads to; a number is an index."""
    *way, last = path.split(".")
    for step in way:
        facts = facts[int(step) if isinstance(facts, list) else step]
    facts[int(last) if isinstance(facts, list) else last] = value


C, K, N, S = "conntrack", "kernel_audit", "kernel_audit.namespaces.0.conntrack", "netlink_sockets"
ZONES = f"{C}.capabilities.zone_filter"
ADVICE = [{"sysctl": "net.ipv4.vs.conntrack", "value": 0, "reason": "x"}]
WITH_UDP = {"services": 1, "destinations": 1, "by_protocol": {"tcp": 0, "udp": 1}}
MANY = {"services": 12, "destinations": 1, "by_protocol": {"tcp": 12, "udp": 0}}
PRESENT = {("ipvs-present", "")}

# Changes to the host, and the findings beside those above; a finding "-x" is one of those above that goes.
TABLE: list[tuple[dict[str, t.Any], set[tuple[str, str]]]] = [
    ({}, set()),
    ({ZONES: "ignored"}, {("conntrack-zone-flush-wipes", ""), ("-conntrack-zone-flush-native", "")}),
    ({ZONES: "zone_zero_unsafe"}, {("conntrack-zone-zero-wipes", ""), ("-conntrack-zone-flush-native", "")}),
    ({ZONES: "unknown"}, {("conntrack-zone-filter-unknown", ""), ("-conntrack-zone-flush-native", "")}),
    (
        {ZONES: "unsupported", f"{C}.capabilities.zones": False},
        {("conntrack-zones-not-built", ""), ("-conntrack-zone-flush-native", "")},
    ),
    ({f"{C}.capabilities.tuple_filter_ipv6": "inverted"}, {("conntrack-ipv6-filter-inverted", "")}),
    ({f"{C}.capabilities.tuple_filter_ipv6": "unsupported"}, set()),
    ({f"{C}.available": False, f"{C}.reason": "not_loaded", f"{C}.reason_text": "x"}, {("conntrack-absent", "")}),
    ({f"{C}.available": False, f"{C}.reason": "not_built", f"{C}.reason_text": "x"}, {("conntrack-absent", "")}),
    (
        {f"{C}.available": False, f"{C}.reason": "not_loaded", f"{C}.reason_text": "x", f"{C}.modules": {"nf_conntrack": "loadable"}},
        {("conntrack-absent", "")},
    ),
    (
        {f"{C}.available": False, f"{C}.reason": "not_loaded", f"{C}.reason_text": "x", f"{C}.modules": {"nf_conntrack": "loaded"}},
        {("conntrack-unreadable", "")},
    ),
    (
        {f"{C}.available": False, f"{C}.reason": "not_built", f"{C}.reason_text": "x", f"{C}.modules": {"nf_conntrack": "builtin"}},
        {("conntrack-unreadable", "")},
    ),
    ({f"{C}.available": False, f"{C}.reason": "not_permitted", f"{C}.reason_text": "x"}, {("audit-not-permitted", "")}),
    ({"ipvs.available": False, "ipvs.reason": "not_permitted", "ipvs.reason_text": "x"}, {("audit-not-permitted", "")}),
    ({f"{C}.table.used_percent": 79.9}, set()),
    ({f"{C}.table.used_percent": 80}, {("conntrack-table-high", "")}),
    ({f"{C}.table.used_percent": 94.9}, {("conntrack-table-high", "")}),
    ({f"{C}.table.used_percent": 95.0}, {("conntrack-table-critical", "")}),
    ({f"{C}.table.used_percent": None}, set()),
    ({f"{N}.table.used_percent": 99.0}, {("conntrack-table-critical", "qrouter-1")}),
    ({f"{N}.table.used_percent": 85.0}, {("conntrack-table-high", "qrouter-1")}),
    ({f"{C}.table.count": 131072}, {("conntrack-buckets-loaded", "")}),
    ({f"{C}.table.count": 130972 - 1}, set()),  # with the 100 of the namespace, two for each bucket
    ({f"{N}.table.count": 131072}, {("conntrack-buckets-loaded", "")}),
    ({f"{C}.table.max_per_bucket": 8.0}, set()),
    ({f"{C}.table.max_per_bucket": 8.1}, {("conntrack-buckets-few", "")}),
    ({f"{C}.statistics.drop": 600}, set()),  # of ten hours
    ({f"{C}.statistics.drop": 601}, {("conntrack-drops", "")}),
    ({f"{C}.statistics.early_drop": 601}, {("conntrack-early-drops", "")}),
    ({f"{C}.statistics.insert_failed": 601}, {("conntrack-insert-failed", "")}),
    ({f"{N}.statistics.drop": 601}, {("conntrack-drops", "qrouter-1")}),
    ({f"{C}.statistics.drop": 601, f"{K}.uptime_seconds": None}, set()),
    ({f"{C}.statistics.drop": 59, f"{K}.uptime_seconds": 10.0}, set()),  # a moment after the start
    ({f"{C}.settings.nf_conntrack_udp_timeout": 120}, {("conntrack-namespace-differs", "qrouter-1")}),
    (
        {f"{C}.settings.nf_conntrack_udp_timeout": 121, f"{N}.settings.nf_conntrack_udp_timeout": 121},
        {("conntrack-timeout-long", ""), ("conntrack-timeout-long", "qrouter-1")},
    ),
    ({f"{C}.settings.nf_conntrack_max": 5, f"{N}.settings.nf_conntrack_max": 6}, set()),
    ({f"{N}.settings.nf_conntrack_acct": 1}, {("conntrack-namespace-differs", "qrouter-1")}),
    ({f"{C}.settings.nf_conntrack_helper": 1}, {("conntrack-helpers-automatic", "")}),
    ({f"{C}.settings.nf_conntrack_helper": 0}, set()),
    ({f"{C}.capabilities.helpers.ftp": "loaded"}, {("conntrack-helpers-loaded", "")}),
    ({"ipvs.totals.services": 11}, PRESENT),
    ({"ipvs.totals": MANY}, PRESENT | {("ipvs-dump-may-skip", "")}),
    ({"ipvs.totals": MANY, "ipvs.capabilities.bulk_dump": True}, PRESENT),
    ({"ipvs.advice": ADVICE}, {("ipvs-setting", "")}),
    ({"ipvs.totals": WITH_UDP}, PRESENT | {("ipvs-udp-timeout", "")}),
    ({"ipvs.totals": WITH_UDP, "ipvs.settings.timeouts.udp": 120}, PRESENT),
    ({"ipvs.capabilities.schedulers.loadable": ["sh"]}, {("ipvs-schedulers-missing", "")}),
    ({"ipvs": {"available": False, "reason": "not_loaded", "reason_text": "x"}}, set()),
    ({f"{S}.processes.0": process("agent", 64, 100)}, {("sockets-files-high", "")}),
    ({f"{S}.processes.0": process("agent", 65, 100)}, {("sockets-files-critical", "")}),
    ({f"{S}.processes.0": process("agent", 63, 90)}, set()),  # holds fewer than is worth a look
    ({f"{S}.processes.0": process("agent", 600, 1024)}, set()),
    ({f"{S}.processes.0": dict(process("agent", 600, 1024), soft_limit=None, used_percent=None)}, set()),
    ({f"{S}.processes.0": process("agent", 5, 1024, drops=100)}, {("sockets-drops", "")}),
    ({f"{S}.processes.0": process("agent", 5, 1024, drops=99)}, set()),
    ({f"{S}.totals.unmatched": 4, f"{S}.totals.unreadable_processes": 2}, {("audit-processes-unreadable", ""), ("audit-not-permitted", "")}),
    ({f"{S}.totals.unreadable_processes": 2}, set()),
    ({S: {"available": False, "reason": "unreadable", "reason_text": "x"}}, {("audit-part-failed", "")}),
    ({S: {"available": False, "reason": "not_permitted", "reason_text": "x"}}, {("audit-not-permitted", "")}),
    ({"ipvs": {"available": False, "reason": "unreadable", "reason_text": "x"}}, {("audit-part-failed", "")}),
    ({"ipvs": {"available": False, "reason": None}}, {("audit-part-failed", "")}),
    ({f"{S}.openvswitch": [switch(40, "per_cpu")]}, {("ovs-mode", "")}),
    ({f"{S}.openvswitch": [switch(1500, "per_port")]}, {("ovs-mode", "")}),
    ({f"{S}.openvswitch": [switch(12, "none")]}, {("ovs-mode", "")}),
    ({f"{S}.openvswitch": [switch(60000, "per_port_and_handler")]}, {("ovs-socket-per-port-and-handler", ""), ("ovs-files-projected", "")}),
    ({f"{S}.openvswitch": [switch(20000, "per_port_and_handler")]}, {("ovs-socket-per-port-and-handler", "")}),
    ({f"{S}.openvswitch": [dict(switch(12, "unknown"), projected=None, version=None)]}, {("ovs-mode-unknown", "")}),
    ({f"{K}.namespaces_matched": 2}, {("audit-namespaces-left-out", "")}),
    ({f"{K}.problems": {"conntrack": {"reason": "no_answer", "text": "x"}}}, {("audit-part-failed", "")}),
    ({f"{K}.problems": {"conntrack": {"reason": "not_permitted", "text": "x"}}}, {("audit-not-permitted", "")}),
    ({f"{K}.problems": {"conntrack": {"reason": "missing_library", "text": "x"}}, f"{K}.pyroute2": False}, {("audit-no-pyroute2", "")}),
]


@pytest.mark.parametrize("changes, expected", TABLE)
def test_findings(changes: dict[str, t.Any], expected: set[tuple[str, str]], facts: dict[str, t.Any], build: t.Callable[..., dict[str, t.Any]]) -> None:
    for path, value in changes.items():
        change(facts, path, copy.deepcopy(value))
    (host,) = build({"host": {"ansible_facts": facts}})["hosts"]
    found = {(finding["id"], finding["space"]) for finding in host["findings"]}
    gone = {(name[1:], space) for name, space in expected if name.startswith("-")}
    assert found == (ALWAYS - gone) | {finding for finding in expected if not finding[0].startswith("-")}
    assert all(finding["evidence"].strip() for finding in host["findings"])


def test_each_rule_is_tried_both_ways(ready_rules: list[rules.Rule]) -> None:
    found = {name.lstrip("-") for _changes, expected in TABLE for name, _space in expected}
    of_results = {"host-unreachable", "host-failed"}  # in test_host.py
    assert found | of_results == {rule.id for rule in ready_rules}


def test_without_any_facts_no_rule_about_them_applies(build: t.Callable[..., dict[str, t.Any]], facts: dict[str, t.Any]) -> None:
    only = {"kernel_audit": facts["kernel_audit"]}
    only["kernel_audit"]["namespaces"] = []
    only["kernel_audit"]["namespaces_matched"] = 0
    (host,) = build({"host": {"ansible_facts": only}})["hosts"]
    assert host["findings"] == []
    assert "conntrack-table-high" in host["not_judged"]


GOOD = {"id": "mine", "severity": "low", "title": "T", "applies": "true", "evidence": "e"}


@pytest.mark.parametrize(
    "row, why",
    [
        (dict(GOOD, severity="awful"), "severity is one of"),
        (dict(GOOD, per="galaxy"), "per is one of"),
        (dict(GOOD, colour="red"), "colour is unknown"),
        ({"id": "mine", "severity": "low"}, "title is missing, applies is missing, evidence is missing"),
        (dict(GOOD, applies="1 +"), "rule mine"),
        (dict(GOOD, evidence="{{ open"), "rule mine"),
        (dict(GOOD, applies="(" * 5000 + "1" + ")" * 5000), "rule mine: it cannot be compiled: RecursionError"),
        (dict(GOOD, each="[" * 150 + "]" * 150), "rule mine: it cannot be compiled: "),
        (dict(GOOD, evidence="{{ " + "not " * 5000 + "1 }}"), "rule mine: it cannot be compiled: RecursionError"),
    ],
)
def test_a_rule_that_is_none(row: dict[str, t.Any], why: str) -> None:
    with pytest.raises(rules.RuleError, match=why):
        rules.compiled([row])


@pytest.mark.parametrize("text", ["a: b", "- text", "[", "- title: no id", "[" * 5000])
def test_a_file_that_is_none(text: str) -> None:
    with pytest.raises(rules.RuleError, match="mine.yml"):
        rules.parse(text, "mine.yml")


def test_a_user_changes_adds_and_switches_off() -> None:
    own = [{"id": "mine", "severity": "critical"}, dict(GOOD, id="more")]
    ready = rules.compiled(rules.merged([[GOOD, dict(GOOD, id="off")], own]), ["off"])
    assert [(rule.id, rule.severity, rule.title) for rule in ready] == [("mine", "critical", "T"), ("more", "low", "T")]


def test_a_rule_that_is_not_there_cannot_be_switched_off() -> None:
    with pytest.raises(rules.UnknownRule, match="typo"):
        rules.compiled([GOOD], ["typo"])


def test_a_wrong_expression_is_named() -> None:
    (rule,) = rules.compiled([dict(GOOD, applies="'text' > 5")])
    with pytest.raises(rules.RuleError, match="mine"):
        list(rule.ask({}))


MISSING = [
    "known.typo == 'x'",
    "known.typo != 'x'",
    "'x' != known.typo",
    "known.typo",
    "not known.typo",
    "known.typo or true",
    "known.typo in []",
    "known.typo not in []",
    "known.typo in 'x'",
    "'x' not in known.typo",
    "known.typo is none",
    "known.typo is not false",
    "known.typo is string",
    "known.typo is in ['x']",
    "'x' is ne known.typo",
    "[known.typo] | select('none') | list",
    "absent.far.away['x'][0] != 1",
    "absent.values() | list",
    "known.typo | length == 0",
    "known.typo ~ 'x'",
    "(known.typo if true else 1) > 0",
]


@pytest.mark.parametrize("applies", MISSING)
def test_a_rule_that_meets_a_missing_value_is_not_judged(applies: str) -> None:
    (rule,) = rules.compiled([dict(GOOD, applies=applies)])
    with pytest.raises(rules.NotJudged):
        list(rule.ask({"known": {}}))


@pytest.mark.parametrize(
    "applies, found",
    [
        ("known.typo is defined", []),
        ("absent.far.away is undefined", ["e"]),
        ("absent.far.away | default(5) == 5", ["e"]),
        ("known.typo is defined and known.typo == 1", []),
        ("known.none is none and known.none != 5", ["e"]),
    ],
)
def test_a_rule_may_ask_whether_a_value_is_missing(applies: str, found: list[str]) -> None:
    (rule,) = rules.compiled([dict(GOOD, applies=applies)])
    assert list(rule.ask({"known": {"none": None}})) == found


def test_evidence_without_its_value_is_none() -> None:
    (rule,) = rules.compiled([dict(GOOD, evidence="{{ known.typo }} s")])
    with pytest.raises(rules.NotJudged):
        list(rule.ask({"known": {}}))


def test_of_a_host_without_facts_only_rules_of_hosts_are_judged(ready_rules: list[rules.Rule], build: t.Callable[..., dict[str, t.Any]]) -> None:
    (host,) = build({"down": {"unreachable": True, "msg": "x"}})["hosts"]
    # The last one is of namespaces alone.
    assert {rule.id for rule in ready_rules} - set(host["not_judged"]) == {"host-unreachable", "host-failed", "conntrack-namespace-differs"}


@pytest.mark.parametrize("error", [RecursionError, RuntimeError, AssertionError])
def test_a_rule_that_fails_in_any_way_is_named(error: type[Exception]) -> None:
    def fails() -> None:
        raise error("so")

    (rule,) = rules.compiled([dict(GOOD, applies="said()")])
    with pytest.raises(rules.RuleError, match=f"rule mine: {error.__name__}: so"):
        list(rule.ask({"said": fails}))


def test_what_a_host_says_is_never_an_expression() -> None:
    (rule,) = rules.compiled([dict(GOOD, evidence="{{ said }}")])
    assert list(rule.ask({"said": "{{ 7 * 7 }}"})) == ["{{ 7 * 7 }}"]
    (rule,) = rules.compiled([dict(GOOD, applies="said.__class__.__mro__ is defined")])
    assert list(rule.ask({"said": "x"})) == []
