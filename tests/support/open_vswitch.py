# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Open vSwitch in a network namespace of its own, as Debian's openvswitch-switch installs it, without its services."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import typing as t
from pathlib import Path

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
SECONDS = 30


def is_installed() -> bool:
    return shutil.which("ovs-vswitchd") is not None and SCHEMA.exists()


class Switch:
    """Its two daemons' files lie in ``folder``."""

    def __init__(self, folder: Path, through: t.Sequence[str] = ()) -> None:
        self.folder = folder
        self.through = list(through)
        # Else the programs use the machine's /run and /var/log.
        self.environment = dict(os.environ, OVS_RUNDIR=str(folder), OVS_LOGDIR=str(folder), OVS_DBDIR=str(folder))
        self.database = f"unix:{folder}/db.sock"

    @property
    def pid(self) -> int:
        return int((self.folder / "vs.pid").read_text())

    def start(self) -> None:
        self._run("ovsdb-tool", "create", str(self.folder / "conf.db"), str(SCHEMA))
        self._run(
            "ovsdb-server",
            str(self.folder / "conf.db"),
            f"--remote=p{self.database}",
            f"--unixctl={self.folder}/db.ctl",
            f"--pidfile={self.folder}/db.pid",
            "--detach",
        )
        self.configure("--no-wait", "init")
        self._run(
            *self.through,
            "ovs-vswitchd",
            self.database,
            f"--unixctl={self.folder}/vs.ctl",
            f"--pidfile={self.folder}/vs.pid",
            f"--log-file={self.folder}/vs.log",
            "--detach",
        )

    def configure(self, *arguments: str) -> None:
        """As ovs-vsctl does, and waits until the daemon has done it."""
        self._run("ovs-vsctl", f"--db={self.database}", f"--timeout={SECONDS}", *arguments)

    def appctl(self, *arguments: str) -> str:
        return self._run("ovs-appctl", "-t", f"{self.folder}/vs.ctl", *arguments)

    def end(self) -> None:
        for name in ("vs.pid", "db.pid"):
            with contextlib.suppress(OSError, ValueError):
                pid = int((self.folder / name).read_text())
                os.kill(pid, signal.SIGTERM)
                deadline = time.monotonic() + SECONDS
                while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
                    time.sleep(0.05)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=SECONDS * 2, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout


@contextlib.contextmanager
def running(folder: Path, through: t.Sequence[str] = ()) -> t.Iterator[Switch]:
    """A switch that runs; it is ended after."""
    switch = Switch(folder, through)
    try:
        switch.start()
        yield switch
    finally:
        switch.end()
