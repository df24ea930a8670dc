# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example of the modules' documentation and of README does what it says, as far as that shows in an empty namespace."""

from __future__ import annotations

import ast
import re
import shlex
import typing as t

import conntrack_command
import mixed_table
import pytest
import yaml
from ansible_run import CLONE

if t.TYPE_CHECKING:
    from ansible_run import Ansible
    from network_namespace import Namespace

README = (CLONE / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (ansible .*)$", README, re.MULTILINE)


def _examples_of(module: str) -> str:
    tree = ast.parse((CLONE / "plugins/modules" / (module + ".py")).read_text(encoding="utf-8"))
    values = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
    return ast.literal_eval(values["EXAMPLES"])


def _task_lists() -> t.Iterator[tuple[str, list[dict[str, t.Any]]]]:
    for module in ("conntrack_facts", "conntrack_flush", "conntrack_info"):
        yield module, yaml.safe_load(_examples_of(module))
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", README, re.DOTALL), 1):
        content = yaml.safe_load(block)
        # Those of IPVS need another kernel: tests/kernels/ipvs.
        if isinstance(content, list) and "ipvs" not in block:
            yield f"README block {number}", content


EXAMPLES = dict(_task_lists())


def _here(task: dict[str, t.Any], ns: Namespace) -> dict[str, t.Any]:
    """The task without the namespace and the privileges that only the reader's host has."""
    changed = {key: value for key, value in task.items() if key != "become"}
    for key, value in changed.items():
        if key.startswith("netstate.kernel.") and value and "netns" in value:
            changed[key] = {**value, "netns": ns.name}
    return changed


@pytest.mark.parametrize("name", EXAMPLES)
def test_tasks(ns: Namespace, ansible: Ansible, name: str) -> None:
    mixed_table.fill(ns)
    results = ansible.play([_here(task, ns) for task in EXAMPLES[name]], inside=ns.inside)
    assert not [(task, result.get("msg")) for (_host, task), result in results.items() if result.get("failed")]


def test_every_kind_of_example_was_found() -> None:
    assert len(EXAMPLES) >= 6
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(ns: Namespace, ansible: Ansible, command: str) -> None:
    mixed_table.fill(ns)
    ns.fill([mixed_table.entry("10.99.0.1", zone=5)])
    before = conntrack_command.table(ns)
    done = ansible.command(*shlex.split(command), inside=ns.inside)
    assert "localhost | " in done.stdout
    gone = before - conntrack_command.table(ns)
    assert len(gone) == (1 if "flush" in command and "--check" not in command else 0)
