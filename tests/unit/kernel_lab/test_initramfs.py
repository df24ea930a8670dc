# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The order of modules and the archive."""

import shutil
import subprocess

import pytest
from kernel_lab import initramfs
from kernel_lab.failure import LabError

DEPENDENCIES = """kernel/net/9p/9pnet.ko.xz:
kernel/net/9p/9pnet_virtio.ko.xz: kernel/drivers/virtio/virtio_ring.ko.xz kernel/drivers/virtio/virtio.ko.xz kernel/net/9p/9pnet.ko.xz
kernel/drivers/virtio/virtio.ko.xz:
kernel/drivers/virtio/virtio_ring.ko.xz: kernel/drivers/virtio/virtio.ko.xz
kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz
kernel/lib/crc32c-generic.ko:
"""


def names(order):
    return [initramfs.module_name(path) for path in order]


def test_each_module_comes_after_what_it_needs():
    order = names(initramfs.load_order(DEPENDENCIES, "", ["9pnet_virtio", "9p"]))
    assert order == ["9pnet", "virtio", "virtio_ring", "9pnet_virtio", "9p"]


def test_builtin_modules_are_left_out():
    assert names(initramfs.load_order(DEPENDENCIES, "kernel/fs/overlayfs/overlay.ko\n", ["overlay", "9p"])) == ["9pnet", "9p"]


def test_dashes_and_underscores_are_one():
    assert names(initramfs.load_order(DEPENDENCIES, "", ["crc32c_generic"])) == ["crc32c_generic"]


def test_the_checksum_may_be_absent_and_nothing_else():
    assert initramfs.load_order("", "", ["crc32c_generic"]) == ()
    with pytest.raises(LabError, match="no module 9p"):
        initramfs.load_order("", "", ["9p"])


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not installed")
def test_the_archive_is_one_that_cpio_reads(tmp_path):
    members = [("bin", 0o40755, b""), ("bin/x", 0o100755, b"content"), ("odd", 0o100644, b"12345")]
    subprocess.run(["cpio", "-i", "--quiet", "--make-directories"], input=initramfs.archive(members), cwd=tmp_path, check=True)
    assert (tmp_path / "bin" / "x").read_bytes() == b"content"
    assert (tmp_path / "odd").read_bytes() == b"12345"


def test_an_unknown_compression_is_named(tmp_path):
    module = tmp_path / "m.ko.odd"
    module.touch()
    with pytest.raises(LabError, match="m.ko.odd"):
        initramfs.plain(module)
