# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Made-up results of audit_facts, in the shape that the module returns, for any number of hosts. The same number gives the same hosts."""

from __future__ import annotations

import random
import typing as t

RULES = "roles/audit/files/rules.yml"
GATHERED_AT = "2026-11-30T12:00:00Z"
# Release, zone filter, IPv6 tuple filter.
KERNELS = (
    ("5.10.0-33-amd64", "ignored", "inverted"),
    ("5.15.0-125-generic", "ignored", "inverted"),
    ("6.1.0-41-amd64", "ignored", "inverted"),
    ("6.8.0-50-generic", "exact", "inverted"),
    ("6.12.117+deb13-amd64", "exact", "right"),
    ("4.18.0-553.el8.x86_64", "ignored", "ignored"),
)
SETTINGS = {"nf_conntrack_tcp_timeout_established": 432000, "nf_conntrack_udp_timeout": 30, "nf_conntrack_udp_timeout_stream": 120, "nf_conntrack_acct": 0}
THRESHOLDS: dict[str, t.Any] = {
    "table_high_percent": 80,
    "table_critical_percent": 95,
    "entries_per_bucket": 2,
    "max_per_bucket": 8,
    "drop_per_hour": 60,
    "early_drop_per_hour": 60,
    "insert_failed_per_hour": 60,
    "timeout_factor": 4,
    "timeout_defaults": {"tcp_timeout_established": 432000, "udp_timeout": 30, "udp_timeout_stream": 120},
    "files_high_percent": 80,
    "files_critical_percent": 95,
    "netlink_heavy_sockets": 64,
    "netlink_drops": 100,
    "ipvs_schedulers": ["rr", "wrr", "lc", "wlc", "sh", "mh"],
    "ipvs_dump_services": 11,
}


def results(number: int, seed: int = 5) -> dict[str, dict[str, t.Any]]:
    """Host to result; some unreachable, failed or without pyroute2."""
    chance = random.Random(seed)
    return {f"node{index:04}.example.net": _result(index, chance) for index in range(1, number + 1)}


def _result(index: int, chance: random.Random) -> dict[str, t.Any]:
    draw = chance.random()
    if draw < 0.02:
        return {"unreachable": True, "msg": f"Failed to connect to the host via ssh: ssh: connect to host 192.0.2.{index % 250} port 22: No route to host"}
    if draw < 0.03:
        return {"msg": "The module interpreter '/usr/bin/python3' was not found.", "rc": 127}
    kernel, zone_filter, ipv6 = chance.choice(KERNELS)
    facts: dict[str, t.Any] = {"netlink_sockets": _sockets(chance)}
    audit = {
        "gathered_at": GATHERED_AT,
        "kernel": kernel,
        "python": "3.11.2",
        "pyroute2": draw >= 0.05,
        "uid": 0,
        "uptime_seconds": chance.uniform(3600, 300 * 86400),
        "problems": {},
        "namespaces": [],
        "namespaces_matched": 0,
    }
    if audit["pyroute2"]:
        facts["conntrack"] = conntrack(chance, kernel, zone_filter, ipv6)
        facts["ipvs"] = ipvs(chance, kernel)
        audit["namespaces"] = [
            {"name": f"qrouter-{chance.getrandbits(32):08x}", "problems": {}, "conntrack": conntrack(chance, kernel, zone_filter, ipv6)}
            for _space in range(chance.choice((0, 0, 0, 3)))
        ]
        audit["namespaces_matched"] = len(audit["namespaces"])
    else:
        audit["problems"] = {"conntrack": {"reason": "missing_library", "text": "pyroute2 >= 0.5.14 is not installed for Python 3.11.2"}}
    facts["kernel_audit"] = audit
    return {"ansible_facts": facts}


