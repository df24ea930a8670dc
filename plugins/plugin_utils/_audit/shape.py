# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The shape of facts. A host that was taken over can say anything; what it says must not break the report of the others. Pure."""

from __future__ import annotations

import typing as t

_NUMBER = (int, float)
_NONE = type(None)
_TEXT_OR_NONE, _NUMBER_OR_NONE, _FLAG_OR_NONE = (str, _NONE), (*_NUMBER, _NONE), (bool, _NONE)

# A mapping: these keys, where they are there. A list of one: a list of such. {"*": x}: any key. A tuple or type: one of these types.
_TABLE = {
    "count": _NUMBER,
    "max": _NUMBER,
    "buckets": _NUMBER_OR_NONE,
    "used_percent": _NUMBER_OR_NONE,
    "max_per_bucket": _NUMBER_OR_NONE,
    "expectations": _NUMBER_OR_NONE,
}
_CONNTRACK = {
    "available": bool,
    "reason": _TEXT_OR_NONE,
    "reason_text": _TEXT_OR_NONE,
    "modules": {"*": str},
    "table": _TABLE,
    "statistics": {"*": _NUMBER},
    "settings": {"*": (int, str)},
    "capabilities": {
        "zones": _FLAG_OR_NONE,
        "zone_filter": _TEXT_OR_NONE,
        "status_filter": _FLAG_OR_NONE,
        "tuple_filter_ipv6": _TEXT_OR_NONE,
        "labels": _FLAG_OR_NONE,
        "accounting": _FLAG_OR_NONE,
        "helpers": {"*": str},
        "evidence": {"*": _TEXT_OR_NONE},
    },
}
_IPVS = {
    "available": bool,
    "reason": _TEXT_OR_NONE,
    "reason_text": _TEXT_OR_NONE,
    "totals": {"services": int, "destinations": int, "by_protocol": {"*": int}},
    "advice": [{"sysctl": str, "reason": str}],
}
_PROBLEMS = {"*": {"reason": _TEXT_OR_NONE, "text": str}}
_PROCESS = {
    "pid": int,
    "command": str,
    "sockets": int,
    "drops": int,
    "receive_queue_bytes": int,
    "open_files": int,
    "soft_limit": _NUMBER_OR_NONE,
    "used_percent": _NUMBER_OR_NONE,
}
SHAPE: dict[str, t.Any] = {
    "kernel_audit": {
        "kernel": str,
        "gathered_at": str,
        "python": str,
        "pyroute2": bool,
        "uptime_seconds": _NUMBER_OR_NONE,
        "problems": _PROBLEMS,
        "namespaces": [{"name": str, "problems": _PROBLEMS, "conntrack": _CONNTRACK, "ipvs": _IPVS}],
        "namespaces_matched": int,
    },
    "conntrack": _CONNTRACK,
    "ipvs": _IPVS,
    "netlink_sockets": {
        "reason": _TEXT_OR_NONE,
        "totals": {"sockets": int, "unmatched": int, "processes": int, "unreadable_processes": int},
        "processes": [_PROCESS],
        "openvswitch": [{"version": _TEXT_OR_NONE, "upcall_mode": str, "evidence": str, "problems": [str]}],
    },
}
# What the report cannot do without, where the mapping around it is there.
_NEEDED = {id(_TABLE): _TABLE, id(_PROCESS): _PROCESS, id(SHAPE["kernel_audit"]): ("kernel", "problems", "namespaces", "namespaces_matched")}


def fault(value: t.Any, shape: t.Any = None, path: str = "facts") -> str | None:
    """Where the facts are not of the shape that the modules return; ``None`` when they are."""
    shape = SHAPE if shape is None else shape
    if isinstance(shape, dict):
        return _fault_of_mapping(value, shape, path)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is no list"
        return next((found for found in (fault(one, shape[0], f"{path}[{number}]") for number, one in enumerate(value)) if found), None)
    types = shape if isinstance(shape, tuple) else (shape,)
    # A truth value is an int to Python.
    fits = isinstance(value, types) and (not isinstance(value, bool) or bool in types)
    return None if fits else f"{path} is of another type"


def _fault_of_mapping(value: t.Any, shape: dict[str, t.Any], path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path} is no mapping"
    missing = [name for name in _NEEDED.get(id(shape), ()) if name not in value]
    if missing:
        return f"{path} lacks {missing[0]}"
    for name, one in value.items():
        inner = shape.get(name, shape.get("*"))
        found = fault(one, inner, f"{path}.{name}") if inner is not None else None
        if found:
            return found
    return None
