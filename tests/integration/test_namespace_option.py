# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""``netns``: by name, by path, and never created."""

from __future__ import annotations

import subprocess
import typing as t

import conntrack_command
import mixed_table
import network_namespace
import pytest
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

MODULES = [
    ("conntrack_facts", {"gather_subset": ["table"]}),
    ("conntrack_info", {}),
    ("conntrack_flush", {"zones": ["1"]}),
]


def _seen(module: str, result: dict[str, t.Any]) -> int:
    if module == "conntrack_facts":
        return result["ansible_facts"]["conntrack"]["table"]["count"]
    return result["matched"]


@pytest.mark.parametrize(("module", "options"), MODULES)
def test_by_name_and_by_path(ns: Namespace, module: str, options: dict[str, t.Any]) -> None:
    for netns in (ns.name, "/run/netns/" + ns.name, "/var/run/netns/" + ns.name):
        ns.fill([mixed_table.entry("10.0.0.1", zone=1)])
        result = call(module, {**options, "netns": netns})
        assert not result["failed"], result
        assert _seen(module, result) == 1
        assert (result.get("netns") or result["ansible_facts"]["conntrack"]["netns"]) == netns
        ns.command("conntrack", "-F")


@pytest.mark.parametrize(("module", "options"), MODULES)
def test_of_a_process(needs_conntrack: None, module: str, options: dict[str, t.Any]) -> None:
    """A namespace without a name, that of a container say."""
    script = "conntrack -I -s 10.0.0.1 -d 10.0.0.2 -p udp --sport 1 --dport 2 -t 600 -w 1 >&2; echo ready; read line; conntrack -C"
    with subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdin=-1, stdout=-1, stderr=-3, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            result = call(module, {**options, "netns": f"/proc/{process.pid}/ns/net"})
            assert not result["failed"], result
            assert _seen(module, result) == 1
            output, _errors = process.communicate("\n", timeout=60)
            assert int(output) == (0 if module == "conntrack_flush" else 1)
        finally:
            process.kill()


@pytest.mark.parametrize(("module", "options"), MODULES)
@pytest.mark.parametrize("check", [False, True], ids=["for-real", "check-mode"])
def test_a_missing_one_is_not_created(ns: Namespace, module: str, options: dict[str, t.Any], check: bool) -> None:
    missing = ns.name + "-not"
    for netns in (missing, "/run/netns/" + missing, "/proc/0/ns/net"):
        result = call(module, {**options, "netns": netns}, check=check)
        assert (result["failed"], result["reason"], result["errno"]) == (True, "no_namespace", "ENOENT"), result
        assert netns in result["msg"]
    assert missing not in network_namespace.names()


@pytest.mark.parametrize("netns", ["/etc/hostname", "/run", "/proc/self/ns/mnt", "/dev/null"])
def test_what_is_none(needs_conntrack: None, netns: str) -> None:
    result = call("conntrack_flush", {"zones": ["1"], "netns": netns})
    assert (result["failed"], result["reason"]) == (True, "not_a_namespace")
    assert netns in result["msg"]


def test_others_are_untouched(ns: Namespace, make_namespace: t.Callable[[], Namespace]) -> None:
    other = make_namespace()
    for namespace in (ns, other):
        mixed_table.fill(namespace)
    before = conntrack_command.table(other)
    assert call("conntrack_flush", {"netns": ns.name, "zones": ["1", "0"]})["deleted"] == 19
    assert conntrack_command.table(other) == before
