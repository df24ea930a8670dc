# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The shape of facts. A host that was taken over can say anything; what it says must not break the report of the others. Pure."""

from __future__ import annotations

import math
import typing as t

# The kernel's counters have 64 bits and no sign, its settings at most 63 and one. What is beyond is made up, and no arithmetic and no JSON is safe of it.
_MOST, _LEAST = 2**64 - 1, -(2**63)
_DEEPEST = 16  # facts and reports are half as deep
# Far beyond any host, and little enough to be looked at in no time.
_LONGEST_TEXT, _LONGEST_LIST, _LARGEST_MAPPING = 2**14, 2**16, 2**10


class Value(t.NamedTuple):
    """Of one of these types; a number is finite, ``least`` or above, and no more than a counter of the kernel holds."""

    types: tuple[type, ...]
    least: int = 0


class OneOf(t.NamedTuple):
    """One of these words."""

    words: tuple[str, ...]


class Maybe(t.NamedTuple):
    """Null, or of that shape."""

    shape: t.Any


TEXT, FLAG, COUNT, NUMBER = Value((str,)), Value((bool,)), Value((int,)), Value((int, float))
_SETTING = Value((int, str), _LEAST)
_ANY = Value((str, int, float, bool, type(None)), _LEAST)

# A mapping: these keys, "!" for one that must be there, "*" for any other. A list of one: a list of such.
# What no shape names is read by no template, but may be by a user's rule, and goes into report.json: any values in bounds.
_TABLE = {
    "count!": COUNT,
    "max!": COUNT,
    "buckets!": Maybe(COUNT),
    "used_percent!": Maybe(NUMBER),
    "max_per_bucket!": Maybe(NUMBER),
    "expectations!": Maybe(COUNT),
}
_CONNTRACK = {
    "available": FLAG,
    "reason": Maybe(TEXT),
    "reason_text": Maybe(TEXT),
    "modules": {"*": TEXT},
    "table": _TABLE,
    "statistics": {"*": COUNT},
    "settings": {"*": _SETTING},
    "capabilities": {
        "zones": Maybe(FLAG),
        "zone_filter": Maybe(OneOf(("exact", "ignored", "zone_zero_unsafe", "unsupported", "unknown"))),
        "status_filter": Maybe(FLAG),
        "tuple_filter_ipv6": Maybe(OneOf(("right", "inverted", "ignored", "unsupported"))),
        "labels": Maybe(FLAG),
        "accounting": Maybe(FLAG),
        "helpers": {"*": TEXT},
        "evidence": {"*": Maybe(TEXT)},
    },
}
_IPVS = {
    "available": FLAG,
    "reason": Maybe(TEXT),
    "reason_text": Maybe(TEXT),
    "kernel": TEXT,
    "capabilities": {"bulk_dump": FLAG, "schedulers": {"usable!": [TEXT], "loadable!": [TEXT]}},
    "totals": {"services!": COUNT, "destinations!": COUNT, "by_protocol": {"*": COUNT}},
    "settings": {"timeouts": {"*": COUNT}},
    "advice": [{"sysctl!": TEXT, "value": _SETTING, "reason!": TEXT}],
}
_PROBLEMS = {"*": {"reason!": Maybe(TEXT), "text!": TEXT}}
_PROCESS = {
    "pid!": COUNT,
    "command!": TEXT,
    "sockets!": COUNT,
    "drops!": COUNT,
    "receive_queue_bytes!": COUNT,
    "open_files!": COUNT,
    "soft_limit!": Maybe(COUNT),
    "used_percent!": Maybe(NUMBER),
}
_SWITCH = {
    "version": Maybe(TEXT),
    "ports": Maybe(COUNT),
    "handlers": COUNT,
    "upcall_mode!": OneOf(("per_cpu", "per_port", "per_port_and_handler", "none", "unknown")),
    "evidence!": TEXT,
    "problems": [TEXT],
    "soft_limit": Maybe(COUNT),
    "projected": Maybe({"open_files": Maybe(COUNT), "used_percent": Maybe(NUMBER)}),
}
FACTS = {
    "kernel_audit!": {
        "kernel!": TEXT,
        "gathered_at": TEXT,
        "python": TEXT,
        "pyroute2": FLAG,
        "uptime_seconds": Maybe(NUMBER),
        "problems!": _PROBLEMS,
        "namespaces!": [{"name!": TEXT, "problems!": _PROBLEMS, "conntrack": _CONNTRACK, "ipvs": _IPVS}],
        "namespaces_matched!": COUNT,
    },
    "conntrack": _CONNTRACK,
    "ipvs": _IPVS,
    "netlink_sockets": {
        "reason": Maybe(TEXT),
        "reason_text": Maybe(TEXT),
        "totals": {"sockets": COUNT, "holders": COUNT, "unmatched": COUNT, "processes": COUNT, "unreadable_processes": COUNT},
        "processes": [_PROCESS],
        "openvswitch": [_SWITCH],
    },
}


def fault(value: t.Any, shape: t.Any, path: str, room: int = _DEEPEST) -> str | None:
    """Where a value is not of a shape; ``None`` when it is.

    :param shape: ``None`` for any values in bounds
    :param path: names the value in what is returned
    :param room: how much deeper it may go
    """
    if not room:
        return f"{path} is nested too deep"
    if isinstance(shape, Maybe):
        return None if value is None else fault(value, shape.shape, path, room)
    if isinstance(shape, OneOf):
        return None if isinstance(value, str) and value in shape.words else f"{path} is none of {', '.join(shape.words)}"
    if isinstance(shape, dict) or (shape is None and isinstance(value, dict)):
        return _fault_of_mapping(value, shape or {}, path, room)
    if isinstance(shape, list) or (shape is None and isinstance(value, list)):
        if not isinstance(value, list):
            return f"{path} is no list"
        if len(value) > _LONGEST_LIST:
            return f"{path} has {len(value)} items, more than {_LONGEST_LIST}"
        inner = shape[0] if shape else None
        return next((found for found in (fault(one, inner, f"{path}[{number}]", room - 1) for number, one in enumerate(value)) if found), None)
    return _fault_of_value(value, shape or _ANY, path)


def _fault_of_mapping(value: t.Any, shape: dict[str, t.Any], path: str, room: int) -> str | None:
    if not isinstance(value, dict):
        return f"{path} is no mapping"
    if len(value) > _LARGEST_MAPPING:
        return f"{path} has {len(value)} keys, more than {_LARGEST_MAPPING}"
    missing = [name[:-1] for name in shape if name.endswith("!") and name[:-1] not in value]
    if missing:
        return f"{path} lacks {missing[0]}"
    for name, one in value.items():
        if len(str(name)) > _LONGEST_TEXT:
            return f"{path} has a key of {len(str(name))} characters"
        inner = shape.get(f"{name}!") or shape.get(name) or shape.get("*")
        found = fault(one, inner, f"{path}.{name}", room - 1)
        if found:
            return found
    return None


def _fault_of_value(value: t.Any, shape: Value, path: str) -> str | None:
    # A truth value is an int to Python.
    if not isinstance(value, shape.types) or (isinstance(value, bool) and bool not in shape.types):
        return f"{path} is of another type"
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{path} has {len(value)} characters, more than {_LONGEST_TEXT}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path} is no finite number"
    if isinstance(value, (int, float)) and not shape.least <= value <= _MOST:
        return f"{path} is beyond what a kernel counts"
    return None
