# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ovs-vswitchd with the userspace datapath is found, asked and counted."""

from __future__ import annotations

import os
import re
import typing as t

import open_vswitch
import pytest

if t.TYPE_CHECKING:
    from pathlib import Path

    Gather = t.Callable[..., t.Dict[str, t.Any]]


@pytest.fixture
def switch(netns: str, tmp_path: Path) -> t.Iterator[open_vswitch.Switch]:
    if not open_vswitch.is_installed():
        pytest.skip("needs Debian's openvswitch-switch")
    with open_vswitch.running(tmp_path, ["ip", "netns", "exec", netns]) as running:
        running.configure("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        yield running


def daemon_of(facts: dict[str, t.Any], pid: int) -> dict[str, t.Any]:
    return next(daemon for daemon in facts["openvswitch"] if daemon["pid"] == pid)


def test_version_threads_and_mode(switch: open_vswitch.Switch, gather: Gather) -> None:
    daemon = daemon_of(gather(), switch.pid)
    found = re.search(r"\) (\S+)", switch.appctl("version"))
    assert found and daemon["version"] == found.group(1)
    names = [(task / "comm").read_text().strip() for task in open_vswitch.Path(f"/proc/{switch.pid}/task").iterdir()]
    assert daemon["handlers"] == sum(name.startswith("handler") for name in names)
    assert daemon["revalidators"] == sum(name.startswith("revalidator") for name in names)
    assert daemon["upcall_mode"] == "none"
    assert "netdev@ovs-netdev" in daemon["evidence"]
    assert [datapath["name"] for datapath in daemon["datapaths"]] == ["netdev@ovs-netdev"]
    assert daemon["open_files"] == len(os.listdir(f"/proc/{switch.pid}/fd"))


def test_ports_are_counted(switch: open_vswitch.Switch, gather: Gather) -> None:
    before = daemon_of(gather(), switch.pid)
    for number in range(3):
        switch.configure("add-port", "br0", f"p{number}", "--", "set", "interface", f"p{number}", "type=internal")
    after = daemon_of(gather(), switch.pid)
    assert after["datapaths"][0]["ports"] == before["datapaths"][0]["ports"] + 3
    assert after["ports"] == 0, "none is of a kernel datapath"
    assert after["projected"]["sockets"] == 0


def test_the_namespace_of_the_switch_does_not_matter(switch: open_vswitch.Switch, gather: Gather, netns: str) -> None:
    outside, inside = daemon_of(gather(), switch.pid), daemon_of(gather(netns=netns), switch.pid)
    assert outside["generic_sockets"] == inside["generic_sockets"]


def test_a_switch_that_may_not_be_read(switch: open_vswitch.Switch, gather: Gather) -> None:
    daemon = daemon_of(gather(nobody=True), switch.pid)
    assert daemon["upcall_mode"] == "unknown"
    assert daemon["evidence"] == "its open files may not be read"
    assert daemon["version"] is None
    assert daemon["projected"] is None
