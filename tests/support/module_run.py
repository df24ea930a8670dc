# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a module's own file, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "ansible_collections.netstate.kernel.plugins.modules."

# A sitecustomize.py: pyroute2 cannot be imported, but by the interpreter that MAY_IMPORT_PYROUTE2 names.
WITHOUT_PYROUTE2 = """
import os, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyroute2":
            raise ImportError("No module named 'pyroute2'")
        return None

if os.path.realpath(sys.executable) != os.environ.get("MAY_IMPORT_PYROUTE2"):
    sys.meta_path.insert(0, Blocker())
"""


def directly(name: str, options: dict[str, t.Any], *python_path: Path) -> dict[str, t.Any]:
    """The result of the module, given its options as Ansible does, without Ansible's controller."""
    done = subprocess.run(
        [sys.executable, "-m", COLLECTION + name],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": options}),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*python_path, ROOT / ".dev")))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def by_ansible(name: str, options: dict[str, t.Any], home: Path, *python_path: Path, **environment: str) -> dict[str, t.Any]:
    """The result of a task on localhost, in the interpreter that runs the tests."""
    variables = {
        "HOME": str(home),
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(map(str, python_path)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "adhoc", "localhost", "--connection", "local", "--module-name", f"netstate.kernel.{name}"]
        + ["--args", json.dumps(options), "--extra-vars", json.dumps({"ansible_python_interpreter": sys.executable})],
        env={**os.environ, **variables, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    _host, arrow, result = done.stdout.partition(" => ")
    assert arrow, done.stdout + done.stderr
    return json.JSONDecoder().raw_decode(result)[0]
