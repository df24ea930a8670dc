# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The difference between a table and what a task wants, as steps in order. Pure.

New comes before old: services and destinations are added, then changed, and only then others are drained and removed, so that a service is
at no time without those that it keeps. Nothing is remembered between runs: what a destination has to go through follows from its
weight and its connections.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._netlink.errors import OptionError
from . import config, model, rules
from .config import Wanted
from .model import Activity, Connections, Destination, DestinationKey, Held, Key, Service, Table
from .scope import Scope

MERGED, REPLACED, OVERRIDDEN, DELETED = "merged", "replaced", "overridden", "deleted"
CHANGING = (MERGED, REPLACED, OVERRIDDEN, DELETED)

NONE, ACTIVE, ALL = "none", "active", "all"
REMOVE, KEEP = "remove", "keep"

ADD_SERVICE, CHANGE_SERVICE, DELETE_SERVICE = "add_service", "change_service", "delete_service"
ADD_DESTINATION, CHANGE_DESTINATION, DELETE_DESTINATION = "add_destination", "change_destination", "delete_destination"
DRAIN_DESTINATION = "drain_destination"
KINDS = (
    ADD_SERVICE,
    CHANGE_SERVICE,
    DELETE_SERVICE,
    ADD_DESTINATION,
    CHANGE_DESTINATION,
    DRAIN_DESTINATION,
    DELETE_DESTINATION,
)
REMOVING = frozenset([DELETE_SERVICE, DELETE_DESTINATION])


