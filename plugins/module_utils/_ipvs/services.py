# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the module ``ipvs_services`` does in each of its states."""

from __future__ import annotations

import typing as t

from .._netlink import kernel, namespace
from .._netlink.errors import NOT_LOADED, NetstateError, OptionError, Reason
from . import config, model, names, plan, presence, rules, scope, snapshot
from .apply import Kernel as LiveKernel
from .apply import Reconciler
from .config import Wanted
from .model import Table
from .plan import Drain, Goal
from .wording import RulesError

GATHERED, RENDERED, PARSED = "gathered", "rendered", "parsed"
STATES = (*plan.CHANGING, GATHERED, RENDERED, PARSED)
DRAIN_MOST = 31 * 86400


def render(services: t.Sequence[t.Any]) -> dict[str, t.Any]:
    """State ``rendered``: text of the option ``config``.

    :raises OptionError: naming option and value
    """
    return {"changed": False, "rendered": rules.render(config.table(config.parse(services)))}


def parse(text: str, resolve_names: bool, hz: int | None = None) -> dict[str, t.Any]:
    """State ``parsed``: the option form of a text.

    :raises OptionError: naming line and text
    """
    try:
        return {"changed": False, "parsed": rules.parse(text, names.SYSTEM if resolve_names else None, hz)}
    except RulesError as error:
        raise OptionError("running_config", "…", str(error)) from None


def gather(netns: str | None) -> dict[str, t.Any]:
    """State ``gathered``: all services of the namespace. Loads nothing.

    :raises NetstateError: when they could not be read
    """

    def job() -> dict[str, t.Any]:
        present = presence.look()
        table = snapshot.read().table if present.available else {}
        return {"changed": False, "gathered": config.as_config(table), "unavailable_reason": _why(present)}

    return namespace.run(netns, job)


def goal_of(options: t.Mapping[str, t.Any]) -> Goal:
    """What the options of a changing state want.

    :raises OptionError: naming option and value
    """
    state = options["state"]
    if options["config"] is None:
        raise OptionError("config", None, f"state {state} needs it")
    within = scope.parse(options["scope"]) if state == plan.OVERRIDDEN else None
    if within is None and options["scope"] is not None:
        raise OptionError("scope", options["scope"], "it goes with state overridden")
    return Goal(state, tuple(config.parse(options["config"])), within, _drain(options["drain"]))


def reconcile(goal: Goal, netns: str | None, check: bool, load_modules: bool, diff: bool = False) -> dict[str, t.Any]:
    """The changing states.

    :param check: tell what would happen, send nothing that changes
    :param diff: give the tables before and after as text, too
    :returns: the result keys of the module
    :raises OptionError: for a scheduler or engine that this kernel has not, before anything was sent
    :raises NetstateError: carrying what was done
    """
    return namespace.run(netns, lambda: _reconcile(goal, check, load_modules, diff))


def _reconcile(goal: Goal, check: bool, load_modules: bool, diff: bool) -> dict[str, t.Any]:
    present = presence.look()

    def vet(table: Table) -> None:
        _vet(goal, table, load_modules)

    if not present.available:
        nothing_to_be = goal.state == plan.DELETED or not goal.wanted
        if nothing_to_be or (check and load_modules and present.module == kernel.LOADABLE):
            result = Reconciler(goal, _Nothing(), True, diff).run(vet)
            result["unavailable_reason"] = _why(present)
            return result
        if not load_modules and present.module == kernel.LOADABLE:
            raise NetstateError("reconciling the IPVS table", None, Reason(NOT_LOADED.slug, "ip_vs is not loaded, and load_modules is false"))
        if present.module == kernel.ABSENT or check:
            raise NetstateError("reconciling the IPVS table", None, present.reason)
        vet({})
        presence.load()
    with LiveKernel() as live:
        result = Reconciler(goal, live, check, diff).run(vet)
    result["unavailable_reason"] = None
    return result


class _Nothing:
    """The table of a kernel on which ip_vs is not loaded."""

    def read(self, _wanted: object) -> snapshot.Snapshot:
        return snapshot.Snapshot({}, {}, {})


def _vet(goal: Goal, table: Table, load_modules: bool) -> None:
    """Refuses schedulers and engines that the kernel has not, of services that are to be added or changed."""
    if goal.state == plan.DELETED:
        return
    for wanted in goal.wanted:
        held = table.get(wanted.key)
        fixed = goal.fixed.get(wanted.key)
        service = fixed.service if fixed else config.settle_service(wanted, held.service if held else None)
        if held and held.service == service:
            continue
        if service.scheduler != model.NO_SCHEDULER and not (held and held.service.scheduler == service.scheduler):
            _vet_one(wanted, "scheduler", service.scheduler, presence.schedulers, "ip_vs_", load_modules)
        if service.engine and not (held and held.service.engine == service.engine):
            _vet_one(wanted, "persistence.engine", service.engine, presence.engines, "ip_vs_pe_", load_modules)


def _vet_one(wanted: Wanted, option: str, name: str, known: t.Callable[[], dict[str, str]], prefix: str, load_modules: bool) -> None:
    state = kernel.module_state(prefix + name)
    if state in kernel.PRESENT or (state == kernel.LOADABLE and load_modules):
        return
    if not presence.knows_its_modules():  # the kernel will tell
        return
    states = known()
    there = ", ".join(one for one, state in states.items() if state in kernel.PRESENT) or "none"
    loadable = ", ".join(one for one, state in states.items() if state == kernel.LOADABLE) or "none"
    why = f"not on this kernel; there are: {there}; loadable{'' if load_modules else ' (but load_modules is false)'}: {loadable}"
    raise OptionError(f"{wanted.place}.{option}", name, why)


def _drain(value: t.Mapping[str, t.Any] | None) -> Drain:
    given = {name: one for name, one in (value or {}).items() if one is not None}
    drain = Drain(**given)
    for name in ("timeout", "interval"):
        if not 0 <= getattr(drain, name) <= DRAIN_MOST:  # which "nan" is not, either
            raise OptionError(f"drain.{name}", given[name], f"give from 0 to {DRAIN_MOST} seconds")
    if drain.interval < 0.1 and drain.timeout:
        raise OptionError("drain.interval", drain.interval, "give at least 0.1 seconds")
    return drain


def _why(present: presence.Presence) -> str | None:
    return present.reason.text if present.reason else None
