# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a running ovs-vswitchd takes packets from its kernel datapath, and how many sockets that needs.

Before 2.8.5, 2.9.3, 2.10.1 and 2.11.0 it held a netlink socket for each port and handler thread, since then one for each port, and
since 2.16 with a kernel of 5.15 or later one for each handler thread ("per-cpu dispatch"). Releases are patched, so what it holds is
counted, and the daemon itself is asked.
"""

from __future__ import annotations

import dataclasses
import os
import pwd
import re
import time
import typing as t

from . import control, processes, reading, table

COMMAND = "ovs-vswitchd"
USER = "openvswitch"  # of distributions that do not run it as root

# Any user can call a process so, and answer slowly or at length.
MOST = 8
SECONDS = 3.0
_MOST_DATAPATHS = 64
_LONGEST_NAME = 64

PER_CPU, PER_PORT, PER_PORT_AND_HANDLER, NONE, UNKNOWN = "per_cpu", "per_port", "per_port_and_handler", "none", "unknown"

# Of the sockets that a mode needs, the share that must be there: ports come and go, and some have no channel yet.
_ENOUGH = 0.75


@dataclasses.dataclass(frozen=True)
class Answers:
    """What the daemon said; ``None`` for what it did not say.

    :ivar version: as ``ovs-appctl version`` prints it, without the program's name
    :ivar datapaths: name (``system@ovs-system``) to number of ports
    :ivar dispatch: datapath name to ``per-cpu`` or ``per-vport``; releases before 2.16 do not know the question
    :ivar problems: why something was not said
    """

    version: str | None = None
    datapaths: t.Mapping[str, int] | None = None
    dispatch: t.Mapping[str, str] | None = None
    problems: t.Sequence[str] = ()


def parse_version(text: str) -> str | None:
    """``3.1.0`` of ``ovs-vswitchd (Open vSwitch) 3.1.0``."""
    found = re.search(r"\(Open vSwitch\)\s+(\S+)", text)
    return found.group(1)[:_LONGEST_NAME] if found else None


def parse_datapaths(text: str) -> dict[str, int]:
    """Ports by datapath, from ``dpctl/show``."""
    ports: dict[str, int] = {}
    name = None
    for line in text.splitlines():
        if line and not line[0].isspace():
            if len(ports) == _MOST_DATAPATHS:
                break
            name = line.strip().rstrip(":")[:_LONGEST_NAME]
            ports[name] = 0
        elif name is not None and re.match(r"\s+port \d+:", line):
            ports[name] += 1
    return ports


def parse_dispatch(text: str) -> dict[str, str]:
    """Dispatch mode by datapath, from ``dpif-netlink/dispatch-mode``."""
    # Line by line: over many empty ones the pattern takes the square of their number.
    rows = (re.match(r"\s*(\S+?):? (per-cpu|per-vport) dispatch mode", line) for line in text.splitlines())
    return dict(found.groups() for found in rows if found)  # type: ignore[misc]


def judge(answers: Answers, sockets: int, ports: int, handlers: int) -> tuple[str, str]:
    """The upcall mode, and the evidence in one sentence.

    :param sockets: generic netlink sockets that the daemon holds
    :param ports: of its kernel datapaths
    :param handlers: its handler threads
    """
    held = f"it holds {sockets} generic netlink sockets with {ports} ports and {handlers} handler threads"
    said = sorted(set((answers.dispatch or {}).values()))
    if answers.datapaths is not None and not _in_kernel(answers.datapaths):
        return NONE, f"no datapath of it is in the kernel ({', '.join(answers.datapaths) or 'it has none'}); {held}"
    if said == ["per-cpu"]:
        return PER_CPU, f"it says per-cpu dispatch mode; {held}"
    if answers.datapaths is None or not ports or not handlers:
        return UNKNOWN, held
    source = "it says per-vport dispatch mode; " if said == ["per-vport"] else ""
    if handlers > 1 and sockets >= _ENOUGH * ports * handlers:
        return PER_PORT_AND_HANDLER, f"{source}{held}, enough for one of each port and handler"
    if source or sockets >= _ENOUGH * ports:
        return PER_PORT, f"{source}{held}"
    return UNKNOWN, f"{held}, which fits no mode"


def need(mode: str, ports: int, handlers: int) -> int | None:
    """Sockets for upcalls in that mode; ``None`` where the mode is not known."""
    return {PER_CPU: handlers, PER_PORT: ports, PER_PORT_AND_HANDLER: ports * handlers, NONE: 0}.get(mode)


def find(proc: str = processes.PROC) -> list[int]:
    """The running daemons, without the processes that merely watch one; those of root and of Open vSwitch's own user first."""
    found = [pid for pid in processes.pids(proc) if processes.command(pid, proc) == COMMAND and not _watches(pid, proc)]
    if len(found) < 2:
        return found
    trusted = _trusted()
    return sorted(found, key=lambda pid: (not processes.users(pid, proc) <= trusted, pid))


def gather(pids: t.Sequence[int], known: t.Mapping[int, table.Socket], proc: str = processes.PROC) -> list[dict[str, t.Any]]:
    """What is known of the first ``MOST`` of the daemons, who have ``SECONDS`` together to answer."""
    deadline = time.monotonic() + SECONDS
    return [facts(pid, known, proc, deadline) for pid in pids[:MOST]]


