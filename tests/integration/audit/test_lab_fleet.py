# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests of the kernel lab that are up, this machine, and a guest that is switched off: one command, compared with the catalogue's truth.

Needs guests, and is skipped without: ``tests/kernels/lab up built-6.1 uml-5.10 uml-7.2``. The last of three or more is switched off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

CLONE = Path(__file__).resolve().parents[3]
LAB = CLONE / "tests" / "kernels" / "lab"
ZONE_FINDING = {"exact": "conntrack-zone-flush-native", "ignored": "conntrack-zone-flush-wipes", "unsupported": "conntrack-zones-not-built"}


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=str(CLONE), env=dict(os.environ, **environment), capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def guests() -> dict[str, dict[str, t.Any]]:
    """Name to host variables."""
    done = run(str(LAB), "inventory")
    hosts = yaml.safe_load(done.stdout)["all"]["children"]["lab"]["hosts"] if done.returncode == 0 and done.stdout.strip() else {}
    if not hosts:
        pytest.skip("no guest of the kernel lab is up")
    return hosts


@pytest.fixture(scope="module")
def off(guests: dict[str, dict[str, t.Any]]) -> str | None:
    """The guest that is switched off now."""
    if len(guests) < 3:
        return None
    name = sorted(guests)[-1]
    assert run(str(LAB), "down", name).returncode == 0
    return name


@pytest.fixture(scope="module")
def hosts(guests: dict[str, dict[str, t.Any]], off: str | None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, t.Any]]:
    folder = tmp_path_factory.mktemp("fleet")
    machine = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    known = {name: {key: value for key, value in one.items() if key != "lab_truth"} for name, one in guests.items()}
    inventory = {"all": {"hosts": {**known, "this-machine": machine}}}
    (folder / "hosts.json").write_text(json.dumps(inventory))
    dest = os.environ.get("NETSTATE_PICTURES", str(folder)) + "/fleet"
    playbook = str(Path(sys.executable).parent / "ansible-playbook")
    settings = {"ANSIBLE_CONFIG": str(CLONE / "ansible.cfg"), "LC_ALL": "C.UTF-8", "ANSIBLE_TIMEOUT": "30"}
    done = run(playbook, "playbooks/audit.yml", "-i", str(folder / "hosts.json"), "-e", json.dumps({"audit_dest": dest}), **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return {one["name"]: one for one in json.loads(Path(dest, "report.json").read_text())["hosts"]}


def test_every_host_is_there(hosts: dict[str, t.Any], guests: dict[str, t.Any], off: str | None) -> None:
    assert set(hosts) == {*guests, "this-machine"}
    assert {name: one["status"] for name, one in hosts.items()} == {name: "unreachable" if name == off else "audited" for name in hosts}
    assert hosts["this-machine"]["kernel"] == os.uname().release


def test_the_catalogue_is_right(hosts: dict[str, t.Any], guests: dict[str, t.Any], off: str | None) -> None:
    for name, guest in guests.items():
        if name == off:
            assert [finding["id"] for finding in hosts[name]["findings"]] == ["host-unreachable"]
            continue
        truth, can = guest["lab_truth"], hosts[name]["capabilities"]
        assert hosts[name]["kernel"] == guest["lab_release"], name
        assert {key: can[key] for key in ("zone_filter", "status_filter", "tuple_filter_ipv6")} == {
            key: truth[key] for key in ("zone_filter", "status_filter", "tuple_filter_ipv6")
        }, name
        found = {finding["id"] for finding in hosts[name]["findings"]}
        assert found & set(ZONE_FINDING.values()) == {ZONE_FINDING[truth["zone_filter"]]}, name
        assert ("conntrack-ipv6-filter-inverted" in found) == (truth["tuple_filter_ipv6"] == "inverted"), name
