# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The kernel that a Debian suite ships, for QEMU: unpacked, indexed, and with a small initramfs that mounts the machine's file system."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from . import command, initramfs
from .artifact import Artifact
from .catalogue import Kernel
from .failure import LabError
from .suite import Suite
from .unpack import appearing, unpack


def image_in(folder: Path) -> Path:
    """The kernel image: up to 6.x in boot/, from 7.x beside the modules, where packaging by parts puts it."""
    for pattern in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz", "lib/modules/*/vmlinuz"):
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    raise LabError(f"no vmlinuz in {folder}")


def modules_in(folder: Path) -> Path:
    for pattern in ("usr/lib/modules/*/kernel", "lib/modules/*/kernel"):
        found = sorted(folder.glob(pattern))
        if found:
            return found[0].parent
    raise LabError(f"no modules in {folder}")


def busybox_in(folder: Path) -> Path:
    """The static busybox: in bin/ before Debian's merge of the two, in usr/bin/ after it."""
    for path in ("bin/busybox", "usr/bin/busybox"):
        if (folder / path).exists():
            return folder / path
    raise LabError(f"no busybox in {folder}")


def _place_modules(scratch: Path) -> str:
    """Make lib/modules/RELEASE lead to the modules, index them, and return the release."""
    modules = modules_in(scratch)
    library = scratch / "lib"
    if not library.exists():
        library.symlink_to("usr/lib")
    command.run(["depmod", "-b", scratch, modules.name])
    return modules.name


def support_suite(suite: str) -> str:
    """Where what is not the kernel comes from: an overlay suite holds only what differs from its base."""
    return suite.partition("-")[0]


def fetch(kernel: Kernel, cache: Path, suite_of: Callable[[str], Suite]) -> Artifact:
    obtained = suite_of(kernel.suite).obtain(kernel.package)
    versions = {package.name: package.version for package, _path in obtained}
    (_package, busybox), *_others = suite_of(support_suite(kernel.suite)).obtain("busybox-static")
    final = cache / "kernels" / f"{kernel.name}-{versions[kernel.package]}"
    with appearing(final) as scratch:
        unpack([path for _package, path in obtained], scratch)
        release = _place_modules(scratch)
        image = image_in(scratch).relative_to(scratch)
        unpack([busybox], scratch / "busybox")
        program = busybox_in(scratch / "busybox")
        initramfs.write(scratch / "initramfs.gz", scratch / "lib" / "modules" / release, program)
    for _package, path in obtained:
        path.unlink(missing_ok=True)
    return Artifact(str(final / image), release, str(final), versions, kernel.recipe())
