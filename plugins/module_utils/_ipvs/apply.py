# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bringing a table to what a task wants: read, plan, send, read again, until nothing is left to do.

The last reading is the proof: a task ends well only when the plan for what the kernel holds then is empty. Others may change the table
meanwhile; a step that finds it changed makes everything be read and planned anew, a few times.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import itertools
import time
import typing as t

from .._netlink.errors import NetstateError, OptionError, Reason
from . import config, messages, plan, presence, rules, snapshot
from .model import Key, Table
from .plan import Goal, Step, Waiting
from .snapshot import Snapshot

ROUNDS = 10  # of planning anew
BATCH = 200
_RECONCILING = "reconciling the IPVS table"

# What says that somebody else was there first.
_CONFLICTS = {
    plan.ADD_SERVICE: frozenset([errno.EEXIST]),
    plan.CHANGE_SERVICE: frozenset([errno.ESRCH]),
    plan.DELETE_SERVICE: frozenset([errno.ESRCH]),
    plan.ADD_DESTINATION: frozenset([errno.EEXIST, errno.ESRCH]),
    plan.CHANGE_DESTINATION: frozenset([errno.ENOENT, errno.ESRCH]),
    plan.DRAIN_DESTINATION: frozenset([errno.ENOENT, errno.ESRCH]),
    plan.DELETE_DESTINATION: frozenset([errno.ENOENT, errno.ESRCH]),
}
_REFUSALS = {
    errno.ENOENT: Reason("no_scheduler", "the kernel has no such scheduler or persistence engine, and found no module with it"),
    errno.EAFNOSUPPORT: Reason("no_ipv6", "this kernel's IPVS was built without IPv6"),
    errno.EINVAL: Reason(
        "refused",
        "the kernel takes no such values: a destination has to be the address of one host (and the loopback interface of the namespace up); a "
        "destination of the other family excludes sync daemons",
    ),
    errno.ERANGE: Reason("refused", "a weight or threshold is out of the kernel's range"),
}
# What must be done before the next may begin: a destination that could not be added must not be missed by those that go.
_STAGES = {plan.DRAIN_DESTINATION: 1, plan.DELETE_DESTINATION: 2, plan.DELETE_SERVICE: 2}


class Kernel:
    """The table of the namespace that it was opened in; a context manager."""

    def __init__(self) -> None:
        self._channel = presence.open_channel()
        try:
            self._requests = messages.Requests(presence.attach(self._channel).id)
        except BaseException:
            self._channel.close()
            raise

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._channel.close()

    def read(self, wanted: t.Callable[[Key], bool] | None) -> Snapshot:
        return snapshot.read(wanted)

    def most(self) -> int:
        """How many steps may be sent at once."""
        return min(BATCH, self._channel.batch_size())

    def send(self, steps: t.Sequence[Step]) -> dict[int, int]:
        """Errno by index, of the steps that failed."""
        return self._channel.batch("change of the IPVS table", [self._message(step) for step in steps])

    def _message(self, step: Step) -> bytes:
        key, requests = step.key, self._requests
        service, destination, value = t.cast(t.Any, step.service), t.cast(t.Any, step.destination), t.cast(t.Any, step.value)
        if step.kind == plan.ADD_SERVICE:
            return requests.new_service(key, service)
        if step.kind == plan.CHANGE_SERVICE:
            return requests.set_service(key, service)
        if step.kind == plan.DELETE_SERVICE:
            return requests.delete_service(key)
        if step.kind == plan.ADD_DESTINATION:
            return requests.new_destination(key, destination, value)
        if step.kind == plan.DELETE_DESTINATION:
            return requests.delete_destination(key, destination)
        return requests.set_destination(key, destination, value)


class _Changed(Exception):
    """The table is not what was planned for."""


