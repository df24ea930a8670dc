# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processor time of whole runs of ansible-playbook on many hosts that are all this machine, apart for controller and target.

The target's share is that of the modules' interpreter and what it starts: bash's ``time`` around it tells it. The rest is the controller's, the shells of
the connection included.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
import typing as t
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]

# The audit becomes root; so does what it is compared with.
_PLAY = """\
- hosts: all
  gather_facts: false
  become: true
  tasks:
    - {module}:
"""
PLAYBOOKS = {
    "`ping` (does nothing)": "ansible.builtin.ping",
    "`setup`": "ansible.builtin.setup",
    "`audit_facts` alone": "netstate.kernel.audit_facts",
    "audit, report included": None,
}
SETUP, AUDIT = "`setup`", "audit, report included"

# Descriptor 4 is the module's own standard error.
_INTERPRETER = """\
#!/bin/bash
TIMEFORMAT='%3U %3S'
exec 3>>{log} 4>&2
{{ time {python} "$@" 2>&4; }} 2>&3
"""


class Cost(t.NamedTuple):
    """Seconds: wall time, and processor time of the whole and of the target."""

    wall: float
    whole: float
    target: float


class Runs:
    """:param folder: for inventory, playbooks, reports"""

    def __init__(self, folder: Path, hosts: int) -> None:
        self._folder, self._hosts = folder, hosts
        self._log = folder / "target"
        interpreter = folder / "python"
        interpreter.write_text(_INTERPRETER.format(log=self._log, python=sys.executable), encoding="utf-8")
        interpreter.chmod(0o755)
        variables = {"ansible_connection": "local", "ansible_python_interpreter": str(interpreter)}
        inventory = {"all": {"hosts": {f"host{index}": variables for index in range(hosts)}}}
        (folder / "hosts.json").write_text(json.dumps(inventory), encoding="utf-8")

    def measured(self, forks: int, rounds: int) -> dict[str, Cost]:
        """Playbook to its cost, medians over the rounds, in each of which all playbooks run in turn."""
        taken: dict[str, list[Cost]] = {name: [] for name in PLAYBOOKS}
        for _round in range(rounds):
            for name, module in PLAYBOOKS.items():
                taken[name].append(self._run(self._playbook(module), forks))
        return {name: Cost(*(statistics.median(values) for values in zip(*costs))) for name, costs in taken.items()}

    def _playbook(self, module: str | None) -> Path:
        if module is None:
            return CLONE / "playbooks" / "audit.yml"
        path = self._folder / f"{module}.yml"
        path.write_text(_PLAY.format(module=module), encoding="utf-8")
        return path

    def _run(self, playbook: Path, forks: int) -> Cost:
        self._log.write_text("", encoding="utf-8")
        command = [program("ansible-playbook"), str(playbook), "-i", str(self._folder / "hosts.json"), "--forks", str(forks)]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(
            [*command, "-e", f"audit_dest={self._folder}/audit"], cwd=str(CLONE), env=environment(), stdout=subprocess.DEVNULL, check=True
        )
        wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = self._log.read_text(encoding="utf-8").splitlines()
        if len(lines) != self._hosts:
            raise RuntimeError(f"{playbook.name}: {len(lines)} runs of a module on {self._hosts} hosts")
        target = sum(float(number) for line in lines for number in line.split())
        return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, target)


def program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def environment() -> dict[str, str]:
    return dict(os.environ, ANSIBLE_CONFIG=str(CLONE / "ansible.cfg"), LC_ALL="C.UTF-8")
