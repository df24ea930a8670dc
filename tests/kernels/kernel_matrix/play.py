# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs named tasks on one guest by ansible-playbook, over ssh, as a user does; writes below a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

CLONE = Path(__file__).resolve().parents[3]
PATIENCE = 3600  # seconds: minutes for an emulated kernel, many of them on a busy machine

Results = t.Dict[str, t.Dict[str, t.Any]]


class PlayFailed(Exception):
    """The play did not get through; the text ends with what Ansible said."""


def book(steps: t.Mapping[str, t.Mapping[str, t.Any]], results: Path) -> list[dict[str, t.Any]]:
    """A play in which no failure ends the rest, and whose last task writes all results down."""
    variables = {name: "step_" + re.sub(r"\W", "_", name) for name in steps}
    assert len(set(variables.values())) == len(steps), "step names that make the same variable"
    tasks = [{"name": name, **task, "register": variables[name], "ignore_errors": True} for name, task in steps.items()]
    together = ", ".join(f"{json.dumps(name)}: {variable}" for name, variable in variables.items())
    written = {"content": "{{ {" + together + "} | to_json }}", "dest": str(results), "mode": "0600"}
    tasks.append({"name": "Results", "ansible.builtin.copy": written, "delegate_to": "localhost"})
    # A module that ran, whose answer was lost, and that was run again would look like one that had nothing to do.
    return [{"hosts": "all", "gather_facts": False, "vars": {"ansible_ssh_retries": 0}, "tasks": tasks}]


def run(folder: Path, inventory: str, host: str, steps: t.Mapping[str, t.Mapping[str, t.Any]], start: t.Callable[..., subprocess.Popen[t.Any]]) -> Results:
    """The results by step.

    :param start: as subprocess.Popen; the caller ends what it started when the run is cut short
    """
    folder.mkdir(parents=True)
    (folder / "lab.yml").write_text(inventory, encoding="utf-8")
    (folder / "play.json").write_text(json.dumps(book(steps, folder / "results.json"), indent=1), encoding="utf-8")
    words = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "lab.yml", "--limit", host, "-vvvv", "play.json"]
    # A home folder that nobody used before, so that no setting and no installed collection of the user's plays a part.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
    environment.update(HOME=str(folder), LC_ALL="C.UTF-8", ANSIBLE_CONFIG=str(CLONE / "ansible.cfg"))
    output = folder / "output"
    with output.open("wb") as said, start(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as ansible:
        try:
            status = ansible.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            ansible.kill()
            raise PlayFailed(f"{host}: the play did not end within {PATIENCE} s; it said last:\n{_tail(output)}") from None
    if status or not (folder / "results.json").exists():
        raise PlayFailed(f"{host}: ansible-playbook ended with status {status}:\n{_tail(output)}")
    results: Results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


def _tail(output: Path) -> str:
    return "\n".join(output.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])
