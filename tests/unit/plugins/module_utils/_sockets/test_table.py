# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of /proc/net/netlink as kernels print them."""

from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import table
from ansible_collections.netstate.kernel.plugins.module_utils._sockets.table import Socket

HEADLINE = "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"

ROWS = [
    ("00000000b6cd92d7 0   0          00000000 0        0        0     2        0        4       \n", Socket(4, 0, 0, 0, 0)),
    ("000000009ab86b92 16  1234       00000000 212992   0        0     2        77       90210\n", Socket(90210, 16, 1234, 212992, 77)),
    ("000000009ab86b92 12  4294965295 00000001 0        0        1     3        0        1\n", Socket(1, 12, 4294965295, 0, 0)),
]


@pytest.mark.parametrize("line, socket", ROWS)
def test_row(line: str, socket: Socket) -> None:
    assert table.parse([HEADLINE, line]) == [socket]


@pytest.mark.parametrize("line", [HEADLINE, "", "\n", "00000000b6cd92d7 16 1 0 0\n"])
def test_what_is_no_row(line: str) -> None:
    assert table.parse([line]) == []


@pytest.mark.parametrize("protocol, name", [(0, "route"), (12, "netfilter"), (16, "generic"), (99, "99")])
def test_protocol_name(protocol: int, name: str) -> None:
    assert Socket(1, protocol, 0, 0, 0).protocol_name == name
