# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import config, model, plan, rules, scope
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.model import Connections
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.plan import Drain, Goal
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError
from hypothesis import given
from ipvs_tables import tables

ALL = scope.parse({"all": True})

# One service with two destinations, a second service, one of UDP and one by fwmark.
HELD = """\
-A -t 10.0.0.1:80 -s rr -p 300 -M 255.255.255.0 --pe sip
-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 3 -x 100 -y 50
-a -t 10.0.0.1:80 -r 10.1.0.2:80 -i -w 1 --tun-type gue --tun-port 6080
-A -t 10.0.0.2:80 -s wlc
-a -t 10.0.0.2:80 -r 10.1.0.1:80 -g -w 1
-A -u 10.0.0.1:53 -s rr
-a -u 10.0.0.1:53 -r 10.1.0.1:53 -m -w 1
-A -f 1 -s rr
-a -f 1 -r 10.1.0.1:0 -g -w 1
"""
TABLE = rules.parse_table(HELD)
WEB = next(key for key in TABLE if str(key) == "tcp 10.0.0.1:80")


def web(**options):
    return dict({"protocol": "tcp", "address": "10.0.0.1", "port": 80}, **options)


def goal(state, *services, drain=Drain(), within=ALL):  # noqa: B008
    return Goal(state, tuple(config.parse(list(services))), within if state == plan.OVERRIDDEN else None, drain)


def commands(*arguments, **options):
    return [step.command() for step in plan.plan(*arguments, **options).steps]


def as_held(text=HELD):
    return rules.parse(text)


@pytest.mark.parametrize("state", [plan.MERGED, plan.REPLACED, plan.OVERRIDDEN])
def test_nothing_to_do(state):
    assert plan.plan(goal(state, *as_held()), TABLE, {}) == ([], [])


# Each attribute changed alone: what merged is given, and the one step.
CHANGES = {
    "scheduler": (web(scheduler="wrr"), "-E -t 10.0.0.1:80 -s wrr -p 300 -M 255.255.255.0 --pe sip"),
    "flags": (web(scheduler_flags=["flag-2"]), "-E -t 10.0.0.1:80 -s rr -p 300 -M 255.255.255.0 --pe sip -b flag-2"),
    "timeout": (web(persistence={"timeout": 60}), "-E -t 10.0.0.1:80 -s rr -p 60 -M 255.255.255.0 --pe sip"),
    "netmask": (web(persistence={"netmask": 32}), "-E -t 10.0.0.1:80 -s rr -p 300 --pe sip"),
    "engine": (web(persistence={"engine": ""}), "-E -t 10.0.0.1:80 -s rr -p 300 -M 255.255.255.0"),
    "no persistence": (web(persistence={"timeout": 0}), "-E -t 10.0.0.1:80 -s rr --pe sip"),
    "one packet": ({"fwmark": 1, "one_packet": True}, "-E -f 1 -s rr -o"),
    "forward": ({"address": "10.1.0.1", "forward": "direct"}, "-e -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 3 -x 100 -y 50"),
    "weight": ({"address": "10.1.0.1", "weight": 0}, "-e -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 0 -x 100 -y 50"),
    "upper": ({"address": "10.1.0.1", "upper_threshold": 99}, "-e -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 3 -x 99 -y 50"),
    "lower": ({"address": "10.1.0.1", "lower_threshold": 0}, "-e -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 3 -x 100"),
    "tunnel type": (
        {"address": "10.1.0.2", "tunnel": {"type": "gre", "checksum": "csum"}},
        "-e -t 10.0.0.1:80 -r 10.1.0.2:80 -i -w 1 --tun-type gre --tun-csum",
    ),
    "tunnel port": ({"address": "10.1.0.2", "tunnel": {"port": 6081}}, "-e -t 10.0.0.1:80 -r 10.1.0.2:80 -i -w 1 --tun-type gue --tun-port 6081 --tun-nocsum"),
    "tunnel checksum": (
        {"address": "10.1.0.2", "tunnel": {"checksum": "remcsum"}},
        "-e -t 10.0.0.1:80 -r 10.1.0.2:80 -i -w 1 --tun-type gue --tun-port 6080 --tun-remcsum",
    ),
    "new destination": ({"address": "10.1.0.3"}, "-a -t 10.0.0.1:80 -r 10.1.0.3:80 -g -w 1"),
    "other port": ({"address": "10.1.0.1", "port": 81, "weight": 0}, "-a -t 10.0.0.1:80 -r 10.1.0.1:81 -g -w 0"),
    "new service": ({"fwmark": 2, "family": "ipv6"}, "-A -f 2 -6 -s wlc"),
}


