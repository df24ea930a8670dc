# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Timeouts and sync daemons: what the kernel has, what a task wants, the difference, and bringing it about."""

from __future__ import annotations

import errno
import socket
import typing as t

from .._netlink import kernel, namespace
from .._netlink.channel import Channel, Interrupted
from .._netlink.errors import NOT_LOADED, UNREADABLE, NetstateError, OptionError, Reason
from . import config, messages, model, presence, wire

TIMEOUTS = {"tcp": wire.TIMEOUT_TCP, "tcp_fin": wire.TIMEOUT_TCP_FIN, "udp": wire.TIMEOUT_UDP}
LONGEST = 0x7FFFFFFF // 1000  # the kernel counts in ticks, of which there are at most 1000 a second

ROLES = {"master": 1, "backup": 2}  # IP_VS_STATE_*
PRESENT, ABSENT = "present", "absent"
# A backup has room for 1024 bytes at least, whatever it was told (seen on 7.2).
BACKUP_MAXLEN = 1024

_MEANINGS = {
    **presence.MEANINGS,
    errno.ENODEV: Reason("no_interface", "there is no such interface in this namespace"),
    errno.ENETUNREACH: Reason("refused", "no way leads to the group: the interface has to be up"),
    errno.EINVAL: Reason(
        "refused",
        "the kernel takes no such values: the interface has to be up; a destination of the other family than its service excludes sync daemons",
    ),
}


class Daemon(t.NamedTuple):
    """A sync daemon.

    :ivar group: multicast group
    :ivar maxlen: bytes of a message
    """

    interface: str
    syncid: int
    maxlen: int
    group: str
    port: int
    ttl: int


class Settings(t.NamedTuple):
    """What a namespace has.

    :ivar timeouts: ``tcp``, ``tcp_fin``, ``udp`` to seconds
    :ivar daemons: ``master``, ``backup`` to what is running
    """

    timeouts: dict[str, int]
    daemons: dict[str, Daemon]

    def told(self) -> dict[str, t.Any]:
        """In the form of the module's options."""
        return {"timeouts": dict(self.timeouts), **{role: self.daemon_told(role) for role in ROLES}}

    def daemon_told(self, role: str) -> dict[str, t.Any]:
        daemon = self.daemons.get(role)
        return {"state": ABSENT} if daemon is None else dict(daemon._asdict(), state=PRESENT)


class Wanted(t.NamedTuple):
    """What a task wants; what is not there stays as it is.

    :ivar daemons: role to values of a :class:`Daemon`, or ``None`` for it not to run
    """

    timeouts: dict[str, int]
    daemons: dict[str, dict[str, t.Any] | None]

    def needs_ipvs(self) -> bool:
        return bool(self.timeouts) or any(daemon is not None for daemon in self.daemons.values())


class Step(t.NamedTuple):
    """One request: its bytes, its form as arguments of ipvsadm, and what it is about."""

    command: str
    role: str | None = None
    daemon: Daemon | None = None
    timeouts: t.Mapping[str, int] = {}


def parse(options: t.Mapping[str, t.Any]) -> Wanted:
    """Reads the options.

    :raises OptionError: naming option and value
    """
    timeouts = {name: config.number_of(f"timeouts.{name}", value, 1, LONGEST) for name, value in (options.get("timeouts") or {}).items() if value is not None}
    daemons = {role: _daemon(role, options[role]) for role in ROLES if options.get(role) is not None}
    return Wanted(timeouts, daemons)


