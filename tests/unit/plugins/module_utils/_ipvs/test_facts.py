# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import advice, facts, rules
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


SYSCTLS = {"expire_quiescent_template": 0, "expire_nodest_conn": 0, "conn_reuse_mode": 1, "conntrack": 0}
ADVICE = {
    "empty": ("", SYSCTLS, set()),
    "plain": ("-A -t 10.0.0.1:80", SYSCTLS, set()),
    "persistent": ("-A -t 10.0.0.1:80 -p", SYSCTLS, {"expire_quiescent_template"}),
    "persistent, set": ("-A -t 10.0.0.1:80 -p", dict(SYSCTLS, expire_quiescent_template=1), set()),
    "udp": ("-A -u 10.0.0.1:80", SYSCTLS, {"expire_nodest_conn"}),
    "weight 0": ("-A -f 1\n-a -f 1 -r 10.1.0.1 -w 0", SYSCTLS, {"expire_nodest_conn"}),
    "masquerade": ("-A -f 1\n-a -f 1 -r 10.1.0.1 -m", SYSCTLS, {"conntrack"}),
    "masquerade, not built": ("-A -f 1\n-a -f 1 -r 10.1.0.1 -m", {}, set()),
    "reuse": ("-A -f 1", dict(SYSCTLS, conn_reuse_mode=0), {"conn_reuse_mode"}),
}


@pytest.mark.parametrize("text, sysctls, names", ADVICE.values(), ids=ADVICE)
def test_advice(text, sysctls, names):
    found = advice.advise(sysctls, rules.parse_table(text))
    assert {one["sysctl"] for one in found} == {"net.ipv4.vs." + name for name in names}
    assert all(one["reason"] and "\n" not in one["reason"] for one in found)
