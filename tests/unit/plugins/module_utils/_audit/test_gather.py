# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which namespaces are looked into, and what becomes of a part that cannot be read."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._audit import gather
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NO_ANSWER, NetstateError

NAMES = ["qrouter-1", "qrouter-2", "qdhcp-1", "Qrouter-3", "[x]"]


@pytest.mark.parametrize(
    "patterns, names",
    [
        ([], []),
        (["*"], sorted(NAMES)),
        (["qrouter-*"], ["qrouter-1", "qrouter-2"]),
        (["qrouter-*", "qrouter-1", "qd*"], ["qdhcp-1", "qrouter-1", "qrouter-2"]),
        (["qrouter-[13]"], ["qrouter-1"]),
        (["nothing"], []),
    ],
)
def test_matching(patterns: list[str], names: list[str]) -> None:
    assert gather.matching(NAMES, patterns) == names


def test_a_part_that_fails_leaves_the_others() -> None:
    def fails() -> dict[str, t.Any]:
        raise NetstateError("dump of something", 110, NO_ANSWER)

    problems: dict[str, dict[str, t.Any]] = {}
    assert gather._tried({"a": fails, "b": lambda: {"x": 1}, "c": gather._without_library}, problems) == {"b": {"x": 1}}
    assert problems["a"]["reason"] == "no_answer"
    assert "dump of something" in problems["a"]["text"]
    assert problems["c"]["reason"] == "missing_library"
    assert "pyroute2" in problems["c"]["text"]


def test_uptime() -> None:
    seconds = gather.uptime()
    assert seconds is not None and seconds > 0
