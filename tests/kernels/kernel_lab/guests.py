# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Starts guests, waits for them and ends them; the effects of the lab come together here."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from . import boot, command, network, process, python_image, ssh, state, tools
from .artifact import Artifact
from .catalogue import Kernel
from .failure import LabError, Unavailable
from .places import GUEST_SCRIPTS, Places
from .state import Guest

# A panic says why in its first line; registers, stack and calls follow.
CONSOLE_LINES = 40
SILENT = "(its console is empty)"


@dataclass(frozen=True)
class Starting:
    """A guest that was started and has not answered yet. Times are of the monotonic clock; `found` if an earlier command started it."""

    kernel: Kernel
    guest: Guest
    since: float
    until: float
    found: bool = False

    def took(self) -> float:
        return time.monotonic() - self.since


def need_root() -> None:
    if os.geteuid() != 0:
        raise Unavailable("guests need root: for a network namespace, taps and read-only mounts (the lab leaves the rest of the machine alone)")


def check(places: Places) -> None:
    """What can be said before anything is fetched: whether guests can be started here at all."""
    need_root()
    if not os.access(places.python, os.X_OK):
        raise LabError(f"no Python at {places.python}: run `make env`, or name one that imports pyroute2 by --python or NETSTATE_LAB_PYTHON")
    for path in (GUEST_SCRIPTS, places.run):
        if " " in str(path):
            raise LabError(f"{path}: a blank in this path would end a word of the guest's kernel command line")


def prepare(places: Places, kernels: Sequence[Kernel]) -> None:
    """What every guest needs before it starts: programs, the run directory with its keys, the namespace."""
    tools.ensure(
        tools.GUEST,
        *([tools.UML_GUEST] if any(kernel.is_uml for kernel in kernels) else []),
        *([tools.QEMU_GUEST] if any(not kernel.is_uml for kernel in kernels) else []),
    )
    places.guests.mkdir(parents=True, exist_ok=True)
    places.run.chmod(0o700)
    ssh.make_keys(places)
    network.create(places)


def running(places: Places, name: str) -> Guest | None:
    """The guest's state where its process is alive."""
    guest = state.read(places, name)
    return guest if guest and process.runs(guest.process) else None


def _folder(places: Places, kernel: Kernel, environment: str) -> Path:
    """A fresh folder for the guest: what its init reads, a mount point, its console."""
    folder = places.guest(kernel.name)
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "scratch").mkdir(parents=True)
    (folder / "guest.env").write_text(environment, encoding="utf-8")
    (folder / "seed").write_bytes(os.urandom(64))
    shutil.copyfile(places.key.with_suffix(".pub"), folder / "authorized_keys")
    shutil.copyfile(places.host_key, folder / "host_key")
    (folder / "host_key").chmod(0o600)
    return folder


def _wait_for(kernel: Kernel, guest: Guest, timeout: float | None, found: bool = False) -> Starting:
    now = time.monotonic()
    return Starting(kernel, guest, now, now + (timeout or boot.timeout(kernel)), found)


def start(places: Places, kernel: Kernel, artifact: Artifact, timeout: float | None) -> Starting:
    """Start the guest's process and remember it."""
    if kernel.is_uml:
        network.create_tap(places, kernel)
        environment, words = boot.guest_environment(kernel, artifact), boot.uml(places, kernel, artifact)
    else:
        image = python_image.image(places.cache, places.python)
        environment = boot.guest_environment(kernel, artifact, image.bound)
        words = boot.qemu(places, kernel, artifact, str(image.path))
    _folder(places, kernel, environment)
    with state.console(places, kernel.name).open("wb") as console:
        started = subprocess.Popen(
            boot.launcher(places, kernel, words),
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            env={"PATH": command.PATH, "LC_ALL": "C.UTF-8"},
        )
    identity = process.identify(started.pid)
    if identity is None:
        raise LabError(f"{kernel.name} ended at once:\n{last_console_lines(places, kernel.name)}")
    address, port = network.ssh_end(kernel)
    guest = Guest(kernel.name, identity.pid, identity.started, address, port, str(places.python), artifact.release)
    state.write(places, guest)
    return _wait_for(kernel, guest, timeout)


def console_text(places: Places, name: str) -> str:
    path = state.console(places, name)
    return path.read_text(encoding="utf-8", errors="replace").replace("\r", "") if path.exists() else ""


def last_console_lines(places: Places, name: str) -> str:
    return command.last_lines(console_text(places, name), CONSOLE_LINES) or SILENT


def is_ready(console: str, name: str) -> bool:
    """Whether guest/start has said its last line."""
    return f"lab: {name} is ready" in console


def _verdict(places: Places, one: Starting) -> str | None:
    """What became of a starting guest: None while that is open, an empty text when it answers, else what failed."""
    if not process.runs(one.guest.process):
        return f"{one.kernel.name} ended after {one.took():.1f} s"
    # A try by ssh waits for its answer, which would hold up the other guests: not before the guest says that it is ready.
    if is_ready(console_text(places, one.kernel.name), one.kernel.name) and ssh.answers(places, one.guest):
        return ""
    if time.monotonic() > one.until:
        return f"{one.kernel.name} did not answer within {one.took():.0f} s"
    return None


def up(places: Places, wanted: Sequence[tuple[Kernel, Artifact]], at_once: int, timeout: float | None = None) -> None:
    """Start the guests that do not run, a few at a time, and wait until each answers by ssh: also those of an `up` that was cut short.

    Raises LabError after all were tried, with the last console lines of each that failed; those that answer stay up.
    """
    waiting = list(wanted)
    starting: list[Starting] = []
    failures: list[str] = []
    while waiting or starting:
        while waiting and len(starting) < at_once:
            kernel, artifact = waiting.pop(0)
            guest = running(places, kernel.name)
            starting.append(_wait_for(kernel, guest, timeout, found=True) if guest else start(places, kernel, artifact, timeout))
        for one in list(starting):
            verdict = _verdict(places, one)
            if verdict is None:
                continue
            starting.remove(one)
            if verdict:
                failures.append(f"{verdict}; its console ended with:\n{last_console_lines(places, one.kernel.name)}")
                process.kill(one.guest.process)
                continue
            how = "was up already" if one.found else f"up after {one.took():.1f} s"
            print(f"{one.kernel.name}: {how} (Linux {one.guest.release})", file=sys.stderr)
        time.sleep(0.05)
    if failures:
        raise LabError("\n\n".join(failures))


def down(places: Places, kernels: Sequence[Kernel], names: Sequence[str] = ()) -> list[str]:
    """End the named guests, or all, and with the last one the lab: processes, taps, namespace, folders. The names of those that ran."""
    ending = names or state.names(places)
    ssh.end_masters(places, ending)
    ended = []
    index = {kernel.name: kernel.index for kernel in kernels}
    for name in ending:
        guest = state.read(places, name)
        if guest and process.kill(guest.process):
            ended.append(name)
        shutil.rmtree(places.guest(name), ignore_errors=True)
        if name in index and network.exists(places):
            network.remove_tap(places, index[name])
    if not names or not state.names(places):
        network.remove(places)
        shutil.rmtree(places.run, ignore_errors=True)
    return ended


def remove_if_empty(folder: Path) -> None:
    # Another lab may live there.
    with contextlib.suppress(OSError):
        folder.rmdir()
