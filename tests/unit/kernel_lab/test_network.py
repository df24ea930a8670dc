# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Addresses, ports and names of guests in a lab."""

from kernel_lab import network


def test_no_two_guests_share_an_end(kernels):
    ends = [network.ssh_end(kernel) for kernel in kernels.values()]
    assert len(set(ends)) == len(ends)
    hardware = [network.hardware_address(kernel) for kernel in kernels.values()]
    assert len(set(hardware)) == len(hardware)


def test_tap_names_fit_an_interface(kernels):
    assert all(len(network.tap(kernel)) < 16 for kernel in kernels.values())


def test_tap_commands_stay_in_the_namespace(kernels):
    for words in network.tap_commands("ns", kernels["uml-6.1"]):
        assert words[:3] == ["ip", "-n", "ns"] or words[:4] == ["ip", "netns", "exec", "ns"]


def test_offloads_are_off(kernels):
    words = network.tap_commands("ns", kernels["uml-6.1"])[-1]
    assert words[4:7] == ["ethtool", "-K", "tap1"]
    assert dict(zip(words[7::2], words[8::2])) == dict.fromkeys(network.OFFLOADS, "off")
