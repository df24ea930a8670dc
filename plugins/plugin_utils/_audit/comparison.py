# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What changed since an earlier report. Pure."""

from __future__ import annotations

import typing as t

from .shape import COUNT, NUMBER, TEXT, Maybe

_FINDING = {"id!": TEXT, "severity!": TEXT, "space!": TEXT, "evidence!": TEXT}
_STATISTICS = Maybe({"*": COUNT})
# What is taken from an earlier report.
EARLIER = {
    "generated_at!": TEXT,
    "hosts!": [
        {
            "name!": TEXT,
            "status!": TEXT,
            "kernel!": Maybe(TEXT),
            "gathered_at!": Maybe(TEXT),
            "capabilities!": {},
            "table!": Maybe({"used_percent": Maybe(NUMBER)}),
            "statistics!": _STATISTICS,
            "namespaces!": [{"name!": TEXT, "statistics!": _STATISTICS, "not_judged": [TEXT]}],
            "findings!": [_FINDING],
            "not_judged!": [TEXT],
            "rule_errors!": [TEXT],
        }
    ],
    "rules!": [{"id!": TEXT}],
}
_PERCENT = 10.0  # a change of the table's use that is worth a line

Host = t.Mapping[str, t.Any]


def compared(earlier: Host, before: t.Mapping[str, Host], hosts: t.Sequence[Host], rules: t.Collection[str]) -> dict[str, t.Any]:
    """Hosts that came and went, and for each other host what is different.

    A finding is resolved where its rule was judged now, and new where it was judged then. Of others nothing is known, and nothing said.

    :param rules: ids of the rules of now
    """
    now = {one["name"]: one for one in hosts}
    judged = {row["id"] for row in earlier["rules"]}, frozenset(rules)
    changed = [row for row in (_changes(before[name], now[name], *judged) for name in now if name in before) if row]
    return {
        "since": earlier["generated_at"],
        "added": [name for name in now if name not in before],
        "removed": sorted(name for name in before if name not in now),
        "changed": changed,
        "unchanged": sum(name in before for name in now) - len(changed),
        "findings_new": sum(len(row["findings_new"]) for row in changed),
        "findings_resolved": sum(len(row["findings_resolved"]) for row in changed),
    }


def _changes(then: Host, now: Host, rules_then: t.Collection[str], rules_now: t.Collection[str]) -> dict[str, t.Any] | None:
    row = {
        "name": now["name"],
        "status": _pair(then["status"], now["status"]),
        "kernel": _pair(then["kernel"], now["kernel"]) if then["kernel"] and now["kernel"] else None,
        "table_used_percent": _percents(then["table"], now["table"]),
        "capabilities": {
            name: _pair(then["capabilities"].get(name), value)
            for name, value in now["capabilities"].items()
            if value is not None and then["capabilities"].get(name) not in (None, value)
        },
        "findings_new": [],
        "findings_resolved": [],
    }
    was, are = _findings(then), _findings(now)
    if _known(now):
        row["findings_resolved"] = [finding for key, finding in was.items() if key not in are and _judged(now, rules_now, *key)]
    if _known(then) or not _known(now):
        row["findings_new"] = [finding for key, finding in are.items() if key not in was and _judged(then, rules_then, *key)]
    return row if any(value for name, value in row.items() if name != "name") else None


def _known(host: Host) -> bool:
    return host["status"] in ("audited", "partial")


def _judged(host: Host, rules: t.Collection[str], rule: str, space: str) -> bool:
    """Whether that rule came to a verdict on the host, in that namespace."""
    if rule not in rules or any(error.startswith(f"rule {rule}: ") for error in host["rule_errors"]):
        return False
    if not space:
        return rule not in host["not_judged"]
    return any(one["name"] == space and rule not in one.get("not_judged", ()) for one in host["namespaces"])


def _findings(host: Host) -> dict[tuple[str, str], dict[str, t.Any]]:
    """By rule and namespace: evidence differs from run to run."""
    return {(finding["id"], finding["space"]): finding for finding in host["findings"]}


def _pair(then: t.Any, now: t.Any) -> list[t.Any] | None:
    return None if then == now else [then, now]


def _percents(then: t.Mapping[str, t.Any] | None, now: t.Mapping[str, t.Any] | None) -> list[float] | None:
    first, second = ((table or {}).get("used_percent") for table in (then, now))
    if first is None or second is None or abs(first - second) < _PERCENT:
        return None
    return [first, second]
