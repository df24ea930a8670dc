# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings that go badly with what the table holds. Pure.

The ground is the kernel's Documentation/networking/ipvs-sysctl.rst and, for ``conn_reuse_mode``, ip_vs_in() of net/netfilter/ipvs/ip_vs_core.c:

- 4.6 to 5.8 (f719e3754ee2): with ``conntrack``, the first packet of a client that uses a port again is dropped; it comes again after a second.
  f0a5e4d7a594 (5.9, and stable releases before) drops it only where netfilter kept the old entry.
- before c95c07836fa4 (5.16, and stable releases before), 0 switches ``expire_nodest_conn`` off for such clients as well.

This is the one place that looks at the kernel's release. What the kernel does with such a packet shows in no setting, command or symbol,
only in traffic, and a fix may have been taken into an older release: so the release decides nothing but whether there is something to say, and the
reason tells release and fix for the reader to judge.
"""

from __future__ import annotations

import re
import typing as t

from . import model
from .model import Table


class Situation(t.NamedTuple):
    """What the rules ask for.

    :ivar values: names below net.ipv4.vs to values; what a kernel has not is not there
    :ivar version: first two numbers of the release; one that cannot be read is taken for a new one
    :ivar connects: there are services with connections that begin and end, those of TCP and SCTP
    :ivar quiet: there are destinations at weight 0
    """

    values: t.Mapping[str, int | str]
    version: tuple[int, ...]
    persistent: bool
    udp: bool
    connects: bool
    quiet: bool
    masquerades: bool


class Rule(t.NamedTuple):
    """A setting, when it bites, and why in one line; ``{release}`` stands for the kernel's."""

    sysctl: str
    bites: t.Callable[[t.Any], bool]
    applies: t.Callable[[Situation], bool]
    reason: str


def _off(value: t.Any) -> bool:
    return value == 0


def _on(value: t.Any) -> bool:
    return value != 0


def _drops_the_first(now: Situation) -> bool:
    return now.connects and now.version < (5, 9) and now.values.get("conntrack") not in (0, None)


def _reuse_defeats_expiry(now: Situation) -> bool:
    return now.connects and now.version < (5, 16) and now.values.get("expire_nodest_conn") not in (0, None)


RULES = (
    Rule(
        "expire_quiescent_template",
        _off,
        lambda now: now.persistent,
        "there are persistent services: a client that is bound to a destination keeps being sent there at weight 0, so that draining may never end",
    ),
    Rule(
        "expire_nodest_conn",
        _off,
        lambda now: now.udp or now.quiet,
        "there are UDP services or destinations at weight 0: packets of a connection whose destination was removed are dropped until it expires",
    ),
    Rule(
        "conn_reuse_mode",
        _off,
        lambda now: _drops_the_first(now) and not _reuse_defeats_expiry(now),
        "a client that uses a port again stays with its old destination, at weight 0 too, so that draining may never end; but with conntrack on, 1 delays it "
        "by a second on kernels without f0a5e4d7a594 (5.9), and this is {release}",
    ),
    Rule(
        "conn_reuse_mode",
        _off,
        _reuse_defeats_expiry,
        "a client that uses a port again stays with its old destination, at weight 0 too: on kernels without c95c07836fa4 (5.16), and this is {release}, "
        "expire_nodest_conn does nothing for it",
    ),
    Rule(
        "conn_reuse_mode",
        _off,
        lambda now: now.connects and not _drops_the_first(now) and not _reuse_defeats_expiry(now),
        "a client that uses a port again stays with its old destination, so that draining may never end and new destinations get little of busy clients",
    ),
    Rule(
        "conn_reuse_mode",
        _on,
        _drops_the_first,
        "with conntrack on, a client that uses a port again waits a second for its connection on kernels without f0a5e4d7a594 (5.9), and this is {release}; "
        "with 0 it would stay with its old destination instead",
    ),
    Rule(
        "conntrack",
        _off,
        lambda now: now.masquerades,
        "there are masqueraded destinations: their connections are not tracked by netfilter, so that its stateful rules and translation pass them by",
    ),
)


def advise(sysctls: t.Mapping[str, int | str], table: Table, release: str) -> list[dict[str, t.Any]]:
    """What to look at.

    :param sysctls: names below net.ipv4.vs to values; what a kernel has not is not there
    :param release: as ``uname -r`` prints it
    :returns: ``sysctl``, ``value``, ``reason``
    """
    now = _situation(sysctls, table, release)
    return [
        {"sysctl": f"net.ipv4.vs.{rule.sysctl}", "value": sysctls[rule.sysctl], "reason": rule.reason.format(release=release)}
        for rule in RULES
        if rule.sysctl in sysctls and rule.bites(sysctls[rule.sysctl]) and rule.applies(now)
    ]


def _situation(sysctls: t.Mapping[str, int | str], table: Table, release: str) -> Situation:
    match = re.match(r"(\d+)\.(\d+)", release)
    destinations = [one for held in table.values() for one in held.destinations.values()]
    return Situation(
        values=sysctls,
        version=tuple(int(number) for number in match.groups()) if match else (99,),
        persistent=any(held.service.timeout for held in table.values()),
        udp=any(key.protocol == model.UDP for key in table),
        connects=any(key.protocol != model.UDP for key in table),
        quiet=any(not one.weight for one in destinations),
        masquerades=any(one.forward == model.MASQUERADE for one in destinations),
    )
