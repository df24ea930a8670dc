# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ovs-vswitchd's answers and the number of its sockets tell."""

from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import openvswitch
from ansible_collections.netstate.kernel.plugins.module_utils._sockets.openvswitch import Answers

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
    [("ovs-vswitchd (Open vSwitch) 3.1.0\n", "3.1.0"), ("ovs-vswitchd (Open vSwitch) 2.17.9\nDPDK 21.11.7\n", "2.17.9"), ("nonsense", None)],
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
