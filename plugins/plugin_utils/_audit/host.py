# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One host in the report: how the audit went there, what it can do, what was found. Pure."""

from __future__ import annotations

import datetime
import re
import typing as t

from . import shape
from .rules import SEVERITIES, NotJudged, Rule, RuleError

AUDITED, PARTIAL, UNREACHABLE, FAILED = "audited", "partial", "unreachable", "failed"
STATUSES = (AUDITED, PARTIAL, FAILED, UNREACHABLE)
PARTS = ("conntrack", "ipvs", "netlink_sockets")

_NOT_THERE = ("not_loaded", "not_built", "absent")
_LONGEST_REASON = 400
_TIME = "%Y-%m-%dT%H:%M:%SZ"
# Values that describe the host or the moment, not how a namespace was set.
_NOT_SETTINGS = frozenset(["nf_conntrack_count", "nf_conntrack_max", "nf_conntrack_buckets", "nf_conntrack_expect_max"])


class Measure(t.NamedTuple):
    """What all hosts are judged by.

    :ivar most: namespaces that each was asked for; ``None`` is any number
    """

    rules: t.Sequence[Rule]
    thresholds: t.Mapping[str, t.Any]
    most: int | None = None


def status_of(result: t.Mapping[str, t.Any] | None, most: int | None = None) -> tuple[str, str]:
    """How the audit went on a host, and why not better.

    :param result: what the task that gathered returned; ``None`` when it did not run
    :param most: namespaces that it was asked for
    """
    if not result:
        return FAILED, "the host was not asked: it failed or was skipped before"
    if result.get("unreachable"):
        return UNREACHABLE, _cleaned(result.get("msg")) or "no reason was given"
    facts = result.get("ansible_facts")
    if not isinstance(facts, dict) or "kernel_audit" not in facts:
        said = result.get("msg")
        # A shell that found no interpreter tells it in what it printed.
        printed = " ".join(str(result.get(name) or "") for name in ("module_stderr", "module_stdout"))
        return FAILED, _cleaned(f"{said} {printed}" if said else printed) or "no facts came back"
    fault = _too_many(facts["kernel_audit"], most) or shape.fault(facts, shape.FACTS, "facts")
    if fault:
        return FAILED, _cleaned(f"it returned no facts of this audit: {fault}")
    parts: dict[str, list[str]] = {}
    for name, problem in missing(facts).items():
        parts.setdefault(problem["text"], []).append(name)
    shown = "; ".join(f"{', '.join(names)}: {text}" for text, names in parts.items())
    return (PARTIAL, _cleaned(shown)) if shown else (AUDITED, "")


def _too_many(audit: t.Any, most: int | None) -> str | None:
    spaces = audit.get("namespaces") if isinstance(audit, dict) else None
    if most is None or not isinstance(spaces, list) or len(spaces) <= most:
        return None
    return f"facts.kernel_audit.namespaces has {len(spaces)} items, more than audit_namespaces_limit, which is {most}"


