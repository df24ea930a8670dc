# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names of services and hosts, from the databases of the machine that runs this."""

from __future__ import annotations

import socket

from .rules import Names


def _address(name: str) -> str:
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])


SYSTEM = Names(socket.getservbyname, _address)
