# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ovs-vswitchd's answers and the number of its sockets tell."""

from __future__ import annotations

import socket
import time
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import control, openvswitch
from ansible_collections.netstate.kernel.plugins.module_utils._sockets.openvswitch import Answers

if t.TYPE_CHECKING:
    from pathlib import Path

KERNEL = {"system@ovs-system": 2223}
PER_CPU, PER_VPORT = {"system@ovs-system": "per-cpu"}, {"system@ovs-system": "per-vport"}

SHOWN = """\
system@ovs-system:
  lookups: hit:12 missed:3 lost:0
  flows: 2
  masks: hit:20 total:1 hit/pkt:1.33
  port 0: ovs-system (internal)
  port 1: br0 (internal)
  port 10: vxlan_sys_4789 (vxlan: packet_type=ptap)
netdev@ovs-netdev:
  lookups: hit:0 missed:0 lost:0
  port 0: ovs-netdev (tap)
"""


def test_datapaths() -> None:
    assert openvswitch.parse_datapaths(SHOWN) == {"system@ovs-system": 3, "netdev@ovs-netdev": 1}
    assert openvswitch.parse_datapaths("") == {}


@pytest.mark.parametrize(
    "text, version",
    [
        ("ovs-vswitchd (Open vSwitch) 3.1.0\n", "3.1.0"),
        ("ovs-vswitchd (Open vSwitch) 2.17.9\nDPDK 21.11.7\n", "2.17.9"),
        ("nonsense", None),
        ("(Open vSwitch) " + "3" * 999, "3" * 64),
    ],
)
def test_version(text: str, version: str | None) -> None:
    assert openvswitch.parse_version(text) == version


@pytest.mark.parametrize("text", ["system@ovs-system: per-cpu dispatch mode\n", "  system@ovs-system per-cpu dispatch mode\n"])
def test_dispatch(text: str) -> None:
    assert openvswitch.parse_dispatch(text) == PER_CPU


@pytest.mark.parametrize(
    "datapaths, dispatch, sockets, ports, handlers, mode",
    [
        (KERNEL, PER_CPU, 60, 2223, 56, "per_cpu"),
        (KERNEL, PER_VPORT, 2230, 2223, 41, "per_port"),
        (KERNEL, PER_VPORT, 91187, 2223, 41, "per_port_and_handler"),
        (KERNEL, None, 91187, 2223, 41, "per_port_and_handler"),
        (KERNEL, None, 2230, 2223, 41, "per_port"),
        (KERNEL, None, 2230, 2223, 1, "per_port"),  # one handler: the two are the same
        (KERNEL, None, 12, 2223, 41, "unknown"),
        (KERNEL, None, 12, 0, 41, "unknown"),
        (None, None, 91187, 0, 41, "unknown"),
        ({"netdev@ovs-netdev": 4}, {}, 6, 0, 1, "none"),
        ({}, {}, 6, 0, 0, "none"),
    ],
)
def test_mode(datapaths: dict | None, dispatch: dict | None, sockets: int, ports: int, handlers: int, mode: str) -> None:
    found, evidence = openvswitch.judge(Answers("x", datapaths, dispatch), sockets, ports, handlers)
    assert found == mode
    assert str(sockets) in evidence


@pytest.mark.parametrize("mode, need", [("per_cpu", 41), ("per_port", 2223), ("per_port_and_handler", 91143), ("none", 0), ("unknown", None)])
def test_need(mode: str, need: int | None) -> None:
    assert openvswitch.need(mode, 2223, 41) == need


@pytest.mark.parametrize("text", ["\n" * 50_000, " " * 50_000, "a" * 50_000, "\t\n" * 50_000])
def test_a_long_answer_costs_little(text: str) -> None:
    before = time.process_time()
    assert openvswitch.parse_dispatch(text) == {}
    assert openvswitch.parse_version(text) is None
    openvswitch.parse_datapaths(text)
    assert time.process_time() - before < 1


def test_datapaths_of_a_liar() -> None:
    found = openvswitch.parse_datapaths("".join(f"{number}{'x' * 999}:\n  port 1: y\n" for number in range(999)))
    assert len(found) == 64
    assert {len(name) for name in found} == {64}


def make(proc: Path, pid: int, uids: str = "0 0 0 0", command: str = "ovs-vswitchd", cmdline: str = "ovs-vswitchd") -> Path:
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "net").mkdir()
    (folder / "task").mkdir()
    (folder / "comm").write_text(command + "\n")
    (folder / "cmdline").write_text(cmdline)
    (folder / "limits").write_text("")
    (folder / "status").write_text(f"Name:\t{command}\nUid:\t{uids}\n" if uids else "")
    return folder


def test_those_of_root_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvswitch, "_trusted", lambda: {0, 300})
    make(tmp_path, 1, "1000 1000 1000 1000")
    make(tmp_path, 2, "1000 0 0 0")  # a user's, of a program that takes root's rights
    make(tmp_path, 3, "")  # of nobody knows whom
    make(tmp_path, 4, "300 300 300 300")
    make(tmp_path, 5, "0 0 0 0")
    make(tmp_path, 6, "0 0 0 0", cmdline="ovs-vswitchd: monitoring pid 5")
    make(tmp_path, 7, "0 0 0 0", command="ovsdb-server")
    assert openvswitch.find(str(tmp_path)) == [4, 5, 1, 2, 3]


@pytest.mark.parametrize("number, asked", [(1, 1), (5, 5), (12, openvswitch.MOST)])
def test_silent_ones_have_one_deadline_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, asked: int) -> None:
    monkeypatch.setattr(openvswitch, "SECONDS", 0.3)
    monkeypatch.setattr(control, "_check_peer", lambda _connection, _pid: None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "a.ctl"))
        listener.listen(number)
        for pid in range(1, number + 1):
            folder = make(tmp_path, pid)
            (folder / "root").symlink_to("/")
            (folder / "fd" / "3").symlink_to("socket:[77]")
            (folder / "net/unix").write_text(f"0000: 00000002 00000000 00010000 0001 01 77 {tmp_path}/a.ctl\n")
        before = time.monotonic()
        found = openvswitch.gather(openvswitch.find(str(tmp_path)), {}, str(tmp_path))
        taken = time.monotonic() - before
    assert 0.3 <= taken < 0.6
    assert [daemon["pid"] for daemon in found] == list(range(1, asked + 1))
    assert all("version over" in daemon["problems"][0] for daemon in found)


def test_threads_that_end_meanwhile(tmp_path: Path) -> None:
    folder = make(tmp_path, 1)
    for number in range(10, 30):
        (folder / "task" / str(number)).mkdir()
        if number % 2:
            (folder / "task" / str(number) / "comm").write_text(f"handler{number}\n")
    assert openvswitch.facts(1, {}, str(tmp_path))["handlers"] == 10


def test_threads_of_a_process_that_ended(tmp_path: Path) -> None:
    assert openvswitch._threads(str(tmp_path / "1")) == []