def missing(facts: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """The parts that were not read, or not whole, each with ``reason`` and ``text``. What the kernel does not have is not missing."""
    found = dict(sorted(facts["kernel_audit"]["problems"].items()))
    for name in PARTS:
        part = facts.get(name) or {}
        reason = part.get("reason")
        if reason == "not_permitted" or (part.get("available") is False and reason not in _NOT_THERE and name not in found):
            found[name] = {"reason": reason, "text": part.get("reason_text") or "it could not be read"}
    totals = (facts.get("netlink_sockets") or {}).get("totals") or {}
    unseen, unread = totals.get("unmatched"), totals.get("unreadable_processes")
    # Some processes are hidden from root too; that matters where they hold sockets.
    if unseen and unread and "netlink_sockets" not in found:
        found["netlink_sockets"] = {
            "reason": "not_permitted",
            "text": f"{unread} processes may not be looked into, {unseen} sockets have no owner that was seen",
        }
    return found


def _cleaned(text: t.Any) -> str:
    """One line without terminal colours, control characters, and what Ansible puts in front of every failure."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text or ""))
    plain = re.sub(r"^Task failed: ", "", plain)
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", plain).split())[:_LONGEST_REASON]


def judged(name: str, result: t.Mapping[str, t.Any] | None, measure: Measure, earlier: t.Mapping[str, t.Any] | None) -> dict[str, t.Any]:
    """The host as in the report. What goes wrong with what it returned is told of it, and of no other.

    :param earlier: the same host in an earlier report
    """
    try:
        return _judged(name, result, measure, earlier)
    except Exception as error:  # pylint: disable=broad-except  # a host that was taken over may think of what the shape does not
        return _judged(name, {"msg": f"what it returned cannot be judged: {type(error).__name__}: {error}"}, measure, None)


def _judged(name: str, result: t.Mapping[str, t.Any] | None, measure: Measure, earlier: t.Mapping[str, t.Any] | None) -> dict[str, t.Any]:
    status, reason = status_of(result, measure.most)
    facts = dict(result["ansible_facts"]) if result and status in (AUDITED, PARTIAL) else {}
    audit = facts.get("kernel_audit") or {}
    host = {"name": name, "status": status, "reason": reason}
    findings, unjudged, errors = _findings(host, facts, measure, earlier)
    conntrack = facts.get("conntrack") or {}
    return {
        **host,
        "kernel": audit.get("kernel"),
        "gathered_at": audit.get("gathered_at"),
        "uptime_seconds": audit.get("uptime_seconds"),
        "worst": next((severity for severity in SEVERITIES if any(found["severity"] == severity for found in findings)), None),
        "capabilities": capabilities(facts),
        "table": conntrack.get("table"),
        "statistics": conntrack.get("statistics"),
        "namespaces": [
            {
                "name": space["name"],
                "table": (space.get("conntrack") or {}).get("table"),
                "statistics": (space.get("conntrack") or {}).get("statistics"),
                "problems": space["problems"],
                "not_judged": unjudged.get(space["name"], []),
            }
            for space in audit.get("namespaces") or []
        ],
        "ipvs": (facts.get("ipvs") or {}).get("totals"),
        "sockets": (facts.get("netlink_sockets") or {}).get("totals"),
        "processes": ((facts.get("netlink_sockets") or {}).get("processes") or [])[:5],
        "openvswitch": (facts.get("netlink_sockets") or {}).get("openvswitch") or [],
        "findings": findings,
        "not_judged": unjudged.get("", []),
        "rule_errors": errors,
    }


def capabilities(facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The row of the matrix. ``None`` is what is not known."""
    conntrack, ipvs, sockets = (facts.get(name) or {} for name in PARTS)
    can = conntrack.get("capabilities") or {}
    modes = sorted({daemon.get("upcall_mode") for daemon in sockets.get("openvswitch") or []} - {None})
    return {
        "conntrack": _tracks(conntrack),
        "zone_filter": can.get("zone_filter"),
        "status_filter": can.get("status_filter"),
        "tuple_filter_ipv6": can.get("tuple_filter_ipv6"),
        "labels": can.get("labels"),
        "accounting": can.get("accounting"),
        "ipvs": _ipvs(ipvs),
        "ovs": ", ".join(modes) if modes else ("no" if "openvswitch" in sockets else None),
        "pyroute2": (facts.get("kernel_audit") or {}).get("pyroute2"),
    }


def _tracks(conntrack: t.Mapping[str, t.Any]) -> bool | None:
    """Whether connections are tracked, be the table readable or not."""
    if conntrack.get("available") or (conntrack.get("modules") or {}).get("nf_conntrack") in ("loaded", "builtin"):
        return True
    return False if conntrack.get("reason") in ("not_loaded", "not_built") else None


def _ipvs(ipvs: t.Mapping[str, t.Any]) -> str | None:
    if not ipvs.get("available"):
        return "no" if ipvs.get("reason") in ("not_loaded", "not_built") else None
    return "in use" if (ipvs.get("totals") or {}).get("services") else "loaded"


def rates(statistics: t.Mapping[str, t.Any], uptime: t.Any, before: t.Mapping[str, t.Any] | None, seconds: float | None) -> tuple[dict[str, float], str]:
    """Events an hour by counter, and over what time. Of less than an hour, the number itself: a minute of bad luck is no rate."""
    gained, span, over = _gained(statistics, uptime, before, seconds)
    return {name: round(value / max(span / 3600.0, 1.0), 1) for name, value in gained.items()}, over


def rates_told(statistics: t.Mapping[str, t.Any], uptime: t.Any, before: t.Mapping[str, t.Any] | None, seconds: float | None) -> dict[str, str]:
    """The same in words, of less than an hour with the time."""
    gained, span, over = _gained(statistics, uptime, before, seconds)
    if span >= 3600:
        return {name: f"{round(value / (span / 3600.0), 1)} an hour {over}" for name, value in gained.items()}
    number, unit = (round(span / 60), "minute") if span >= 60 else (max(round(span), 1), "second")
    return {name: f"{value} in {number} {unit}{'' if number == 1 else 's'}, {over}" for name, value in gained.items()}


def _gained(
    statistics: t.Mapping[str, t.Any], uptime: t.Any, before: t.Mapping[str, t.Any] | None, seconds: float | None
) -> tuple[dict[str, t.Any], float, str]:
    """Events by counter, in how many seconds, and since when.

    Since an earlier report, if the host ran all the time since and no counter went back; else since the kernel's start.
    """
    if before and seconds and uptime and uptime > seconds > 0 and all(statistics.get(name, 0) >= value for name, value in before.items()):
        return {name: value - before.get(name, 0) for name, value in statistics.items()}, seconds, "since the earlier report"
    if not uptime:
        return {}, 0.0, ""
    return dict(statistics), uptime, "since the kernel started"


def _elapsed(now: t.Any, then: t.Any) -> float | None:
    try:
        return (datetime.datetime.strptime(now, _TIME) - datetime.datetime.strptime(then, _TIME)).total_seconds()
    except (TypeError, ValueError):
        return None


def _spaces(facts: t.Mapping[str, t.Any], earlier: t.Mapping[str, t.Any] | None) -> t.Iterator[dict[str, t.Any]]:
    """The names for rules, of the host and then of each namespace."""
    audit = facts.get("kernel_audit") or {}
    before = earlier or {}
    seconds = _elapsed(audit.get("gathered_at"), before.get("gathered_at"))
    before_spaces = {space["name"]: space for space in before.get("namespaces") or []}
    settings = (facts.get("conntrack") or {}).get("settings") or {}
    own = dict(facts, name="")
    for space in [own, *(audit.get("namespaces") or [])]:
        values = {name: space[name] for name in ("conntrack", "ipvs") if name in space}
        then = (before if space is own else before_spaces.get(space["name"], {})).get("statistics")
        statistics = (space.get("conntrack") or {}).get("statistics") or {}
        times = (audit.get("uptime_seconds"), then, seconds)
        values["rates"], values["rates_over"] = rates(statistics, *times)
        values["rates_told"] = rates_told(statistics, *times)
        values["space"] = space["name"]
        values["differing"] = [] if space is own else _differing(settings, (space.get("conntrack") or {}).get("settings") or {})
        yield values


def _entries(facts: t.Mapping[str, t.Any]) -> dict[str, int]:
    """The connections that share the host's buckets, where the host's own are known."""
    spaces = [facts, *((facts.get("kernel_audit") or {}).get("namespaces") or [])]
    counts = [((space.get("conntrack") or {}).get("table") or {}).get("count") for space in spaces]
    return {} if counts[0] is None else {"entries": sum(count or 0 for count in counts)}


def _differing(host: t.Mapping[str, t.Any], space: t.Mapping[str, t.Any]) -> list[str]:
    names = sorted((set(host) & set(space)) - _NOT_SETTINGS)
    return [f"{name} {space[name]} (host {host[name]})" for name in names if host[name] != space[name]]


def _findings(
    host: dict[str, t.Any], facts: t.Mapping[str, t.Any], measure: Measure, earlier: t.Mapping[str, t.Any] | None
) -> tuple[list[dict[str, t.Any]], dict[str, list[str]], list[str]]:
    """Findings, rules that lacked a value by namespace, and rules that are wrong."""
    shared: dict[str, t.Any] = {"host": host, "thresholds": measure.thresholds, "own": facts}
    if "kernel_audit" in facts:
        shared["audit"] = facts["kernel_audit"]
        shared["missing"] = missing(facts)
    if "netlink_sockets" in facts:
        shared["netlink_sockets"] = facts["netlink_sockets"]
    shared.update(_entries(facts))
    spaces = [dict(shared, **values) for values in _spaces(facts, earlier)]
    findings: list[dict[str, t.Any]] = []
    unjudged: dict[str, list[str]] = {}
    errors: list[str] = []
    for rule in measure.rules:
        for values in spaces if rule.per == "space" else spaces[:1]:
            try:
                for evidence in rule.ask(values):
                    findings.append({"id": rule.id, "severity": rule.severity, "space": values["space"], "evidence": evidence})
            except NotJudged:
                unjudged.setdefault(values["space"], []).append(rule.id)
            except RuleError as error:
                errors.append(_cleaned(error))
    return findings, unjudged, errors
