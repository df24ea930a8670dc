# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What conntrack(8) shows of a namespace's table: the independent witness of these tests."""

from __future__ import annotations

import re
import typing as t
from xml.etree import ElementTree

if t.TYPE_CHECKING:
    from network_namespace import Namespace

_LINE = re.compile(r"(?P<family>ipv[46])\s+\d+\s+(?P<protocol>\S+)\s+(?P<number>\d+)\s+(?:(?P<timeout>\d+)\s)?(?P<rest>.*)")


class Line(t.NamedTuple):
    """One entry as ``conntrack -L -o extended,id`` shows it."""

    family: str
    protocol: int
    timeout: int | None
    rest: str  # all but what passes: state, tuples, flags, mark, zones, id

    def number(self, key: str) -> int | None:
        """The value of the first ``key=``, if there is one."""
        found = re.search(rf"(?:^|\s){re.escape(key)}=(\d+)", self.rest)
        return int(found.group(1)) if found else None

    def shown(self) -> str:
        """All that stays the same while nobody touches the entry."""
        return f"{self.family} {self.protocol} {self.rest}"

    @property
    def zone(self) -> int:
        zones = (self.number(key) for key in ("zone", "zone-orig", "zone-reply"))
        return next((zone for zone in zones if zone is not None), 0)

    @property
    def id(self) -> int:
        return int(re.findall(r"(?<=\sid=)\d+", self.rest)[-1])  # an ICMP entry's tuples have ids, too


def lines(namespace: Namespace) -> list[Line]:
    """The table, entry by entry."""
    found = []
    for text in namespace.command("conntrack", "-L", "-o", "extended,id").splitlines():
        match = _LINE.fullmatch(text.strip())
        assert match, text
        timeout = match.group("timeout")
        rest = re.sub(r"(?<=\s)use=\d+\s", "", match.group("rest")).strip()
        found.append(Line(match.group("family"), int(match.group("number")), int(timeout) if timeout else None, rest))
    return found


def table(namespace: Namespace) -> frozenset[str]:
    """The table as a set to compare: each entry whole but for its timeout and use count."""
    found = lines(namespace)
    kept = frozenset(line.shown() for line in found)
    assert len(kept) == len(found), "entries that look the same"
    return kept


def flows(namespace: Namespace) -> dict[int, ElementTree.Element]:
    """The ``<flow>`` elements of ``conntrack -L -o xml`` by the entries' ids."""
    root = ElementTree.fromstring(namespace.command("conntrack", "-L", "-o", "xml"))
    return {int(flow.findtext("meta[@direction='independent']/id") or 0): flow for flow in root}


def count(namespace: Namespace) -> int:
    return int(namespace.command("conntrack", "-C"))


def statistics(namespace: Namespace) -> dict[str, int]:
    """The counters of ``conntrack -S``, summed over CPUs."""
    totals: dict[str, int] = {}
    for name, value in re.findall(r"(\w+)=(\d+)", namespace.command("conntrack", "-S")):
        if name != "cpu":
            totals[name] = totals.get(name, 0) + int(value)
    return totals
