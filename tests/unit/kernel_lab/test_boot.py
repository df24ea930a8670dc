# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The command lines of guests."""

import shlex

import pytest
from kernel_lab import boot, network
from kernel_lab.artifact import Artifact


def artifact(modules="/cache/kernels/k"):
    return Artifact("/cache/kernels/k/image", "6.1.9", modules, {}, {})


def test_uml_sees_the_machine_read_only(where, kernels):
    words = boot.uml(where, kernels["uml-6.1"], artifact())
    assert words[0] == "/cache/kernels/k/image"
    assert {"ro", "rootfstype=hostfs", "rootflags=/", "mem=256M", "panic=-1"} <= set(words)
    assert "rw" not in words


def test_uml_keeps_its_sockets_in_its_scratch_folder(where, kernels):
    assert f"uml_dir={where.guest('uml-6.1')}/scratch" in boot.uml(where, kernels["uml-6.1"], artifact())


def test_uml_uses_the_tap_that_is_made_for_it(where, kernels):
    kernel = kernels["built-6.1"]
    (vector,) = [word for word in boot.uml(where, kernel, artifact()) if word.startswith("vec0:")]
    assert f"ifname={network.tap(kernel)}," in vector
    assert vector.endswith(f"mac={network.hardware_address(kernel)}")


def test_qemu_never_uses_kvm_and_shares_read_only(where, kernels):
    words = boot.qemu(where, kernels["qemu-6.1"], artifact(), "/cache/python/i.ext4")
    assert words[words.index("-accel") + 1].startswith("tcg")
    assert not {"-enable-kvm", "-accel kvm"} & set(words) and words.count("-accel") == 1
    assert "readonly=on" in words[words.index("-virtfs") + 1]
    assert "readonly=on" in words[words.index("-drive") + 1]
    assert "-no-reboot" in words


def test_qemu_forwards_from_where_ssh_goes(where, kernels):
    kernel = kernels["qemu-7.3"]
    address, port = network.ssh_end(kernel)
    netdev = boot.qemu(where, kernel, artifact())[boot.qemu(where, kernel, artifact()).index("-netdev") + 1]
    assert address == "127.0.0.1"
    assert f"hostfwd=tcp:{address}:{port}-:22" in netdev


@pytest.mark.parametrize("name", ["uml-5.10", "built-6.12", "qemu-5.10"])
def test_the_init_learns_where_its_folder_is(where, kernels, name):
    kernel = kernels[name]
    words = boot.uml(where, kernel, artifact()) if kernel.is_uml else boot.qemu(where, kernel, artifact())
    assert f"LAB_GUEST={where.guest(name)}" in " ".join(words).split()


def test_launcher_nests_network_then_processes_then_mounts(where, kernels):
    words = boot.launcher(where, kernels["uml-6.1"], ["guest", "word"])
    assert words[:4] == ["ip", "netns", "exec", where.namespace]
    assert words[4] == "unshare" and {"--mount", "--pid", "--fork", "--kill-child=KILL"} <= set(words)
    assert words[-4:] == [f"{where.guest('uml-6.1')}/scratch", "320m", "guest", "word"]


def test_guest_environment_survives_the_shell(kernels):
    text = boot.guest_environment(kernels["qemu-6.1"], artifact("/cache of mine/k"), ["/a b", "/c"])
    values = dict(word.split("=", 1) for word in shlex.split(text))
    assert values["LAB_MODULES"] == "/cache of mine/k"
    assert values["LAB_BOUND"] == "/a b\n/c"
    assert values["LAB_DEVICE"] == "eth0"


def test_a_kernel_without_modules_loads_none(kernels):
    values = dict(word.split("=", 1) for word in shlex.split(boot.guest_environment(kernels["built-6.1"], artifact(""))))
    assert (values["LAB_MODULES"], values["LAB_LOAD"], values["LAB_DEVICE"]) == ("", "", "vec0")


def test_a_slow_guest_gets_more_time(kernels):
    assert boot.timeout(kernels["built-6.1"]) >= 60
    assert boot.timeout(kernels["qemu-5.10"]) > boot.timeout(kernels["built-6.1"])
