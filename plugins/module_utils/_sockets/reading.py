# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sockets of a namespace: from /proc, and a long list from sock_diag where that is there."""

from __future__ import annotations

import contextlib
import typing as t

from .._netlink import namespace
from .._netlink.errors import NetstateError
from . import diagnosis, table

if t.TYPE_CHECKING:
    from .table import Socket

LONG = 4000  # sockets; up to here /proc takes 20 ms


def read() -> dict[int, Socket] | OSError:
    """Those of the calling thread's namespace."""
    try:
        rows, sockets = table.read(namespace.own_proc(), LONG)
        if rows < LONG:
            return sockets
        if diagnosis.is_there():
            with contextlib.suppress(NetstateError):  # built without it after all
                return diagnosis.read()
        return table.read(namespace.own_proc())[1]
    except OSError as error:
        return error


def of_process(folder: str) -> dict[int, Socket]:
    """Those of a process's namespace by its /proc folder; none when it is gone.

    Anybody can fill a namespace of his own, so it is entered, for sock_diag; who may not enter it reads what /proc shows of it.
    """
    try:
        found = namespace.run(folder + "/ns/net", read)
    except NetstateError:
        found = _shown(folder)
    return {} if isinstance(found, OSError) else found


def _shown(folder: str) -> dict[int, Socket] | OSError:
    try:
        return table.read(folder)[1]
    except OSError as error:
        return error
