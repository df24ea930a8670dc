# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import plan, services
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError

CONFIG = [{"fwmark": 1}]


def goal(state=plan.MERGED, config=(), scope=None, drain=None):
    return services.goal_of({"state": state, "config": config, "scope": scope, "drain": drain})


def test_without_drain_nothing_is_drained():
    assert goal(config=CONFIG).drain.connections == plan.NONE


@pytest.mark.parametrize("drain", [{"timeout": 0, "interval": 0}, {"timeout": 5, "interval": 0.1}, {"timeout": None}])
def test_times_of_draining(drain):
    given = {name: value for name, value in drain.items() if value is not None}
    assert goal(config=CONFIG, drain=drain).drain == plan.Drain(**given)


REFUSED = {
    "no config": ({"config": None}, "config"),
    "scope without need": ({"scope": {"all": True}}, "scope"),
    "overridden without scope": ({"state": plan.OVERRIDDEN}, "scope"),
    "outside the scope": ({"state": plan.OVERRIDDEN, "config": CONFIG, "scope": {"fwmarks": [2]}}, "config[0]"),
    "timeout below 0": ({"drain": {"timeout": -1}}, "drain.timeout"),
    "timeout without end": ({"drain": {"timeout": float("inf")}}, "drain.timeout"),
    "timeout no number": ({"drain": {"timeout": float("nan")}}, "drain.timeout"),
    "interval no number": ({"drain": {"interval": float("nan")}}, "drain.interval"),
    "interval too short": ({"drain": {"interval": 0.01}}, "drain.interval"),
}


@pytest.mark.parametrize("options, named", REFUSED.values(), ids=REFUSED)
def test_refused(options, named):
    with pytest.raises(OptionError) as caught:
        goal(**options)
    assert caught.value.option == named
