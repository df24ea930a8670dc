# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Without CAP_NET_ADMIN: a flush and a reading fail and say why, facts succeed and say why. And root of a user namespace."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import conntrack_command
import mixed_table
import pyroute2
import pytest
from ansible_run import CLONE

if t.TYPE_CHECKING:
    from ansible_run import Ansible
    from network_namespace import Namespace

TASKS: list[dict[str, t.Any]] = [
    {"name": "facts", "netstate.kernel.conntrack_facts": {"gather_subset": "all"}},
    {"name": "info", "netstate.kernel.conntrack_info": {}},
    {"name": "check", "netstate.kernel.conntrack_flush": {"zones": [1]}, "check_mode": True},
    {"name": "flush", "netstate.kernel.conntrack_flush": {"zones": [1]}},
    {"name": "all", "netstate.kernel.conntrack_flush": {"all": True}},
]
NOBODY = "--reuid=65534 --regid=65534 --clear-groups"


@pytest.fixture(scope="module")
def readable() -> t.Iterator[Path]:
    """A folder for PYTHONPATH with pyroute2 in it, which every user can read."""
    folder = Path(tempfile.mkdtemp(prefix="nsk-"))
    try:
        shutil.copytree(Path(pyroute2.__file__).parent, folder / "pyroute2", ignore=shutil.ignore_patterns("__pycache__"))
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield folder
    finally:
        shutil.rmtree(folder)


def _interpreter_for_nobody(readable: Path) -> str:
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        trial = ["setpriv", *NOBODY.split(), candidate, "-c", "import pyroute2.netlink.nfnetlink"]
        done = subprocess.run(trial, env={"PYTHONPATH": str(readable)}, cwd="/", capture_output=True, timeout=60, check=False)
        if not done.returncode:
            return candidate
    pytest.skip("no Python that an unprivileged user may run is there")


