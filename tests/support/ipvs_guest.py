# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guest of the lab, in a lab of its own, and Ansible on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

from ansible_run import CLONE, Ansible

LAB = CLONE / "tests/kernels/lab"
IMPOSSIBLE = 3  # the lab's exit status for what this machine cannot do
PATIENCE = 1200  # seconds, on a busy machine

# Everything that the role could change. ipvsadm would load ip_vs: the kernel's own listing is read.
STATE = """
cut -d' ' -f1 /proc/modules | sort
cat /proc/net/ip_vs
grep -rs . /proc/sys/net/ipv4/vs /proc/sys/net/ipv4/ip_forward
for file in /etc/modules-load.d/ipvs* /etc/sysctl.d/*ipvs* /etc/ipvs* /etc/systemd/system/ipvs* /etc/systemd/system/multi-user.target.wants/ipvs*; do
    ls -d "$file" && cat "$file"
done 2>/dev/null
true
"""


class Impossible(Exception):
    """This machine cannot have the guest."""


class Ran(t.NamedTuple):
    """What came of a run of a playbook.

    :ivar results: each task's name and result, in order
    """

    status: int
    results: list[tuple[str, dict[str, t.Any]]]
    output: str

    def of(self, name: str) -> dict[str, t.Any]:
        """The result of the task whose name ends so."""
        (found,) = [result for task, result in self.results if task.endswith(name)]
        return found

    @property
    def changed(self) -> list[str]:
        """Names of the tasks that changed something."""
        return [task.split(" : ")[-1] for task, result in self.results if result.get("changed")]

    @property
    def failure(self) -> str:
        """What the task that failed said; empty if none did."""
        return next((result["msg"] for _task, result in self.results if result.get("failed")), "")


class Guest:
    """:param folder: a fresh one, for inventories and variables, and Ansible's home"""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder  # where a playbook of one's own lies
        self._ansible = Ansible(folder)
        self._environment = {**os.environ, "NETSTATE_LAB": f"role-{os.getpid()}", "NETSTATE_LAB_PYTHON": sys.executable}
        # Ends the lab when this process ends, however it ends: the pipe closes with it.
        line = 'cat > /dev/null; exec "$0" "$1" down'
        self._guard = subprocess.Popen(["sh", "-c", line, sys.executable, str(LAB)], stdin=subprocess.PIPE, env=self._environment, start_new_session=True)

    def up(self) -> None:
        """Starts it.

        :raises Impossible: where this machine cannot
        """
        done = self._lab("up", self.name, check=False)
        if done.returncode == IMPOSSIBLE:
            raise Impossible(done.stderr.strip())
        assert not done.returncode, done.stderr
        (self.folder / "lab.yml").write_text(self._lab("inventory").stdout, encoding="utf-8")

    def boot_again(self) -> None:
        """What was written in memory is gone, as are the kernel's tables and modules."""
        self._lab("down", self.name)
        self.up()

    def close(self) -> None:
        assert self._guard.stdin
        self._guard.stdin.close()
        assert self._guard.wait(120) == 0, "the lab could not be taken down"

    def sh(self, line: str, text: str = "", check: bool = True) -> str:
        """What a line of shell in the guest prints."""
        done = self._lab("run", self.name, "--", line, input=text, check=False)
        assert not check or not done.returncode, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def rules(self) -> str:
        """What ipvsadm prints, sorted."""
        return "".join(sorted(line + "\n" for line in self.sh("ipvsadm -Sn").splitlines()))

    def state(self) -> str:
        return self.sh(STATE)

    def play(self, book: str | list[dict[str, t.Any]], *words: str, **variables: t.Any) -> Ran:
        """Runs a playbook of the collection, by its full name, or plays."""
        if not isinstance(book, str):
            (self.folder / "book.json").write_text(json.dumps(book), encoding="utf-8")
            book = str(self.folder / "book.json")
        (self.folder / "variables.json").write_text(json.dumps(variables), encoding="utf-8")
        done = self._ansible.command(
            "ansible-playbook",
            f"--inventory={self.folder / 'lab.yml'}",
            f"--extra-vars=@{self.folder / 'variables.json'}",
            *words,
            book,
            status=None,
            ANSIBLE_CALLBACK_PLUGINS=str(CLONE / "tests/support/callbacks"),
            ANSIBLE_STDOUT_CALLBACK="task_results",
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results = [(line["task"], line["result"]) for line in lines]
        assert results, done.stdout + done.stderr
        return Ran(done.returncode, results, done.stdout + done.stderr)

    def _lab(self, *words: str, check: bool = True, **options: t.Any) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([str(LAB), *words], env=self._environment, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
        assert not check or not done.returncode, done.stderr
        return done
