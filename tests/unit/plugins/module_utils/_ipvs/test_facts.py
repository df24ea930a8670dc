# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import facts
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError

DEFAULT = set(facts.DEFAULT)
SUBSETS = [
    (["all"], DEFAULT | {"services"}),
    (["min"], set()),
    (["min", "services"], {"services"}),
    (["!sysctls"], DEFAULT - {"sysctls"}),
    (["all", "!services"], DEFAULT),
    (["!all"], set()),
]


@pytest.mark.parametrize("values, found", SUBSETS, ids=[str(one) for one, _found in SUBSETS])
def test_subsets(values, found):
    assert facts.parse_subsets(values) == found


def test_a_subset_that_is_none():
    with pytest.raises(OptionError, match="gather_subset: 'zones'"):
        facts.parse_subsets(["zones"])