@dataclasses.dataclass(frozen=True)
class Drain:
    """What destinations go through before they are removed.

    :ivar connections: wait until there are no ``active`` ones, none of ``all`` (inactive ones and persistence templates too); ``none`` to not wait
    :ivar timeout: seconds, of the whole task
    :ivar interval: seconds between two looks
    :ivar at_timeout: ``remove`` them then, or ``keep`` them at weight 0 for a later run
    :ivar udp: whether destinations of UDP services are drained: their connections end by a timer only
    """

    connections: str = NONE
    timeout: float = 60
    interval: float = 1
    at_timeout: str = REMOVE
    udp: bool = False

    def applies(self, key: Key) -> bool:
        return self.connections != NONE and (self.udp or key.protocol != model.UDP)

    def is_busy(self, connections: Connections) -> bool:
        return any(connections) if self.connections == ALL else connections.active > 0


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a task wants.

    :ivar scope: for ``overridden``
    :ivar fixed: what the services shall be, where that does not depend on what they are: when ``replaced`` or ``overridden``
    """

    state: str
    wanted: tuple[Wanted, ...]
    scope: Scope | None = None
    drain: Drain = Drain()
    named: frozenset[Key] = dataclasses.field(init=False)
    fixed: Table = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", frozenset(one.key for one in self.wanted))
        if self.state == OVERRIDDEN:
            for one in self.wanted:
                if one.key not in t.cast(Scope, self.scope):
                    raise OptionError(one.place, str(one.key), "it is outside the scope")
        object.__setattr__(self, "fixed", config.table(self.wanted) if self.state in (REPLACED, OVERRIDDEN) else {})

    def concerns(self, key: Key) -> bool:
        """Whether the task has a say in this service."""
        return key in self.named or (self.state == OVERRIDDEN and key in t.cast(Scope, self.scope))


class Step(t.NamedTuple):
    """One request to the kernel: ``kind``, and what it needs of the rest."""

    kind: str
    key: Key
    service: Service | None = None
    destination: DestinationKey | None = None
    value: Destination | None = None

    def command(self) -> str:
        """As arguments of ipvsadm; thresholds are said, which ``ipvsadm -S`` leaves out."""
        words = [_OPTIONS[self.kind], *rules.service_words(self.key)]
        if self.service is not None:
            words += rules.setting_words(self.key, self.service)
        if self.destination is not None:
            words += ["-r", str(self.destination)]
            if self.value is not None:
                words += rules.destination_words(self.key, self.destination, self.value)
        return " ".join(words)


_OPTIONS = {
    ADD_SERVICE: "-A",
    CHANGE_SERVICE: "-E",
    DELETE_SERVICE: "-D",
    ADD_DESTINATION: "-a",
    CHANGE_DESTINATION: "-e",
    DRAIN_DESTINATION: "-e",
    DELETE_DESTINATION: "-d",
}


class Waiting(t.NamedTuple):
    """A destination at weight 0 that has connections left."""

    key: Key
    destination: DestinationKey
    connections: Connections


class Plan(t.NamedTuple):
    """What is to be done now, and what can only be done later."""

    steps: list[Step]
    waiting: list[Waiting]


def plan(goal: Goal, table: Table, activity: Activity, time_is_up: bool = False) -> Plan:
    """The steps from the table towards the goal.

    :param activity: connections of each destination
    :param time_is_up: of draining
    :raises OptionError: where values given do not go with those that are held
    """
    building, changing = [], []
    leaving: list[tuple[Key, list[DestinationKey], bool]] = []
    for wanted in sorted(goal.wanted, key=lambda one: model.service_order(one.key)):
        held = table.get(wanted.key)
        if goal.state == DELETED:
            if held is not None:
                named = [one for one in sorted(wanted.destinations or {}) if one in held.destinations]
                whole = wanted.destinations is None
                leaving.append((wanted.key, sorted(held.destinations) if whole else named, whole))
            continue
        added, changed = _towards(goal, wanted, held)
        building += added
        changing += changed
        if goal.state != MERGED and wanted.destinations is not None and held is not None:
            leaving.append((wanted.key, sorted(held.destinations.keys() - wanted.destinations.keys()), False))
    if goal.state == OVERRIDDEN:
        leaving += [
            (key, sorted(held.destinations), True) for key, held in model.sorted_table(table) if key not in goal.named and key in t.cast(Scope, goal.scope)
        ]
    draining, removing, waiting = _removal(goal.drain, table, activity, leaving, time_is_up)
    return Plan(building + changing + draining + removing, waiting)


def applied(table: Table, steps: t.Iterable[Step]) -> Table:
    """What the table is after the steps."""
    after: dict[Key, Held] = dict(table)
    own: set[Key] = set()
    for step in steps:
        if step.kind == DELETE_SERVICE:
            after.pop(step.key, None)
            own.discard(step.key)
            continue
        held = after.get(step.key)
        if step.key not in own:
            held = Held(held.service, dict(held.destinations)) if held else held
            own.add(step.key)
        if step.service is not None:
            held = Held(step.service, held.destinations if held else {})
        if held is None:
            raise AssertionError(f"{step.kind} of a service that is not there: {step.key}")
        destinations = t.cast(t.Dict[DestinationKey, Destination], held.destinations)
        if step.kind == DELETE_DESTINATION:
            destinations.pop(t.cast(DestinationKey, step.destination), None)
        elif step.destination is not None:
            destinations[step.destination] = t.cast(Destination, step.value)
        after[step.key] = held
    return after


def foretold(goal: Goal, table: Table, activity: Activity) -> tuple[list[Step], Table, list[Waiting]]:
    """Steps, table and what would still wait, if connections stay as they are until the time of draining is up."""
    first = plan(goal, table, activity)
    after = applied(table, first.steps)
    last = plan(goal, after, activity, time_is_up=True)
    return first.steps + last.steps, applied(after, last.steps), last.waiting


def _towards(goal: Goal, wanted: Wanted, held: Held | None) -> tuple[list[Step], list[Step]]:
    """Steps that add, and steps that change."""
    added, changed = [], []
    key = wanted.key
    wish = goal.fixed[key] if key in goal.fixed else config.settle(wanted, held)
    if held is None:
        added.append(Step(ADD_SERVICE, key, wish.service))
    elif wish.service != held.service:
        changed.append(Step(CHANGE_SERVICE, key, wish.service))
    there = held.destinations if held else {}
    if wish.destinations == there:
        return added, changed
    for destination, value in sorted(wish.destinations.items()):
        if destination not in there:
            added.append(Step(ADD_DESTINATION, key, None, destination, value))
        elif value != there[destination]:
            changed.append(Step(CHANGE_DESTINATION, key, None, destination, value))
    return added, changed


def _removal(
    drain: Drain,
    table: Table,
    activity: Activity,
    leaving: t.Iterable[tuple[Key, list[DestinationKey], bool]],
    time_is_up: bool,
) -> tuple[list[Step], list[Step], list[Waiting]]:
    """Steps that set weights to 0, steps that remove, and what has to wait.

    :param leaving: service, its destinations that go, and whether it goes with them
    """
    draining: list[Step] = []
    removed: list[Step] = []
    services: list[Step] = []
    waiting: list[Waiting] = []
    for key, destinations, whole in leaving:
        stays = False
        gone = []
        for destination in destinations if drain.applies(key) else ():
            one = table[key].destinations[destination]
            connections = activity.get((key, destination), Connections())
            if one.weight:
                draining.append(Step(DRAIN_DESTINATION, key, None, destination, one._replace(weight=0)))
            elif not drain.is_busy(connections) or (time_is_up and drain.at_timeout == REMOVE):
                gone.append(destination)
                continue
            stays = True
            waiting.append(Waiting(key, destination, connections))
        if not drain.applies(key):
            gone = destinations
        if whole and not stays:
            services.append(Step(DELETE_SERVICE, key))
        else:
            removed += [Step(DELETE_DESTINATION, key, None, destination) for destination in gone]
    return draining, removed + services, waiting