def _trusted() -> set[int]:
    try:
        return {0, pwd.getpwnam(USER).pw_uid}
    except KeyError:
        return {0}


def facts(pid: int, known: t.Mapping[int, table.Socket], proc: str = processes.PROC, deadline: float | None = None) -> dict[str, t.Any]:
    """What is known of one daemon; see the module's documentation for the shape.

    :param known: the sockets of the namespace that this process is in
    :param deadline: for its answers, on the monotonic clock
    """
    folder = os.path.join(proc, str(pid))
    answers = _ask(pid, folder, deadline)
    sockets = known if _same_namespace(folder) else reading.of_process(folder)
    process = processes.look_at(pid, sockets, proc)
    kernel_datapaths = _in_kernel(answers.datapaths or {})
    ports = sum(kernel_datapaths.values())
    threads = _threads(folder)
    handlers = sum(name.startswith("handler") for name in threads)
    generic = sum(socket.protocol == table.GENERIC for socket in process.sockets) if process else None
    if generic is None:
        mode, evidence = UNKNOWN, "its open files may not be read"
    else:
        mode, evidence = judge(answers, generic, ports, handlers)
    return {
        "pid": pid,
        "version": answers.version,
        "datapaths": [{"name": name, "ports": count} for name, count in sorted((answers.datapaths or {}).items())],
        "ports": ports if answers.datapaths is not None else None,
        "handlers": handlers,
        "revalidators": sum(name.startswith("revalidator") for name in threads),
        "generic_sockets": generic,
        "upcall_mode": mode,
        "evidence": evidence,
        "problems": list(answers.problems),
        "open_files": process.open_files if process else None,
        "soft_limit": process.soft_limit if process else None,
        "hard_limit": process.hard_limit if process else None,
        "used_percent": process.used_percent if process else None,
        "projected": _projected(process, generic, mode, ports, handlers) if process and answers.datapaths is not None else None,
    }


def _projected(process: processes.Process, generic: int | None, mode: str, ports: int, handlers: int) -> dict[str, t.Any]:
    """Open files with a socket for each port and handler, and with those that the mode needs."""
    wanted, worst = need(mode, ports, handlers), ports * handlers
    # A few generic sockets are for other things than upcalls (three in release 3.1).
    for_upcalls = min(generic or 0, worst if wanted is None else wanted)
    others = process.open_files - for_upcalls
    return {
        "sockets": wanted,
        "open_files": None if wanted is None else others + wanted,
        "per_port_and_handler_sockets": worst,
        "per_port_and_handler_open_files": others + worst,
        "used_percent": _percent(others, wanted, process.soft_limit),
        "per_port_and_handler_used_percent": _percent(others, worst, process.soft_limit),
    }


def _percent(others: int, sockets: int | None, limit: int | None) -> float | None:
    return None if sockets is None or not limit else round(100.0 * (others + sockets) / limit, 1)


def _in_kernel(datapaths: t.Mapping[str, int]) -> dict[str, int]:
    return {name: ports for name, ports in datapaths.items() if name.startswith("system@")}


def _ask(pid: int, folder: str, deadline: float | None) -> Answers:
    path = _control_path(pid, folder)
    if path is None:
        return Answers(problems=["its control socket was not found"])
    problems: list[str] = []

    def asked(method: str) -> str | None:
        try:
            return control.ask(path, method, pid, deadline)
        except control.ControlError as error:
            problems.append(str(error))
            return None

    version, shown, dispatch = asked("version"), None, None
    if version is not None:  # else it does not answer at all
        shown, dispatch = asked("dpctl/show"), asked("dpif-netlink/dispatch-mode")
    return Answers(
        parse_version(version or ""),
        None if shown is None else parse_datapaths(shown),
        None if dispatch is None else parse_dispatch(dispatch),
        problems,
    )


def _control_path(pid: int, folder: str) -> str | None:
    """The socket that the daemon listens on and that is named ``*.ctl``, by the way through its own root folder."""
    try:
        with os.scandir(os.path.join(folder, "fd")) as entries:
            held = {os.readlink(entry.path) for entry in entries}
        with open(os.path.join(folder, "net/unix"), encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(None, 7) for line in file]
    except OSError:
        return None
    for row in rows:
        if len(row) == 8 and row[7].endswith(".ctl") and f"socket:[{row[6]}]" in held:
            return os.path.join(folder, "root", row[7].lstrip("/")) if row[7].startswith("/") else os.path.join(folder, "cwd", row[7])
    return None


def _same_namespace(folder: str) -> bool:
    try:
        return os.path.samestat(os.stat(folder + "/ns/net"), os.stat("/proc/self/ns/net"))
    except OSError:
        return False


def _threads(folder: str) -> list[str]:
    try:
        threads = os.listdir(os.path.join(folder, "task"))
    except OSError:  # the process ended meanwhile
        return []
    names = (processes.command(int(thread), os.path.join(folder, "task")) for thread in threads)
    return [name for name in names if name is not None]  # else the thread did


def _watches(pid: int, proc: str) -> bool:
    try:
        with open(os.path.join(proc, str(pid), "cmdline"), "rb") as file:
            return b": monitoring pid " in file.read()
    except OSError:
        return True
