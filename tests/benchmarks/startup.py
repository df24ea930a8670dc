# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes on top of the modules' work: the import of their code, and Ansible's own start."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from turns import Times, Way, in_turn

_PACKAGE = "ansible_collections.netstate.kernel.plugins.module_utils._conntrack"


@dataclasses.dataclass(frozen=True)
class Start:
    """:ivar without: the same without what it is about"""

    what: str
    times: Times
    without_what: str
    without: Times


def measured(empty_zone: int, rounds: int) -> list[Start]:
    with tempfile.TemporaryDirectory() as home:
        return [_import(rounds), _ansible(empty_zone, (rounds + 1) // 2, home)]


def _import(rounds: int) -> Start:
    code = f"import {_PACKAGE}.flush"
    python, imported = in_turn(
        "import",
        rounds,
        Way(lambda: _run([sys.executable, "-c", "pass"])),
        Way(lambda: _run([sys.executable, "-c", code])),
    )
    return Start("Python that imports the code of `conntrack_flush`", imported, "Python alone", python)


def _ansible(zone: int, rounds: int, home: str) -> Start:
    command = [str(Path(sys.executable).with_name("ansible")), "localhost", "-m"]
    ping, flushed = in_turn(
        "Ansible",
        rounds,
        Way(lambda: _run(command + ["ansible.builtin.ping"], home)),
        Way(lambda: _run(command + ["netstate.kernel.conntrack_flush", "-a", f"zones={zone}"], home)),
    )
    return Start("`ansible -m conntrack_flush`, an empty zone", flushed, "`ansible -m ping`", ping)


def _run(command: list[str], home: str | None = None) -> None:
    environment = dict(os.environ, HOME=home) if home else None
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
