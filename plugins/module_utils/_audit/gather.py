# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""All facts that the audit judges, of this host and of its network namespaces, in one run. Reads only, loads nothing.

A part that cannot be read, or not whole, is told as a problem; the others are read nevertheless.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import platform
import re
import typing as t

from .._conntrack import facts as conntrack
from .._ipvs import facts as ipvs
from .._netlink import kernel, library, namespace
from .._netlink.errors import NOT_BUILT, NOT_LOADED, NetstateError, OptionError
from .._netlink.text import printable
from .._sockets import facts as sockets

UNEXPECTED = "unexpected"

# What the kernel can do is the same in all namespaces.
_CONNTRACK_OF_NAMESPACES = ("table", "statistics", "settings")
# Then there is nothing to be read, which is no problem.
_ABSENT = (None, NOT_BUILT.slug, NOT_LOADED.slug)
_LONGEST = 300  # characters of an error that nobody foresaw
# What the name of a file can be, without the blanks around it that come of a list like "a, b".
_PATTERN = re.compile(r"[^\s/]([^/]*[^\s/])?")


def check(patterns: t.Sequence[str], most: int, processes: int) -> None:
    """Refuses what cannot be gathered by. The role has the same for all hosts at once.

    :raises OptionError: for a pattern that no namespace can have, or a negative number
    """
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise OptionError("namespaces", pattern, "no namespace is named so; give names or shell patterns without blanks around them and without '/'")
    if most < 0:
        raise OptionError("namespaces_limit", most, "give a number of namespaces, 0 for none")
    if processes < 0:
        raise OptionError("limit", processes, "give a number of processes, 0 for totals only")


def gather(patterns: t.Sequence[str], most: int, processes: int) -> dict[str, t.Any]:
    """The facts by name, as for ``ansible_facts``.

    :param patterns: shell patterns of the namespaces to look into
    :param most: namespaces to look into
    :param processes: how many processes to list
    """
    names = matching(namespace.names(), patterns)
    problems: dict[str, dict[str, t.Any]] = {}
    facts = _of_host(processes, problems)
    facts["kernel_audit"] = {
        "gathered_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "kernel": kernel.release(),
        "python": platform.python_version(),
        "pyroute2": library.IMPORT_ERROR is None,
        "uid": os.geteuid(),
        "uptime_seconds": uptime(),
        "problems": problems,
        "namespaces": [_of_namespace(name) for name in names[:most]],
        "namespaces_matched": len(names),
    }
    return facts


def matching(names: t.Iterable[str], patterns: t.Sequence[str]) -> list[str]:
    """The names that any of the patterns covers, sorted. Upper and lower case differ."""
    return sorted(name for name in set(names) if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))


def uptime() -> float | None:
    """Seconds since the kernel started, for which its counters stand."""
    try:
        with open("/proc/uptime", encoding="ascii") as file:
            return float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _of_host(processes: int, problems: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    parts = _netlink_parts(None, conntrack.DEFAULT)
    parts["netlink_sockets"] = lambda: sockets.gather(processes)
    return _tried(parts, problems)


def _of_namespace(name: str) -> dict[str, t.Any]:
    problems: dict[str, dict[str, t.Any]] = {}
    facts = _tried(_netlink_parts(name, _CONNTRACK_OF_NAMESPACES), problems)
    return dict(facts, name=printable(name), problems=problems)


def _netlink_parts(name: str | None, subsets: t.Sequence[str]) -> dict[str, t.Callable[[], dict[str, t.Any]]]:
    return {
        "conntrack": lambda: conntrack.gather(frozenset(subsets), name),
        "ipvs": lambda: ipvs.gather(frozenset(ipvs.DEFAULT), name),
    }


def _tried(parts: t.Mapping[str, t.Callable[[], dict[str, t.Any]]], problems: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    """The parts that could be read, whole or not; no part takes the others away."""
    facts = {}
    for name, read in parts.items():
        try:
            part = read()
        except NetstateError as error:
            problems[name] = {"reason": error.reason.slug if error.reason else None, "text": printable(str(error))}
        except Exception as error:  # pylint: disable=broad-exception-caught
            problems[name] = {"reason": UNEXPECTED, "text": printable(f"{type(error).__name__}: {error}"[:_LONGEST])}
        else:
            facts[name] = part
            if part["reason"] not in _ABSENT:
                problems[name] = {"reason": part["reason"], "text": part["reason_text"]}
    return facts
