# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils import _subsets
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError

DEFAULT = {"capabilities", "table", "statistics", "settings"}
SUBSETS = ("capabilities", "table", "statistics", "settings", "zones", "protocols")
EVERYTHING = set(SUBSETS)


@pytest.mark.parametrize(
    "values, subsets",
    [
        ([], DEFAULT),
        (["all"], EVERYTHING),
        (["min"], set()),
        (["!all"], set()),
        (["!min"], DEFAULT),
        (["table"], {"table"}),
        (["table", "zones"], {"table", "zones"}),
        (["!table"], DEFAULT - {"table"}),
        (["!zones"], DEFAULT),
        (["all", "!zones"], EVERYTHING - {"zones"}),
        (["!zones", "all"], EVERYTHING - {"zones"}),
        (["!zones", "!settings", "all"], EVERYTHING - {"zones", "settings"}),
        (["min", "protocols"], {"protocols"}),
        (["table", "!table"], {"table"}),
        ([" table ", "! zones "], {"table"}),
        (["zones", "!all"], {"zones"}),
    ],
)
def test_as_setup_does(values: list[str], subsets: set[str]) -> None:
    assert _subsets.parse(values, SUBSETS, DEFAULT) == subsets


@pytest.mark.parametrize("value", ["", "tables", "!", "!!table", "all,min", "TABLE", "hardware"])
def test_unknown_subset(value: str) -> None:
    with pytest.raises(OptionError) as caught:
        _subsets.parse(["table", value], SUBSETS, DEFAULT)
    assert caught.value.option == "gather_subset"
    assert str(caught.value).startswith(f"gather_subset: '{value}': give names of all, min, capabilities, table")