class Reconciler:
    """One task, from reading to result. ``run`` once.

    :param kernel: a :class:`Kernel`; tests give another
    :param diff: give both tables as text, too
    """

    def __init__(self, goal: Goal, kernel: t.Any, check: bool = False, diff: bool = False, clock: t.Any = time) -> None:
        self._goal = goal
        self._kernel = kernel
        self._check = check
        self._diff = diff
        self._clock = clock
        self._done: list[Step] = []
        self._waiting: list[Waiting] = []
        self._before: Table = {}
        self._after: Table = {}
        self._untouched: list[str] = []
        self._rounds = 0

    def run(self, vet: t.Callable[[Table], None] = lambda _table: None) -> dict[str, t.Any]:
        """Does it.

        :param vet: is called with the table that was read, before anything is sent, and may raise
        :returns: the result keys of the module
        :raises NetstateError: carrying what was done
        """
        first = self._read()
        self._before = self._after = self._concerned(first.table)
        if self._goal.state == plan.OVERRIDDEN:
            self._untouched = sorted(str(key) for key in first.table if not self._goal.concerns(key))
        vet(first.table)
        if self._check:
            self._done, after, self._waiting = plan.foretold(self._goal, first.table, first.activity)
            self._after = self._concerned(after)
            return self.result()
        try:
            self._carry_out(first)
        except NetstateError as error:
            error.done.update(self.result())
            raise
        return self.result()

    def result(self) -> dict[str, t.Any]:
        kinds = collections.Counter(step.kind for step in self._done)
        same = self._after == self._before
        before = config.as_config(self._before)
        result: dict[str, t.Any] = {
            "changed": bool(self._done),
            "before": before,
            "after": before if same else config.as_config(self._after),
            "commands": [step.command() for step in self._done],
            "operations": {kind: kinds[kind] for kind in plan.KINDS},
            "draining": [_told(waiting) for waiting in self._waiting],
            "untouched": self._untouched,
            "warnings": self._warnings(),
        }
        if self._diff:
            before_text = rules.render(self._before)
            result["diff"] = {"before": before_text, "after": before_text if same else rules.render(self._after)}
        return result

    def _warnings(self) -> list[str]:
        return [
            f"{one.key}: destination {one.destination} is at weight 0 and still has connections: a later run removes it"
            for one in self._waiting
        ]

    def _carry_out(self, found: Snapshot) -> None:
        goal = self._goal
        end = self._clock.monotonic() + goal.drain.timeout
        while True:
            is_late = self._clock.monotonic() >= end
            awaited = self._waiting
            self._after = self._concerned(found.table)
            now = self._planned(found, is_late)
            self._waiting = now.waiting
            if now.steps:
                self._count_round(now.steps, awaited)
                try:
                    self._send(now.steps)
                except _Changed:
                    pass
                except NetstateError:
                    with contextlib.suppress(NetstateError):  # the refusal is what is to be told
                        self._after = self._concerned(self._read().table)
                    raise
            elif not now.waiting or is_late:
                return
            else:
                self._clock.sleep(max(0.0, min(goal.drain.interval, end - self._clock.monotonic())))
            found = self._read()

    def _planned(self, found: Snapshot, is_late: bool) -> plan.Plan:
        try:
            return plan.plan(self._goal, found.table, found.activity, is_late)
        except OptionError as error:
            if not self._done:
                raise
            text = f"another program writes to the table, and what it holds now does not go with what was asked: {error}"
            raise NetstateError(_RECONCILING, None, Reason("not_settled", text)) from None

    def _count_round(self, steps: list[Step], awaited: list[Waiting]) -> None:
        """Removing what was waited for takes as many rounds as it takes; with anything else, one round should have been enough."""
        expected = {(one.key, which) for one in awaited for which in (one.destination, None)}
        if all(step.kind in plan.REMOVING and (step.key, step.destination) in expected for step in steps):
            return
        self._rounds += 1
        if self._rounds > 1 + ROUNDS:
            left = "; ".join(step.command() for step in steps[:5])
            text = (
                f"planned anew {ROUNDS} times, and the kernel still holds something else: another program writes to the table, or this kernel does "
                f"not know what was asked. Left to do: {left}"
            )
            raise NetstateError(_RECONCILING, None, Reason("not_settled", text))

    def _send(self, steps: t.Sequence[Step]) -> None:
        for _stage, group in itertools.groupby(steps, key=lambda step: _STAGES.get(step.kind, 0)):
            staged = list(group)
            most = self._kernel.most()
            for start in range(0, len(staged), most):
                self._send_batch(staged[start : start + most])

    def _send_batch(self, steps: t.Sequence[Step]) -> None:
        failures = self._kernel.send(steps)
        self._done += [step for index, step in enumerate(steps) if index not in failures]
        for index in sorted(failures):
            step, code = steps[index], failures[index]
            if code not in _CONFLICTS[step.kind]:
                raise NetstateError(f"ipvsadm {step.command()}", code, presence.MEANINGS.get(code) or _REFUSALS.get(code))
        if failures:
            raise _Changed

    def _read(self) -> Snapshot:
        return self._kernel.read(self._goal.concerns)

    def _concerned(self, table: Table) -> Table:
        return {key: held for key, held in table.items() if self._goal.concerns(key)}


def _told(waiting: Waiting) -> dict[str, t.Any]:
    connections = waiting.connections
    return {
        "service": str(waiting.key),
        "destination": str(waiting.destination),
        "active_connections": connections.active,
        "inactive_connections": connections.inactive,
        "persistent_connections": connections.persistent,
    }