def _wrapper(ansible: Ansible, *before: str) -> str:
    """An interpreter as Ansible wants it, one path; modules come to it by its standard input (pipelining)."""
    path = ansible.home / "python3"
    path.write_text(f'#!/bin/sh\ncd /\nexec {shlex.join(before)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def _play(ansible: Ansible, interpreter: str, tasks: list[dict[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    hosts = {"other": {"ansible_python_interpreter": interpreter}}
    results = ansible.play(tasks, hosts=hosts, ANSIBLE_PIPELINING="1")
    return {task: result for (_host, task), result in results.items()}


def _assert_not_permitted(results: dict[str, dict[str, t.Any]]) -> None:
    facts = results["facts"]["ansible_facts"]["conntrack"]
    assert not results["facts"].get("failed")
    assert (facts["available"], facts["reason"]) == (False, "not_permitted")
    assert "CAP_NET_ADMIN" in facts["reason_text"]
    assert facts["settings"]["nf_conntrack_max"] > 0
    # How full it is, everybody may know.
    assert facts["table"]["max"] == facts["settings"]["nf_conntrack_max"]
    assert facts["table"]["count"] == facts["settings"]["nf_conntrack_count"] > 0
    assert facts["table"]["expectations"] is None
    assert not {"statistics", "zones", "protocols"} & set(facts)
    assert (facts["capabilities"]["zone_filter"], facts["capabilities"]["source"]) == ("unknown", "none")
    for name in ("info", "check", "flush", "all"):
        result = results[name]
        assert (result["failed"], result["reason"], result["errno"]) == (True, "not_permitted", "EPERM"), result
        assert "CAP_NET_ADMIN" in result["msg"]
        assert "become: true" in result["msg"]
    for name in ("check", "flush", "all"):
        assert (results[name]["changed"], results[name]["deleted"]) == (False, 0)


def test_another_user(ns: Namespace, ansible: Ansible, readable: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("needs the command setpriv")
    python = _interpreter_for_nobody(readable)
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    wrapper = _wrapper(ansible, *ns.inside, "setpriv", *NOBODY.split(), "env", f"PYTHONPATH={readable}", python)
    _assert_not_permitted(_play(ansible, wrapper, TASKS))
    assert conntrack_command.table(ns) == before


def test_another_user_names_a_namespace(ns: Namespace, ansible: Ansible, readable: Path) -> None:
    """Entering one needs CAP_SYS_ADMIN."""
    if shutil.which("setpriv") is None:
        pytest.skip("needs the command setpriv")
    python = _interpreter_for_nobody(readable)
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    wrapper = _wrapper(ansible, "setpriv", *NOBODY.split(), "env", f"PYTHONPATH={readable}", python)
    task = {"name": "flush", "netstate.kernel.conntrack_flush": {"zones": [1], "netns": ns.name}}
    result = _play(ansible, wrapper, [task])["flush"]
    assert (result["failed"], result["reason"], result["changed"]) == (True, "not_permitted", False)
    assert "CAP_SYS_ADMIN" in result["msg"]
    assert conntrack_command.table(ns) == before


def test_root_without_the_capability(ns: Namespace, ansible: Ansible) -> None:
    if shutil.which("capsh") is None:
        pytest.skip("needs the command capsh")
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    script = f'exec "{sys.executable}" "$@"'
    wrapper = _wrapper(ansible, *ns.inside, "capsh", "--drop=cap_net_admin", "--", "-c", script, "python3")
    _assert_not_permitted(_play(ansible, wrapper, TASKS))
    assert conntrack_command.table(ns) == before


def test_without_the_right_to_make_namespaces(ns: Namespace, ansible: Ansible) -> None:
    """CAP_NET_ADMIN alone is enough for a flush; capabilities are then read off the live table."""
    if shutil.which("capsh") is None:
        pytest.skip("needs the command capsh")
    mixed_table.fill(ns)
    script = f'exec "{sys.executable}" "$@"'
    wrapper = _wrapper(ansible, *ns.inside, "capsh", "--drop=cap_sys_admin", "--", "-c", script, "python3")
    tasks = [*TASKS[:4], {"name": "zone 0", "netstate.kernel.conntrack_flush": {"zones": [0], "method": "kernel"}}]
    results = _play(ansible, wrapper, tasks)
    facts = results["facts"]["ansible_facts"]["conntrack"]
    assert (facts["available"], facts["reason"]) == (True, None)
    capabilities = facts["capabilities"]
    assert capabilities["source"] == "live_table"
    assert capabilities["zone_filter"] in ("exact", "ignored", "zone_zero_unsafe")
    assert "CAP_SYS_ADMIN" in capabilities["evidence"]["zone_filter"]
    assert (results["flush"]["deleted"], results["flush"]["changed"]) == (11, True)
    zero = results["zone 0"]  # its dump alone proves nothing to the module, and no trial can be made
    assert (zero["failed"], zero["reason"], zero["deleted"]) == (True, "unproven", 0)
    assert conntrack_command.count(ns) == len(mixed_table.ENTRIES) - 11


def test_root_of_a_user_namespace(needs_conntrack: None, ansible: Ansible) -> None:
    """It may do all in a network namespace of its own, except raise a receive buffer by force."""
    enter = ["unshare", "--user", "--map-root-user", "--net"]
    python = [*enter, sys.executable]
    if subprocess.run([*python, "-c", ""], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("user namespaces cannot be made here")
    fill = 'import sys; sys.path[:0] = %r; import conntrack_table; conntrack_table.insert(conntrack_table.many(3000, lambda n: 5 + n %% 2))'
    script = f"{sys.executable} -c {shlex.quote(fill % [str(CLONE / '.dev'), str(CLONE / 'tests/support')])} && exec {sys.executable} \"$@\""
    wrapper = _wrapper(ansible, *enter, "sh", "-c", script, "sh")
    tasks = [*TASKS[:2], {"name": "flush", "netstate.kernel.conntrack_flush": {"zones": [5], "recount": True}}]
    results = _play(ansible, wrapper, tasks)
    facts = results["facts"]["ansible_facts"]["conntrack"]
    assert (facts["available"], facts["table"]["count"], facts["capabilities"]["source"]) == (True, 3000, "throwaway_namespace")
    assert results["info"]["matched"] == 3000
    assert (results["flush"]["deleted"], results["flush"]["remaining"]) == (1500, 0)
