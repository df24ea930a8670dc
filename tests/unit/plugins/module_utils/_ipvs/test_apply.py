# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop around a kernel: what it does when the kernel, or another program, does something else. No kernel is imitated
here beyond a table that takes steps; what a real one does is tried in tests/kernels."""

from __future__ import annotations

import errno

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import apply, config, plan, rules, scope
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.model import Connections
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.plan import Drain, Goal
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.snapshot import Snapshot
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import UNREADABLE, NetstateError, OptionError

TWO = "-A -t 10.0.0.1:80 -s rr\n-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 1\n"
OTHER = "-A -t 10.0.0.1:80 -s rr\n-a -t 10.0.0.1:80 -r 10.1.0.2:80 -m -w 1\n"


class Table:
    """Takes steps as the kernel does, answers to the number of the request with what ``faults`` says, and lets ``others`` write first."""

    def __init__(self, text="", faults=(), others=(), busy=0, deaf=False, most=100, readable=999):
        self.table = rules.parse_table(text)
        self.faults, self.others = dict(faults), dict(others)
        self.busy, self.deaf, self._most, self._readable = busy, deaf, most, readable
        self.sent, self.reads = [], 0

    def read(self, _wanted):
        self.reads += 1
        if self.reads > self._readable:
            raise NetstateError("reading the IPVS table", None, UNREADABLE)
        if self.reads in self.others:
            self.table = rules.parse_table(self.others[self.reads])
        self.busy = max(0, self.busy - 1)
        activity = {(key, one): Connections(active=self.busy) for key, held in self.table.items() for one in held.destinations}
        return Snapshot(self.table, activity, {})

    def most(self):
        return self._most

    def send(self, steps):
        failures = {}
        for index, step in enumerate(steps):
            self.sent.append(step.command())
            orphaned = step.kind != plan.ADD_SERVICE and step.key not in self.table and not self.deaf
            code = self.faults.get(len(self.sent)) or (errno.ESRCH if orphaned else 0)
            if code:
                failures[index] = code
            elif not self.deaf:
                self.table = plan.applied(self.table, [step])
        return failures


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def goal(text, state=plan.OVERRIDDEN, **drain):
    within = scope.parse({"all": True}) if state == plan.OVERRIDDEN else None
    return Goal(state, tuple(config.parse(rules.parse(text))), within, Drain(**drain))


def run(kernel, text, check=False, clock=None, **options):
    return apply.Reconciler(goal(text, **options), kernel, check, diff=True, clock=clock or Clock()).run()


def test_from_empty_and_again():
    kernel = Table()
    result = run(kernel, TWO)
    assert result["changed"] and result["commands"] == TWO.splitlines()
    assert (result["before"], result["after"]) == ([], rules.parse(TWO))
    assert result["operations"]["add_service"] == result["operations"]["add_destination"] == 1
    again = run(kernel, TWO)
    assert not again["changed"] and again["commands"] == []


def test_check_mode_sends_nothing_and_tells_the_same():
    kernel = Table(OTHER)
    told = run(kernel, TWO, check=True)
    assert kernel.sent == [] and kernel.table == rules.parse_table(OTHER)
    done = run(kernel, TWO)
    assert told == done


@pytest.mark.parametrize("most", [1, 2, 100])
def test_batches(most):
    kernel = Table(OTHER, most=most)
    assert run(kernel, TWO)["commands"] == ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 1", "-d -t 10.0.0.1:80 -r 10.1.0.2:80"]


# Table, number of the request that is answered by an error, the error.
CONFLICTS = {
    "service appears": ("", 1, errno.EEXIST),
    "destination appears": ("", 2, errno.EEXIST),
    "service goes": ("", 2, errno.ESRCH),
    "service to change goes": (TWO.replace("rr", "wrr"), 1, errno.ESRCH),
    "destination to change goes": (TWO.replace("-w 1", "-w 2"), 1, errno.ENOENT),
    "destination to remove goes": (TWO + OTHER.splitlines()[1], 1, errno.ENOENT),
    "service to remove goes": (TWO + "-A -f 1\n", 1, errno.ESRCH),
}


@pytest.mark.parametrize("held, number, code", CONFLICTS.values(), ids=CONFLICTS)
def test_a_conflict_is_planned_anew(held, number, code):
    kernel = Table(held, faults={number: code})
    result = run(kernel, TWO)
    assert kernel.table == rules.parse_table(TWO)
    assert result["after"] == rules.parse(TWO)


@pytest.mark.parametrize("code", [errno.EEXIST, errno.ESRCH])
def test_conflicts_without_end_are_a_failure_that_tells_what_was_done(code):
    kernel = Table(faults=dict.fromkeys(range(2, 99), code))
    with pytest.raises(NetstateError) as caught:
        run(kernel, TWO)
    assert caught.value.reason.slug == "not_settled"
    assert "-a -t 10.0.0.1:80 -r 10.1.0.1:80" in str(caught.value)
    assert caught.value.done["commands"] == TWO.splitlines()[:1]
    assert len(kernel.sent) < 15


def test_a_writer_that_does_something_else_each_time_is_given_up():
    kernel = Table(others={number: f"{TWO}-A -f {number}\n" for number in range(1, 99)})
    with pytest.raises(NetstateError) as caught:
        run(kernel, TWO)
    assert caught.value.reason.slug == "not_settled"
    assert caught.value.done["commands"] == kernel.sent == [f"-D -f {number}" for number in range(1, 2 + apply.ROUNDS)]


def test_a_kernel_that_takes_nothing_is_found_out():
    with pytest.raises(NetstateError, match="still holds something else"):
        run(Table(deaf=True), TWO)


REFUSALS = {
    "no scheduler": (1, errno.ENOENT, "no_scheduler", []),
    "value refused": (2, errno.EINVAL, "refused", TWO.splitlines()[:1]),
    "not permitted": (1, errno.EPERM, "not_permitted", []),
    "no memory": (1, errno.ENOMEM, None, []),
}


@pytest.mark.parametrize("number, code, slug, done", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_ends_it(number, code, slug, done):
    # Without its service, the destination is refused as well; what came first is told.
    kernel = Table("-A -f 1\n", faults={number: code})
    with pytest.raises(NetstateError) as caught:
        run(kernel, TWO)
    assert (caught.value.code, caught.value.done["commands"]) == (errno.errorcode[code], done)
    assert (caught.value.reason.slug if caught.value.reason else None) == slug
    assert TWO.splitlines()[number - 1] in str(caught.value)


def test_a_refusal_is_told_although_the_table_cannot_be_read_after_it():
    with pytest.raises(NetstateError) as caught:
        run(Table(faults={2: errno.EINVAL}, readable=1), TWO)
    assert (caught.value.code, caught.value.done["commands"]) == ("EINVAL", TWO.splitlines()[:1])


def test_nothing_is_removed_when_an_addition_was_refused():
    kernel = Table(OTHER, faults={1: errno.EINVAL}, most=1)
    with pytest.raises(NetstateError):
        run(kernel, TWO)
    assert kernel.table == rules.parse_table(OTHER)


def test_another_writer_is_corrected():
    kernel = Table(others={2: OTHER})
    assert run(kernel, TWO)["after"] == rules.parse(TWO)


def test_values_that_another_writer_makes_impossible_end_it_and_what_was_done_is_told():
    one = {"fwmark": 1, "destinations": [{"address": "10.1.0.1", "lower_threshold": 9}, {"address": "10.1.0.2"}]}
    wanted = Goal(plan.MERGED, tuple(config.parse([one])))
    held, less = (f"-A -f 1\n-a -f 1 -r 10.1.0.1 -x {upper}\n" for upper in (20, 5))
    kernel = Table(held, others={2: less})
    with pytest.raises(NetstateError, match="above upper_threshold, which is 5") as caught:
        apply.Reconciler(wanted, kernel).run()
    assert (caught.value.done["changed"], len(caught.value.done["commands"])) == (True, 2)
    assert caught.value.done["after"] == rules.parse(less)
    with pytest.raises(OptionError):
        apply.Reconciler(wanted, Table(less)).run()


def test_draining_waits_and_removes():
    kernel, clock = Table(OTHER, busy=6), Clock()
    result = run(kernel, TWO, clock=clock, connections="active", timeout=60, interval=2)
    assert result["commands"] == [
        "-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 1",
        "-e -t 10.0.0.1:80 -r 10.1.0.2:80 -m -w 0",
        "-d -t 10.0.0.1:80 -r 10.1.0.2:80",
    ]
    assert (clock.now, result["draining"]) == (8, [])


def test_time_is_up_remove():
    kernel, clock = Table(OTHER, busy=999), Clock()
    result = run(kernel, TWO, clock=clock, connections="active", timeout=5, interval=2)
    assert kernel.table == rules.parse_table(TWO)
    assert (clock.now, result["draining"]) == (5, [])


def test_time_is_up_keep_and_resumed():
    kernel = Table(OTHER, busy=999)
    result = run(kernel, TWO, connections="active", timeout=5, interval=2, at_timeout="keep")
    assert [(one["service"], one["destination"]) for one in result["draining"]] == [("tcp 10.0.0.1:80", "10.1.0.2:80")]
    assert len(result["warnings"]) == 1
    again = run(kernel, TWO, connections="active", timeout=0, at_timeout="keep")
    assert (again["changed"], len(again["draining"])) == (False, 1)
    kernel.busy = 0
    resumed = run(kernel, TWO, connections="active", timeout=0, at_timeout="keep")
    assert (resumed["commands"], resumed["draining"]) == (["-d -t 10.0.0.1:80 -r 10.1.0.2:80"], [])


def test_what_is_left_alone_is_told():
    kernel = Table(TWO + "-A -f 7\n")
    one = Goal(plan.OVERRIDDEN, (), scope.parse({"fwmarks": ["7"]}), Drain())
    result = apply.Reconciler(one, kernel).run()
    assert (result["commands"], result["untouched"]) == (["-D -f 7"], ["tcp 10.0.0.1:80"])
    assert result["before"] == rules.parse("-A -f 7\n")


def test_the_diff_is_text():
    assert run(Table(OTHER), TWO)["diff"] == {"before": OTHER, "after": TWO}


def test_no_diff_unless_it_is_asked_for():
    result = apply.Reconciler(goal(TWO), Table(OTHER)).run()
    assert result["changed"]
    assert "diff" not in result
