# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a sock_diag answer, byte by byte."""

from __future__ import annotations

import struct

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import diagnosis
from ansible_collections.netstate.kernel.plugins.module_utils._sockets.table import Socket

ROW = struct.pack("=BBBBIIIIII", 16, 3, 16, 1, 4711, 0, 0, 90210, 0, 0)
MEMORY = struct.pack("=HH9I", 40, 0, 300, 212992, 0, 212992, 0, 0, 0, 0, 7)
GROUPS = struct.pack("=HHI", 8, 1, 1)
ODD = struct.pack("=HHBxxx", 5, 3, 1)


def message(*attributes: bytes) -> bytes:
    body = ROW + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


@pytest.mark.parametrize(
    "attributes, queued, drops",
    [((), 0, 0), ((MEMORY,), 300, 7), ((GROUPS, MEMORY), 300, 7), ((ODD, MEMORY, GROUPS), 300, 7), ((MEMORY[:20],), 0, 0), ((bytes(4),), 0, 0)],
)
def test_row(attributes: tuple[bytes, ...], queued: int, drops: int) -> None:
    assert diagnosis.parse(message(*attributes)) == Socket(90210, 16, 4711, queued, drops)
