# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The whole report as one value: what report.json holds and the other formats are rendered from. Pure.

docs/audit-report.md describes it. A change that takes keys away or gives them another meaning raises SCHEMA_VERSION.
"""

from __future__ import annotations

import collections
import re
import typing as t

from . import comparison, host, shape
from .rules import SEVERITIES, Rule

SCHEMA = "netstate.kernel.audit"
SCHEMA_VERSION = 1

_BINS = 10


class ReportError(Exception):
    """An earlier report that cannot be compared with."""


def built(
    results: t.Mapping[str, t.Mapping[str, t.Any] | None],
    rules: t.Sequence[Rule],
    thresholds: t.Mapping[str, t.Any],
    generated_at: str,
    earlier: t.Mapping[str, t.Any] | None = None,
    title: str = "",
    synthetic: bool = False,
    most: int | None = None,
) -> dict[str, t.Any]:
    """The report.

    :param results: host to what its task returned; ``None`` for one that did not run
    :param earlier: an earlier report
    :param synthetic: whether the results were made up, for measurements and examples
    :param most: namespaces that a host was asked for; one that returns more has failed
    :raises ReportError: for an earlier report that is none
    """
    before = hosts_of(earlier) if earlier is not None else {}
    measure = host.Measure(rules, thresholds, most)
    hosts = [host.judged(name, results[name], measure, before.get(name)) for name in sorted(results, key=_natural)]
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "synthetic": synthetic,
        "generated_at": generated_at,
        "thresholds": dict(thresholds),
        "summary": summary(hosts),
        "distributions": distributions(hosts),
        "rules": [_told(rule, hosts) for rule in rules],
        "hosts": hosts,
        "comparison": None if earlier is None else comparison.compared(earlier, before, hosts, [rule.id for rule in rules]),
    }


def hosts_of(earlier: t.Any) -> dict[str, t.Mapping[str, t.Any]]:
    """The hosts of an earlier report by name.

    :raises ReportError: for what is none
    """
    if not isinstance(earlier, dict) or earlier.get("schema") != SCHEMA:
        raise ReportError("it is no report.json of this audit")
    if earlier.get("schema_version") != SCHEMA_VERSION:
        raise ReportError(f"its schema_version is {earlier.get('schema_version')}, not {SCHEMA_VERSION}")
    fault = shape.fault({name: value for name, value in earlier.items() if f"{name}!" in comparison.EARLIER}, comparison.EARLIER, "the report")
    if fault:
        raise ReportError(f"it is no report.json of this audit: {fault}")
    return {one["name"]: one for one in earlier["hosts"]}


def _natural(name: str) -> list[tuple[int, int, str]]:
    """web2 before web10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def summary(hosts: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Hosts by status, findings and hosts by severity. A host counts under each severity that it has a finding of."""
    statuses = collections.Counter(one["status"] for one in hosts)
    findings: collections.Counter[str] = collections.Counter()
    affected: collections.Counter[str] = collections.Counter()
    worst: collections.Counter[str | None] = collections.Counter(one["worst"] for one in hosts)
    for one in hosts:
        found = [finding["severity"] for finding in one["findings"]]
        findings.update(found)
        affected.update(set(found))
    return {
        "hosts": len(hosts),
        "statuses": {status: statuses[status] for status in host.STATUSES},
        "findings": {severity: findings[severity] for severity in SEVERITIES},
        "hosts_affected": {severity: affected[severity] for severity in SEVERITIES},
        "hosts_by_worst": {**{severity: worst[severity] for severity in SEVERITIES}, "none": worst[None]},
        "worst": next((severity for severity in SEVERITIES if findings[severity]), None),
        "namespaces": sum(len(one["namespaces"]) for one in hosts),
        "entries": sum(_entries(one) for one in hosts),
    }


def _entries(one: t.Mapping[str, t.Any]) -> int:
    tables = [one["table"], *(space["table"] for space in one["namespaces"])]
    return sum(table["count"] for table in tables if table)


def distributions(hosts: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Hosts by use of their table, in ten steps, and by kernel; each only over hosts where it is known."""
    use = [0] * _BINS
    unknown = 0
    for one in hosts:
        percent = (one["table"] or {}).get("used_percent")
        if percent is None:
            unknown += 1
        else:
            use[min(int(percent * _BINS / 100), _BINS - 1)] += 1
    kernels = collections.Counter(one["kernel"] for one in hosts if one["kernel"])
    zones = collections.Counter(one["capabilities"]["zone_filter"] or "unknown" for one in hosts if one["status"] in (host.AUDITED, host.PARTIAL))
    return {
        "table_use": [{"from": step * 100 // _BINS, "to": (step + 1) * 100 // _BINS, "hosts": use[step]} for step in range(_BINS)],
        "table_use_unknown": unknown,
        "kernels": [{"kernel": name, "hosts": number} for name, number in sorted(kernels.items(), key=lambda row: (-row[1], row[0]))],
        "zone_filter": dict(sorted(zones.items())),
    }


def _told(rule: Rule, hosts: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """The rule and what came of it. ``not_judged`` counts hosts where a value that it needs was not gathered."""
    found = [one["name"] for one in hosts for finding in one["findings"] if finding["id"] == rule.id]
    return {
        **rule.described(),
        "findings": len(found),
        "hosts": len(set(found)),
        "not_judged": sum(rule.id in one["not_judged"] for one in hosts),
    }


def fails(summary_: t.Mapping[str, t.Any], severity: str | None) -> bool:
    """Whether there is a finding of that severity or a higher one."""
    if not severity or severity == "never":
        return False
    return any(summary_["findings"][name] for name in SEVERITIES[: SEVERITIES.index(severity) + 1])