@pytest.mark.parametrize("given_, command", CHANGES.values(), ids=CHANGES)
def test_each_attribute_alone(given_, command):
    service = given_ if "fwmark" in given_ or "protocol" in given_ else web(destinations=[given_])
    assert commands(goal(plan.MERGED, service), TABLE, {}) == [command]


def test_replaced_takes_defaults_for_what_is_left_out():
    assert commands(goal(plan.REPLACED, web(destinations=[{"address": "10.1.0.1"}])), TABLE, {}) == [
        "-E -t 10.0.0.1:80 -s wlc",
        "-e -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 1",
        "-d -t 10.0.0.1:80 -r 10.1.0.2:80",
    ]


STATES = {
    "merged keeps other destinations": (plan.MERGED, [web(destinations=[])], []),
    "replaced without destinations leaves them": (plan.REPLACED, [{"fwmark": 1, "scheduler": "rr"}], []),
    "replaced by none removes them": (
        plan.REPLACED,
        [{"fwmark": 1, "scheduler": "rr", "destinations": []}],
        ["-d -f 1 -r 10.1.0.1:0"],
    ),
    "overridden by nothing": (
        plan.OVERRIDDEN,
        [],
        ["-D -t 10.0.0.1:80", "-D -t 10.0.0.2:80", "-D -u 10.0.0.1:53", "-D -f 1"],
    ),
    "deleted service": (plan.DELETED, [{"fwmark": 1}], ["-D -f 1"]),
    "deleted destination": (
        plan.DELETED,
        [web(destinations=[{"address": "10.1.0.2"}, {"address": "10.1.0.9"}])],
        ["-d -t 10.0.0.1:80 -r 10.1.0.2:80"],
    ),
    "deleted, absent": (plan.DELETED, [{"fwmark": 9}], []),
    "new before old, service before destinations": (
        plan.OVERRIDDEN,
        [
            web(port=81, destinations=[{"address": "10.1.0.1"}]),
            {"fwmark": 1, "scheduler": "wrr", "destinations": [{"address": "10.1.0.2"}]},
        ],
        [
            "-A -t 10.0.0.1:81 -s wlc",
            "-a -t 10.0.0.1:81 -r 10.1.0.1:81 -g -w 1",
            "-a -f 1 -r 10.1.0.2:0 -g -w 1",
            "-E -f 1 -s wrr",
            "-d -f 1 -r 10.1.0.1:0",
            "-D -t 10.0.0.1:80",
            "-D -t 10.0.0.2:80",
            "-D -u 10.0.0.1:53",
        ],
    ),
}


@pytest.mark.parametrize("state, services, steps", STATES.values(), ids=STATES)
def test_states(state, services, steps):
    assert commands(goal(state, *services), TABLE, {}) == steps


def test_outside_the_scope_nothing_is_touched():
    within = scope.parse({"addresses": ["10.0.0.2"]})
    one = goal(plan.OVERRIDDEN, within=within)
    assert commands(one, TABLE, {}) == ["-D -t 10.0.0.2:80"]
    assert [str(key) for key in TABLE if one.concerns(key)] == ["tcp 10.0.0.2:80"]


def test_a_service_outside_the_scope_cannot_be_wanted():
    with pytest.raises(OptionError, match=r"config\[0\]: 'fwmark 1 ipv4': it is outside the scope"):
        goal(plan.OVERRIDDEN, {"fwmark": 1}, within=scope.parse({"addresses": ["10.0.0.2"]}))


def test_what_does_not_go_with_what_is_held_is_refused():
    with pytest.raises(OptionError, match=r"config\[0\].destinations\[0\].upper_threshold|lower_threshold: 50: above upper_threshold, which is 9"):
        plan.plan(goal(plan.MERGED, web(destinations=[{"address": "10.1.0.1", "upper_threshold": 9}])), TABLE, {})


# Draining the first destination of the service by fwmark: weight held, connections, what the task says, time is up; the step, and whether it waits.
MARK = next(key for key in TABLE if key.fwmark)
SET, GONE = "-e -f 1 -r 10.1.0.1:0 -g -w 0", "-d -f 1 -r 10.1.0.1:0"
DRAINS = {
    "not asked": (1, (9, 9, 9), Drain(), False, [GONE], False),
    "idle with a weight": (1, (0, 0, 0), Drain("active"), False, [SET], True),
    "busy with a weight": (1, (1, 0, 0), Drain("active"), False, [SET], True),
    "busy at 0": (0, (1, 0, 0), Drain("active"), False, [], True),
    "idle at 0": (0, (0, 0, 0), Drain("active"), False, [GONE], False),
    "inactive only, active asked": (0, (0, 5, 5), Drain("active"), False, [GONE], False),
    "inactive only, all asked": (0, (0, 5, 0), Drain("all"), False, [], True),
    "templates only, all asked": (0, (0, 0, 5), Drain("all"), False, [], True),
    "time is up": (0, (1, 0, 0), Drain("active"), True, [GONE], False),
    "time is up, keep": (0, (1, 0, 0), Drain("active", at_timeout="keep"), True, [], True),
    "time is up, with a weight": (1, (1, 0, 0), Drain("active"), True, [SET], True),
}