def conntrack(chance: random.Random, kernel: str, zone_filter: str, ipv6: str) -> dict[str, t.Any]:
    limit = chance.choice((65536, 262144, 1048576))
    count = int(limit * min(0.999, chance.betavariate(1.2, 4) * 1.15))
    return {
        "available": True,
        "reason": None,
        "reason_text": None,
        "kernel": kernel,
        "capabilities": {
            "zones": True,
            "zone_filter": zone_filter,
            "status_filter": not kernel.startswith(("5.10", "4.18")),
            "tuple_filter_ipv6": ipv6,
            "labels": True,
            "accounting": chance.random() < 0.3,
            "timestamps": False,
            "events": "auto",
            "helpers": {"ftp": "loaded" if chance.random() < 0.05 else "loadable", "sip": "loadable"},
            "source": "throwaway_namespace",
            "evidence": {
                "zone_filter": "flushing zone 1 of zones 0, 1, 2 left " + ("nothing" if zone_filter == "ignored" else "0, 2"),
                "zones": "an entry of zone 1 was accepted",
                "tuple_filter_ipv6": "a dump by one of two IPv6 sources returned " + ("the other one" if ipv6 == "inverted" else "that one"),
            },
        },
        "table": {
            "count": count,
            "max": limit,
            "buckets": 65536,
            "used_percent": round(100 * count / limit, 1),
            "max_per_bucket": limit / 65536,
            "expectations": 0,
            "expectations_max": 1024,
        },
        "statistics": {
            "drop": chance.choice((0, 0, 12, 400000)),
            "early_drop": chance.choice((0, 0, 0, 900000)),
            "insert_failed": chance.choice((0, 40, 2000)),
        },
        "settings": dict(SETTINGS),
    }


def ipvs(chance: random.Random, kernel: str) -> dict[str, t.Any]:
    if chance.random() < 0.8:
        return {"available": False, "reason": "not_loaded", "reason_text": "ip_vs is not loaded", "module": "loadable", "kernel": kernel}
    return {
        "available": True,
        "reason": None,
        "reason_text": None,
        "kernel": kernel,
        "capabilities": {"bulk_dump": False, "schedulers": {"usable": ["rr", "wlc"], "loadable": ["wrr", "lc", "sh"]}},
        "totals": {"services": 120, "destinations": 480, "by_protocol": {"tcp": 100, "udp": 20, "sctp": 0, "fwmark": 0}},
        "settings": {"timeouts": {"tcp": 900, "tcp_fin": 120, "udp": 300}, "sync_daemons": []},
        "advice": [{"sysctl": "net.ipv4.vs.expire_nodest_conn", "value": 0, "reason": "there are UDP services"}],
    }


def _sockets(chance: random.Random) -> dict[str, t.Any]:
    held = chance.choice((3, 40, 900, 60000))
    return {
        "available": True,
        "totals": {"sockets": held + 20, "held": held, "kernel": 12, "unmatched": 0, "drops": 0, "holders": 4, "processes": 210, "unreadable_processes": 0},
        "processes": [process("ovs-vswitchd" if held > 800 else "systemd-networkd", held, chance.choice((1024, 65536)))],
        "openvswitch": [switch(held)] if held > 800 else [],
    }


def process(command: str, sockets: int, limit: int, drops: int = 0) -> dict[str, t.Any]:
    opened = min(sockets + 30, limit)
    return {
        "pid": 812,
        "command": command,
        "sockets": sockets,
        "protocols": {"generic": sockets},
        "receive_queue_bytes": 0,
        "drops": drops,
        "open_files": opened,
        "soft_limit": limit,
        "hard_limit": limit,
        "used_percent": round(100 * opened / limit, 1),
    }


def switch(sockets: int, mode: str | None = None) -> dict[str, t.Any]:
    mode = mode or ("per_port_and_handler" if sockets > 10000 else "per_port")
    return {
        "pid": 812,
        "version": "2.10.0" if mode == "per_port_and_handler" else "3.1.0",
        "ports": 1500,
        "handlers": 40,
        "generic_sockets": sockets,
        "upcall_mode": mode,
        "evidence": f"it holds {sockets} generic netlink sockets with 1500 ports and 40 handler threads",
        "problems": [],
        "open_files": sockets + 30,
        "soft_limit": 65536,
        "projected": {"sockets": sockets, "open_files": sockets + 30, "used_percent": round(100 * (sockets + 30) / 65536, 1)},
    }
