# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import model, plan, services
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


HELD = {model.Key(model.AF_INET, fwmark=1): model.Held(model.service_of(model.AF_INET, "rr", 0, 300, 0xFFFFFFFF, "sip"), {})}
PERSISTENT = {"fwmark": 1, "persistence": {"timeout": 300}}
VETTED = {
    "what is held stays": (plan.MERGED, CONFIG, HELD, None),
    "what is held is named": (plan.MERGED, [dict(PERSISTENT, scheduler="rr")], HELD, None),
    "another scheduler": (plan.MERGED, [dict(CONFIG[0], scheduler="lc")], HELD, "config[0].scheduler"),
    "the default of a new one": (plan.MERGED, CONFIG, {}, "config[0].scheduler"),
    "the default in place of another": (plan.REPLACED, CONFIG, HELD, "config[0].scheduler"),
    "the same, replaced": (plan.REPLACED, [dict(PERSISTENT, scheduler="rr")], HELD, None),
    "another engine": (plan.REPLACED, [{"fwmark": 1, "scheduler": "rr", "persistence": {"engine": "pip"}}], HELD, "config[0].persistence.engine"),
    "what goes": (plan.DELETED, CONFIG, HELD, None),
}


@pytest.mark.parametrize("state, config, held, named", VETTED.values(), ids=VETTED)
def test_schedulers_and_engines_that_the_kernel_has_not(monkeypatch, state, config, held, named):
    monkeypatch.setattr(services.kernel, "module_state", lambda name: services.kernel.ABSENT)
    monkeypatch.setattr(services.presence, "knows_its_modules", lambda: True)
    if named is None:
        services._vet(goal(state, config), held, True)
        return
    with pytest.raises(OptionError) as caught:
        services._vet(goal(state, config), held, True)
    assert caught.value.option == named
