# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import facts, rules
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.model import Connections
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


def test_totals():
    table = rules.parse_table(
        "-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1 -w 0\n-a -t 10.0.0.1:80 -r 10.1.0.2\n-A -u [2001:db8::1]:53\n-A -f 1 -6\n"
    )
    activity = {1: Connections(1, 2, 3), 2: Connections(4, 5, 6)}
    assert facts.totals(table, activity) == {
        "services": 3,
        "destinations": 2,
        "by_protocol": {"tcp": 1, "udp": 1, "sctp": 0, "fwmark": 1},
        "by_family": {"ipv4": 1, "ipv6": 2},
        "active_connections": 5,
        "inactive_connections": 7,
        "persistent_connections": 9,
        "destinations_weight_0": 1,
    }
