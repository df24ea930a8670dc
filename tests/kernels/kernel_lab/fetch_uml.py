# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Debian's own User Mode Linux: unpacked, its modules where modprobe looks, and a libc of its own where it needs a newer one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable

from . import command, tools
from .artifact import Artifact
from .catalogue import Kernel
from .failure import LabError
from .suite import Suite
from .unpack import appearing, unpack

LIBC = "libc6"


def _only(folder: Path, pattern: str, what: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise LabError(f"expected one {what} at {folder}/{pattern}, found {len(found)}")
    return found[0]


def _give_libc(scratch: Path, final: Path, debs: dict[str, Path]) -> None:
    """Make the binary use the libc beside it. Starting it through ld-linux directly fails: UML re-executes itself."""
    tools.ensure(tools.PATCH)
    unpack(list(debs.values()), scratch / "libc")
    loader = _only(scratch / "libc", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "loader")
    inside = loader.relative_to(scratch)
    image = scratch / "usr/bin/linux.uml"
    command.run(["patchelf", "--set-interpreter", final / inside, "--set-rpath", (final / inside).parent, image])


def _place_modules(scratch: Path) -> str:
    """Put the modules at lib/modules/RELEASE, with their index, and return the release."""
    packed = _only(scratch, "usr/lib/uml/modules/*", "folder of modules")
    placed = scratch / "lib" / "modules" / packed.name
    placed.parent.mkdir(parents=True)
    shutil.move(str(packed), str(placed))
    command.run(["depmod", "-b", scratch, packed.name])
    return packed.name


def fetch(kernel: Kernel, cache: Path, suite_of: Callable[[str], Suite]) -> Artifact:
    obtained = suite_of(kernel.suite).obtain(kernel.package)
    debs = {package.name: path for package, path in obtained}
    versions = {package.name: package.version for package, _path in obtained}
    libc: dict[str, Path] = {}
    if kernel.libc_suite:
        for package, path in suite_of(kernel.libc_suite).obtain(LIBC):
            libc[package.name] = path
            versions[package.name] = package.version
    final = cache / "kernels" / f"{kernel.name}-{versions[kernel.package]}"
    with appearing(final) as scratch:
        unpack(list(debs.values()), scratch)
        release = _place_modules(scratch)
        if libc:
            _give_libc(scratch, final, libc)
    # Unpacked, the package has done its part; libc's stays, another kernel may be reading it now.
    for path in debs.values():
        path.unlink(missing_ok=True)
    return Artifact(str(final / "usr/bin/linux.uml"), release, str(final), versions, kernel.recipe())
