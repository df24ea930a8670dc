# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the sockets of a process's namespace are read from."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import namespace
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import reading, table
from ansible_collections.netstate.kernel.plugins.module_utils._sockets.table import Socket

ENTERED, SHOWN = {1: Socket(1, 16, 1, 0, 0)}, {2: Socket(2, 16, 2, 0, 0)}


@pytest.mark.parametrize(
    "entered, shown, expected",
    [
        (ENTERED, SHOWN, ENTERED),
        (NetstateError("entering", 1), SHOWN, SHOWN),
        (NetstateError("entering", 2), OSError(2, "gone"), {}),
        (OSError(2, "gone"), SHOWN, {}),
    ],
)
def test_of_process(monkeypatch: pytest.MonkeyPatch, entered: t.Any, shown: t.Any, expected: dict[int, Socket]) -> None:
    def run(netns: str, _job: t.Callable[[], t.Any]) -> t.Any:
        assert netns == "/proc/7/ns/net"
        if isinstance(entered, NetstateError):
            raise entered
        return entered

    def read(_folder: str) -> tuple[int, dict[int, Socket]]:
        if isinstance(shown, OSError):
            raise shown
        return len(shown), shown

    monkeypatch.setattr(namespace, "run", run)
    monkeypatch.setattr(table, "read", read)
    assert reading.of_process("/proc/7") == expected
