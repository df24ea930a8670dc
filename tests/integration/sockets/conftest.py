# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Namespaces for processes that hold sockets, and the module run as Ansible runs it on a host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
import uuid
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[3]
MODULE = "ansible_collections.netstate.kernel.plugins.modules.netlink_socket_facts"
NOBODY = 65534
# Gives up root after the imports: nobody may not read every Python.
AS_NOBODY = f"""
import codecs
import os
from {MODULE} import main
codecs.lookup("ascii")
os.setgroups([])
os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
main()
"""


@pytest.fixture
def netns() -> t.Iterator[str]:
    """The name of a new network namespace."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    name = f"netstate-{uuid.uuid4().hex[:8]}"
    made = subprocess.run(["ip", "netns", "add", name], stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"network namespaces cannot be made here: {made.stderr.strip()}")
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.fixture
def run_module() -> t.Callable[..., dict[str, t.Any]]:
    """Runs the module's main() in a Python of its own and returns its result."""

    def run(through: t.Sequence[str] = (), nobody: bool = False, **options: t.Any) -> dict[str, t.Any]:
        arguments = json.dumps({"ANSIBLE_MODULE_ARGS": options})
        done = subprocess.run(
            [*through, sys.executable, *(["-c", AS_NOBODY] if nobody else ["-m", MODULE])],
            input=arguments,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=str(CLONE),
            env=dict(os.environ, PYTHONPATH=str(CLONE / ".dev")),
            check=False,
        )
        assert done.stdout.strip().startswith("{"), done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def gather(run_module: t.Callable[..., dict[str, t.Any]]) -> t.Callable[..., dict[str, t.Any]]:
    """The facts, of a run that must succeed and return nothing else."""

    def run(through: t.Sequence[str] = (), nobody: bool = False, **options: t.Any) -> dict[str, t.Any]:
        result = run_module(through, nobody, **options)
        assert not result.get("failed"), result
        assert set(result) <= {"ansible_facts", "invocation"}
        return result["ansible_facts"]["netlink_sockets"]

    return run
