# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ovs-vswitchd with the kernel's datapath, in the guests of the kernel lab that are up and have its module.

Skipped without: ``tests/kernels/lab up uml-5.10 uml-6.12``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import open_vswitch
import pytest
import yaml

CLONE = Path(__file__).resolve().parents[3]
LAB = str(CLONE / "tests" / "kernels" / "lab")
PORTS = 5
ALL_PORTS = PORTS + 2  # and those of the bridge and of the datapath itself


def guests() -> dict[str, str]:
    """Those with modules, by name, with their releases."""
    done = subprocess.run([LAB, "inventory"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    inventory = yaml.safe_load(done.stdout) if done.returncode == 0 else None
    hosts = inventory["all"]["children"]["lab"]["hosts"] if inventory else {}
    return {name: one["lab_release"] for name, one in hosts.items() if name.startswith("uml-")}


@pytest.fixture(scope="module")
def switches() -> dict[str, tuple[str, dict[str, t.Any]]]:
    """Guest to its kernel's release and what was seen there."""
    up = guests()
    if not up or not open_vswitch.is_installed():
        pytest.skip("needs a guest of the kernel lab with modules, and Debian's openvswitch-switch")
    return {name: (release, _seen(name)) for name, release in up.items()}


def _seen(guest: str) -> dict[str, t.Any]:
    paths = f"PYTHONPATH={CLONE}/.dev:{CLONE}/tests/support"
    script = f"{CLONE}/tests/support/open_vswitch_in_guest.py"
    command = [LAB, "run", guest, "--", "env", paths, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", sys.executable, script, str(PORTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_mode_ports_and_need(switches: dict[str, tuple[str, dict[str, t.Any]]]) -> None:
    for guest, (release, seen) in switches.items():
        (daemon,) = seen["facts"]["openvswitch"]
        per_cpu = tuple(map(int, release.split(".")[:2])) >= (5, 15)
        assert ("per-cpu" in seen["said"]) == per_cpu, guest
        assert daemon["upcall_mode"] == ("per_cpu" if per_cpu else "per_port"), guest
        assert daemon["pid"] == seen["pid"]
        assert daemon["ports"] == ALL_PORTS, guest
        assert daemon["projected"]["sockets"] == (daemon["handlers"] if per_cpu else ALL_PORTS), guest
        assert daemon["projected"]["open_files"] == daemon["open_files"], "it holds what it needs"
        assert daemon["projected"]["per_port_and_handler_sockets"] == ALL_PORTS * daemon["handlers"]
