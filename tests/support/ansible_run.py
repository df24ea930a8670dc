# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs Ansible as a user does: the real commands, in the clone, with a home folder that nobody used before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

Task = t.Dict[str, t.Any]


class Ansible:
    """:param home: the fresh home folder, which also holds what is written here"""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON", "PYTEST_"))
        }
        self.environment.update(HOME=str(home), LC_ALL="C.UTF-8", PATH=f"{BIN}:{os.environ['PATH']}:/usr/sbin:/sbin")
        if CLONE.stat().st_mode & 0o002:  # then Ansible ignores the clone's settings unless told
            self.environment["ANSIBLE_CONFIG"] = str(CLONE / "ansible.cfg")

    def command(
        self, *arguments: str, inside: t.Sequence[str] = (), status: int | None = 0, **environment: str
    ) -> subprocess.CompletedProcess:
        """Runs a command of .venv/bin in the clone.

        :param inside: what to put in front, such as ``ip netns exec NAME``
        :param status: the exit status that it must have; ``None`` for any
        """
        done = subprocess.run(
            [*inside, str(BIN / arguments[0]), *arguments[1:]],
            cwd=CLONE,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        shown = f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        assert status is None or done.returncode == status, shown
        assert "Traceback" not in done.stdout + done.stderr, shown
        return done

    def play(
        self,
        tasks: t.Sequence[Task],
        *arguments: str,
        hosts: t.Mapping[str, t.Mapping[str, t.Any]] | None = None,
        inside: t.Sequence[str] = (),
        **environment: str,
    ) -> dict[tuple[str, str], dict[str, t.Any]]:
        """Runs tasks in one play and returns the results by host and task name; failures do not stop it.

        :param hosts: host names and their variables; ``localhost`` if not given
        :param arguments: further ones for ansible-playbook, such as ``--check``
        """
        names = [task["name"] for task in tasks]
        assert len(set(names)) == len(names), names
        inventory = {"all": {"hosts": hosts or {"localhost": {}}, "vars": {"ansible_connection": "local"}}}
        inventory["all"]["vars"].setdefault("ansible_python_interpreter", sys.executable)
        book = [{"hosts": "all", "gather_facts": False, "tasks": [{"ignore_errors": True, **task} for task in tasks]}]
        for name, content in (("inventory.json", inventory), ("playbook.json", book)):
            (self.home / name).write_text(json.dumps(content), encoding="utf-8")
        done = self.command(
            "ansible-playbook",
            f"--inventory={self.home / 'inventory.json'}",
            *arguments,
            str(self.home / "playbook.json"),
            inside=inside,
            status=None,
            **{"ANSIBLE_CALLBACK_PLUGINS": str(CLONE / "tests/support/callbacks"), "ANSIBLE_STDOUT_CALLBACK": "task_results", **environment},
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results = {(line["host"], line["task"]): line["result"] for line in lines}
        assert len(results) == len(names) * len(inventory["all"]["hosts"]), done.stdout + done.stderr
        return results
