# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Ansible's interpreter has no pyroute2: the system's Python is tried, and a clear message given."""

from __future__ import annotations

import os
import subprocess
import sys
import typing as t
from pathlib import Path

import mixed_table
import pyroute2
import pytest
from mixed_table import names_left

if t.TYPE_CHECKING:
    from ansible_run import Ansible
    from network_namespace import Namespace

SYSTEM = "/usr/bin/python3"


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """An interpreter without pyroute2."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True, timeout=120)
    return str(tmp_path / "bare/bin/python3")


def _imports(interpreter: str, home: Path) -> bool:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    trial = [interpreter, "-c", "import pyroute2.netlink.nfnetlink"]
    return subprocess.run(trial, env=environment, capture_output=True, timeout=60, check=False).returncode == 0


def _give_pyroute2(home: Path) -> None:
    """To the system's Python, through the folder for packages of the user, which virtual environments do not look at."""
    ask = [SYSTEM, "-c", "import site; print(site.getusersitepackages())"]
    done = subprocess.run(ask, env={"HOME": str(home)}, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip(f"there is no {SYSTEM}")
    folder = Path(done.stdout.strip())
    folder.mkdir(parents=True)
    (folder / "pyroute2").symlink_to(Path(pyroute2.__file__).parent)


def _flush(ansible: Ansible, bare: str, ns: Namespace) -> dict[str, t.Any]:
    tasks = [{"name": "flush", "netstate.kernel.conntrack_flush": {"zones": [1], "netns": ns.name}}]
    hosts = {"managed": {"ansible_python_interpreter": bare}}
    return ansible.play(tasks, hosts=hosts)["managed", "flush"]


def test_the_system_python_has_it(ns: Namespace, ansible: Ansible, bare: str) -> None:
    if not os.path.exists(SYSTEM):
        pytest.skip(f"there is no {SYSTEM}")
    if not _imports(SYSTEM, ansible.home):
        _give_pyroute2(ansible.home)
        if not _imports(SYSTEM, ansible.home):
            pytest.skip(f"{SYSTEM} cannot import pyroute2, its own or ours")
    assert not _imports(bare, ansible.home)
    mixed_table.fill(ns)
    result = _flush(ansible, bare, ns)
    assert not result.get("failed"), result
    assert result["deleted"] == 11
    assert not any(name.startswith("one") for name in names_left(ns))


def test_nothing_has_it(ns: Namespace, ansible: Ansible, bare: str) -> None:
    for interpreter in (SYSTEM, "/usr/libexec/platform-python", "/usr/bin/python"):
        if os.path.exists(interpreter) and _imports(interpreter, ansible.home):
            pytest.skip(f"{interpreter} has pyroute2 of its own")
    mixed_table.fill(ns)
    result = _flush(ansible, bare, ns)
    assert result["failed"]
    assert "pyroute2 >= 0.5.14" in result["msg"]
    assert "Failed to import the required Python library" in result["msg"]
    assert len(names_left(ns)) == len(mixed_table.ENTRIES)


def test_bad_options_are_refused_first(ansible: Ansible, bare: str, ns: Namespace) -> None:
    """Whatever is missing on the host."""
    tasks = [{"name": "flush", "netstate.kernel.conntrack_flush": {"zones": ["foo"], "netns": ns.name}}]
    result = ansible.play(tasks, hosts={"managed": {"ansible_python_interpreter": bare}})["managed", "flush"]
    assert result["msg"].startswith("zones: 'foo'")
