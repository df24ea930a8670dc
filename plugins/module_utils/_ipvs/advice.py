# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings that go badly with what the table holds. Pure.

Each rule has its reason from the kernel's Documentation/networking/ipvs-sysctl.rst.
"""

from __future__ import annotations

import typing as t

from . import model
from .model import Table


def advise(sysctls: t.Mapping[str, int | str], table: Table) -> list[dict[str, t.Any]]:
    """What to look at.

    :param sysctls: names below net.ipv4.vs to values; what a kernel has not is not there
    :returns: ``sysctl``, ``value``, ``reason``
    """
    persistent = any(held.service.timeout for held in table.values())
    udp = any(key.protocol == model.UDP for key in table)
    quiet = any(not one.weight for held in table.values() for one in held.destinations.values())
    masquerades = any(one.forward == model.MASQUERADE for held in table.values() for one in held.destinations.values())
    rules = (
        (
            persistent,
            "expire_quiescent_template",
            0,
            "there are persistent services: a client that is bound to a destination keeps being sent there at weight 0, so that draining may never end",
        ),
        (
            udp or quiet,
            "expire_nodest_conn",
            0,
            "there are UDP services or destinations at weight 0: packets of a connection whose destination was removed are dropped until it expires",
        ),
        (
            bool(table),
            "conn_reuse_mode",
            0,
            "a client that uses a port again stays with its old destination, at weight 0 too, so that draining may never end",
        ),
        (
            masquerades,
            "conntrack",
            0,
            "there are masqueraded destinations: their connections are not tracked by netfilter, so that its stateful rules and translation pass them by",
        ),
    )
    return [
        {"sysctl": f"net.ipv4.vs.{name}", "value": value, "reason": reason}
        for applies, name, value, reason in rules
        if applies and sysctls.get(name) == value
    ]