@pytest.mark.parametrize("weight, connections, drain, up, steps, waits", DRAINS.values(), ids=DRAINS)
def test_drain(weight, connections, drain, up, steps, waits):
    table = rules.parse_table(HELD.replace("10.1.0.1:0 -g -w 1", f"10.1.0.1:0 -g -w {weight}"))
    ((destination, _one),) = table[MARK].destinations.items()
    one = goal(plan.REPLACED, {"fwmark": 1, "scheduler": "rr", "destinations": []}, drain=drain)
    found = plan.plan(one, table, {(MARK, destination): Connections(*connections)}, up)
    assert [step.command() for step in found.steps] == steps
    assert bool(found.waiting) == waits
    if steps == [SET]:
        assert found.steps[0].kind == plan.DRAIN_DESTINATION


def test_a_drained_service_goes_after_its_destinations():
    one = goal(plan.DELETED, web(), drain=Drain("active"))
    first = plan.plan(one, TABLE, {})
    assert [step.kind for step in first.steps] == [plan.DRAIN_DESTINATION] * 2
    after = plan.applied(TABLE, first.steps)
    assert commands(one, after, {}) == ["-D -t 10.0.0.1:80"]
    busy = {(WEB, destination): Connections(active=1) for destination in list(TABLE[WEB].destinations)[:1]}
    assert commands(one, after, busy) == ["-d -t 10.0.0.1:80 -r 10.1.0.2:80"]
    assert commands(one, after, busy, time_is_up=True) == ["-D -t 10.0.0.1:80"]


def test_udp_is_drained_only_if_asked():
    service = {"protocol": "udp", "address": "10.0.0.1", "port": 53, "scheduler": "rr", "destinations": []}
    assert commands(goal(plan.REPLACED, service, drain=Drain("all")), TABLE, {}) == ["-d -u 10.0.0.1:53 -r 10.1.0.1:53"]
    assert commands(goal(plan.REPLACED, service, drain=Drain("all", udp=True)), TABLE, {}) == ["-e -u 10.0.0.1:53 -r 10.1.0.1:53 -m -w 0"]


def test_wanted_again_gets_its_weight_back():
    drained = rules.parse_table(HELD.replace("-w 3", "-w 0"))
    assert commands(goal(plan.OVERRIDDEN, *as_held()), drained, {}) == ["-e -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 3 -x 100 -y 50"]


def test_foretold_without_touching_the_table():
    one = goal(plan.REPLACED, {"fwmark": 1, "scheduler": "rr", "destinations": []}, drain=Drain("active"))
    steps, after, waiting = plan.foretold(one, TABLE, {})
    assert [step.command() for step in steps] == [SET, GONE]
    assert (after[MARK].destinations, waiting) == ({}, [])
    assert rules.parse_table(HELD) == TABLE


@given(tables(), tables())
def test_overridden_arrives_in_one_pass(held, wanted):
    one = goal(plan.OVERRIDDEN, *config.as_config(wanted))
    steps = plan.plan(one, held, {}).steps
    assert plan.applied(held, steps) == wanted
    assert plan.plan(one, wanted, {}) == ([], [])


@given(tables(), tables())
def test_merged_and_replaced_never_remove_a_service(held, wanted):
    for state in (plan.MERGED, plan.REPLACED):
        steps = plan.plan(goal(state, *config.as_config(wanted)), held, {}).steps
        after = plan.applied(held, steps)
        assert set(after) == set(held) | set(wanted)
        if state == plan.MERGED:
            assert not any(step.kind in plan.REMOVING for step in steps)
        assert {key: one for key, one in after.items() if key not in wanted} == {
            key: one for key, one in held.items() if key not in wanted
        }


@given(tables(), tables())
def test_removal_comes_last(held, wanted):
    kinds = [step.kind in plan.REMOVING for step in plan.plan(goal(plan.OVERRIDDEN, *config.as_config(wanted)), held, {}).steps]
    assert kinds == sorted(kinds)


def test_kinds_have_words():
    assert set(plan.KINDS) == set(plan._OPTIONS)
    assert model.service_order(WEB) < model.service_order(MARK)
