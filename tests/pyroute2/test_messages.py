# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same bytes from every pyroute2."""

from __future__ import annotations

import golden
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages, wire
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import library
from request_bytes import REQUESTS


def test_pyroute2_is_found() -> None:
    assert library.IMPORT_ERROR is None


@pytest.mark.parametrize("build, expected", [pytest.param(build, digits, id=name) for name, build, digits in REQUESTS])
def test_request_bytes(build: object, expected: str) -> None:
    assert build().hex() == expected.replace(" ", "")


def test_a_request_that_is_built_again_is_the_same() -> None:
    # Some releases keep what was compiled of a message class.
    assert [build() for _name, build, _digits in REQUESTS] == [build() for _name, build, _digits in REQUESTS]


def test_global_counts() -> None:
    assert messages.global_counts(golden.MESSAGES["stats"]) == (3, 0x40000)


def test_cpu_counters() -> None:
    counters = messages.cpu_counters(golden.MESSAGES["cpu_stats_0"])
    assert counters["insert"] == 3
    assert sorted(counters) == [
        "chain_toolong",
        "clash_resolve",
        "drop",
        "early_drop",
        "error",
        "found",
        "insert",
        "insert_failed",
        "invalid",
        "search_restart",
    ]


@pytest.mark.parametrize("name", sorted(golden.ENTRIES))
def test_entries_are_read_without_pyroute2(name: str) -> None:
    layout = wire.locate(golden.ENTRIES[name])
    assert messages.identity_cut(layout)
