# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What this host's IPVS can do and holds, as facts. Reads only, loads nothing."""

from __future__ import annotations

import datetime
import errno
import typing as t

from .._netlink import kernel, namespace
from .._netlink.errors import NetstateError
from .._netlink.text import printable
from . import presence

DEFAULT = ("capabilities", "totals", "settings", "sysctls")
SUBSETS = (*DEFAULT, "services")

SYSCTLS = "net/ipv4/vs"


def gather(subsets: t.Collection[str], netns: str | None = None) -> dict[str, t.Any]:
    """The facts of a network namespace, by subset; see the module's documentation for their shape.

    IPVS that is absent, not loaded or not permitted is told in the facts and is no error.

    :raises NetstateError: for a namespace that cannot be entered, or a table that could not be read whole
    """
    return dict(namespace.run(netns, lambda: _gather(subsets)), netns=netns and printable(netns))


def _gather(subsets: t.Collection[str]) -> dict[str, t.Any]:
    present = presence.look()
    facts: dict[str, t.Any] = {
        "available": present.available,
        "reason": present.reason.slug if present.reason else None,
        "reason_text": present.reason.text if present.reason else None,
        "module": present.module,
        "kernel": kernel.release(),
        "gathered_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if not present.available:
        return facts
    # Ansible sends source text, which each run compiles, and most hosts have no IPVS to be read.
    from . import readout

    sysctls = kernel.sysctls(SYSCTLS)
    if "sysctls" in subsets:
        facts["sysctls"] = sysctls
    try:
        facts.update(readout.read(subsets, sysctls))
    except NetstateError as error:
        if error.number not in (errno.EPERM, errno.EACCES) or error.reason is None:
            raise
        facts.update(available=False, reason=error.reason.slug, reason_text=str(error))
    return facts
