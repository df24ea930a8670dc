# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the role, its templates, and a host on which nothing is wrong."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import synthetic_fleet
import yaml
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import report, rules

ROLE = Path(__file__).resolve().parents[5] / "roles" / "audit"

CONNTRACK: dict[str, t.Any] = {
    "available": True,
    "reason": None,
    "reason_text": None,
    "capabilities": {
        "zones": True,
        "zone_filter": "exact",
        "status_filter": True,
        "tuple_filter_ipv6": "right",
        "labels": True,
        "accounting": False,
        "helpers": {"ftp": "loadable", "sip": "absent"},
        "evidence": {"zone_filter": "seen so", "zones": "seen so", "tuple_filter_ipv6": "seen so"},
    },
    "table": {"count": 100, "max": 262144, "buckets": 65536, "used_percent": 0.0, "max_per_bucket": 4.0, "expectations": 0},
    "statistics": {"drop": 0, "early_drop": 0, "insert_failed": 0},
    "settings": synthetic_fleet.SETTINGS,
}
NAMESPACE = {
    "name": "qrouter-1",
    "problems": {},
    "conntrack": {key: CONNTRACK[key] for key in ("available", "table", "statistics", "settings")},
}
IPVS = {
    "available": True,
    "reason": None,
    "reason_text": None,
    "kernel": "6.12.0",
    "capabilities": {"bulk_dump": False, "schedulers": {"usable": ["rr", "wrr", "lc", "wlc"], "loadable": ["sh", "mh"]}},
    "totals": {"services": 0, "destinations": 0, "by_protocol": {"tcp": 0, "udp": 0}},
    "settings": {"timeouts": {"tcp": 900, "tcp_fin": 120, "udp": 300}},
    "advice": [],
}
FACTS: dict[str, t.Any] = {
    "conntrack": CONNTRACK,
    "ipvs": IPVS,
    "netlink_sockets": {
        "totals": {"sockets": 30, "unmatched": 0, "unreadable_processes": 0, "processes": 90},
        "processes": [synthetic_fleet.process("systemd-networkd", 20, 1024)],
        "openvswitch": [],
    },
    "kernel_audit": {
        "gathered_at": "2026-11-30T12:00:00Z",
        "kernel": "6.12.117",
        "python": "3.11.2",
        "pyroute2": True,
        "uid": 0,
        "uptime_seconds": 36000.0,
        "problems": {},
        "namespaces": [NAMESPACE],
        "namespaces_matched": 1,
    },
}


@pytest.fixture
def facts() -> dict[str, t.Any]:
    """Of a host on which nothing is wrong; a test may change them."""
    return json.loads(json.dumps(FACTS))


@pytest.fixture(scope="session")
def ready_rules() -> list[rules.Rule]:
    return rules.compiled(rules.parse((ROLE / "files" / "rules.yml").read_text(), "rules.yml"))


@pytest.fixture(scope="session")
def thresholds() -> dict[str, t.Any]:
    """The role's defaults, as its task hands them on."""
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    (task,) = [row for row in yaml.safe_load((ROLE / "tasks" / "main.yml").read_text()) if row["name"] == "Write the report"]
    names = task["netstate.kernel.audit_report"]["thresholds"]
    return {name: defaults[f"audit_{name}"] for name in names}


@pytest.fixture
def build(ready_rules: list[rules.Rule], thresholds: dict[str, t.Any]) -> t.Callable[..., dict[str, t.Any]]:
    """The report of results."""

    def built(results: dict[str, t.Any], earlier: t.Any = None, **options: t.Any) -> dict[str, t.Any]:
        return report.built(results, ready_rules, thresholds, "2026-11-30T12:00:05Z", earlier, "Fleet audit", **options)

    return built