def _daemon(role: str, given: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    values = {name: value for name, value in given.items() if value is not None and name != "state"}
    if given.get("state") == ABSENT:
        for name, value in values.items():
            raise OptionError(f"{role}.{name}", value, "it goes with state: present")
        return None
    if not values.get("interface"):
        raise OptionError(f"{role}.interface", values.get("interface"), "a sync daemon needs one")
    if len(values["interface"].encode()) > 15 or "/" in values["interface"]:
        raise OptionError(f"{role}.interface", values["interface"], "give the name of an interface")
    for name, least, most in (("syncid", 0, 255), ("maxlen", 1, 65507), ("port", 1, 65535), ("ttl", 1, 255)):
        if name in values:
            values[name] = config.number_of(f"{role}.{name}", values[name], least, most)
    if "maxlen" in values and role == "backup":
        values["maxlen"] = max(values["maxlen"], BACKUP_MAXLEN)
    if "group" in values:
        try:
            family, group = model.packed(values["group"])
        except ValueError:
            raise OptionError(f"{role}.group", values["group"], "give an IPv4 or IPv6 multicast address") from None
        if group[0] not in model.MULTICAST[family]:
            raise OptionError(f"{role}.group", values["group"], "give a multicast address")
        values["group"] = model.address_text(family, group)
    return values


def plan(wanted: Wanted, held: Settings) -> list[Step]:
    """The steps to what is wanted. Pure. A daemon that runs otherwise is stopped and started."""
    steps = []
    timeouts = {name: value for name, value in wanted.timeouts.items() if held.timeouts.get(name) != value}
    if timeouts:
        words = " ".join(str(timeouts.get(name, 0)) for name in TIMEOUTS)
        steps.append(Step(f"--set {words}", timeouts=timeouts))
    for role, values in wanted.daemons.items():
        running = held.daemons.get(role)
        if running is not None and (values is None or running._replace(**values) != running):
            steps.append(Step(f"--stop-daemon {role}", role))
        if values is not None and (running is None or running._replace(**values) != running):
            daemon = running._replace(**values) if running else _started(values)
            steps.append(Step(_start_command(role, daemon), role, daemon))
    return steps


def foretold(held: Settings, steps: t.Iterable[Step]) -> Settings:
    """What is there after the steps, as far as it is known: the kernel chooses values that were left out."""
    timeouts, daemons = dict(held.timeouts), dict(held.daemons)
    for step in steps:
        timeouts.update(step.timeouts)
        if step.daemon is not None:
            daemons[t.cast(str, step.role)] = step.daemon
        elif step.role is not None:
            daemons.pop(step.role)
    return Settings(timeouts, daemons)


def _started(values: t.Mapping[str, t.Any]) -> Daemon:
    """0 and the empty string let the kernel choose."""
    return Daemon(**{"syncid": 0, "maxlen": 0, "group": "", "port": 0, "ttl": 0, **values})


def _start_command(role: str, daemon: Daemon) -> str:
    words = ["--start-daemon", role, "--mcast-interface", daemon.interface, "--syncid", str(daemon.syncid)]
    for option, value in (
        ("--sync-maxlen", daemon.maxlen),
        ("--mcast-group", daemon.group),
        ("--mcast-port", daemon.port),
        ("--mcast-ttl", daemon.ttl),
    ):
        words += [option, str(value)] if value else []
    return " ".join(words)


def read(channel: Channel, requests: messages.Requests) -> Settings:
    """What the namespace has.

    :raises NetstateError: when the kernel refuses
    """
    (answer,) = channel.ask("reading the IPVS timeouts", requests.timeouts(), _MEANINGS)[:1]
    found = wire.top(answer)
    daemons: dict[str, Daemon] = {}
    roles = {number: role for role, number in ROLES.items()}

    def visit(message: bytes) -> None:
        values = wire.nested(message, wire.DAEMON)
        daemons[roles[wire.U32.unpack(values[wire.DAEMON_STATE])[0]]] = decoded(values)

    try:
        channel.dump("dump of the IPVS sync daemons", requests.daemons(), visit, _MEANINGS)
    except Interrupted as error:
        raise NetstateError("dump of the IPVS sync daemons", None, Reason(UNREADABLE.slug, str(error))) from None
    timeouts = {name: wire.U32.unpack(found[kind])[0] for name, kind in TIMEOUTS.items()}
    return Settings(timeouts, daemons)


def decoded(values: t.Mapping[int, bytes]) -> Daemon:
    """A daemon from its attributes. Pure."""
    group = ""
    if wire.DAEMON_MCAST_GROUP in values:
        group = socket.inet_ntop(model.AF_INET, values[wire.DAEMON_MCAST_GROUP])
    elif wire.DAEMON_MCAST_GROUP6 in values:
        group = socket.inet_ntop(model.AF_INET6, values[wire.DAEMON_MCAST_GROUP6])
    return Daemon(
        interface=wire.text(values[wire.DAEMON_MCAST_IFN]),
        syncid=wire.U32.unpack(values[wire.DAEMON_SYNC_ID])[0],
        maxlen=wire.U16.unpack(values[wire.DAEMON_SYNC_MAXLEN])[0],
        group=group,
        port=wire.U16.unpack(values[wire.DAEMON_MCAST_PORT])[0],
        ttl=values[wire.DAEMON_MCAST_TTL][0],
    )


def request(requests: messages.Requests, step: Step) -> bytes:
    """The bytes of a step. Pure."""
    if step.role is None:
        return requests.set_timeouts(**step.timeouts)
    if step.daemon is None:
        return requests.delete_daemon(ROLES[step.role])
    daemon = step.daemon
    values: dict[str, t.Any] = {"state": ROLES[step.role], "mcast_ifn": daemon.interface, "sync_id": daemon.syncid}
    if daemon.maxlen:
        values["sync_maxlen"] = daemon.maxlen
    if daemon.group:
        family, group = model.packed(daemon.group)
        values["mcast_group" if family == model.AF_INET else "mcast_group6"] = group
    if daemon.port:
        values["mcast_port"] = daemon.port
    if daemon.ttl:
        values["mcast_ttl"] = daemon.ttl
    return requests.new_daemon(**values)


def reconcile(wanted: Wanted, netns: str | None, check: bool, load_modules: bool) -> dict[str, t.Any]:
    """Brings a namespace to what is wanted, and reads it back.

    :returns: the result keys of the module
    :raises NetstateError: carrying what was done
    """
    return namespace.run(netns, lambda: _reconcile(wanted, check, load_modules))


def _reconcile(wanted: Wanted, check: bool, load_modules: bool) -> dict[str, t.Any]:
    present = presence.look()
    if not present.available:
        nothing = Settings({}, {})
        if not wanted.needs_ipvs() or (check and load_modules and present.module == kernel.LOADABLE):
            steps = plan(wanted, nothing)
            _look_for_interfaces(steps)
            return _result(nothing, foretold(nothing, steps), steps, present.reason.text if present.reason else None)
        if present.module == kernel.LOADABLE and not load_modules:
            raise NetstateError("setting up IPVS", None, Reason(NOT_LOADED.slug, "ip_vs is not loaded, and load_modules is false"))
        if present.module == kernel.ABSENT or check:
            raise NetstateError("setting up IPVS", None, present.reason)
        presence.load()
    with presence.open_channel() as channel:
        requests = messages.Requests(presence.attach(channel).id)
        before = read(channel, requests)
        steps = plan(wanted, before)
        _look_for_interfaces(steps)
        if check or not steps:
            return _result(before, foretold(before, steps), steps)
        done: list[Step] = []
        try:
            for step in steps:
                channel.ask(f"ipvsadm {step.command}", request(requests, step), _MEANINGS)
                done.append(step)
            after = read(channel, requests)
            left = plan(wanted, after)
            if left:
                text = "the kernel holds something else afterwards. Left to do: " + "; ".join(step.command for step in left)
                raise NetstateError("setting up IPVS", None, Reason("not_settled", text))
        except NetstateError as error:
            error.done.update(changed=bool(done), commands=[step.command for step in done])
            raise
        return _result(before, after, steps)


def _look_for_interfaces(steps: t.Iterable[Step]) -> None:
    """Before anything is sent: a daemon that is to move is stopped first."""
    for step in steps:
        if step.daemon is not None:
            try:
                socket.if_nametoindex(step.daemon.interface)
            except OSError:
                done = {"changed": False, "commands": []}
                raise NetstateError(f"ipvsadm {step.command}", errno.ENODEV, _MEANINGS[errno.ENODEV], done) from None


def _result(before: Settings, after: Settings, steps: list[Step], why: str | None = None) -> dict[str, t.Any]:
    return {
        "changed": bool(steps),
        "before": before.told(),
        "after": after.told(),
        "commands": [step.command for step in steps],
        "diff": {"before": _lines(before), "after": _lines(after)},
        "unavailable_reason": why,
    }


def _lines(settings: Settings) -> str:
    lines = [f"timeout {name} {seconds}" for name, seconds in settings.timeouts.items()]
    lines += [_start_command(role, daemon) for role, daemon in sorted(settings.daemons.items())]
    return "".join(line + "\n" for line in lines)
