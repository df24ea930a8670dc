# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The programs that the lab needs and the Debian packages that bring them; installs what is missing where it may."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Callable, Sequence

from . import command, lock
from .failure import LabError, Unavailable

# apt waits for another apt that installs, but not for one that reads lists: labs that start together do both.
INSTALLING = Path("/run/lock/netstate-kernel-lab-install")

# Program or file -> Debian package.
FETCH: dict[str, str] = {
    "dpkg": "dpkg",
    "depmod": "kmod",
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
}
PATCH: dict[str, str] = {"patchelf": "patchelf"}
BUILD: dict[str, str] = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "patch": "patch",
    "/usr/include/libelf.h": "libelf-dev",
    "/usr/include/openssl/ssl.h": "libssl-dev",
}
# The guest runs the machine's own programs, so these serve both sides.
# dropbear: a login costs a slow guest a quarter of what OpenSSH's server costs, and its package starts no service on the machine.
GUEST: dict[str, str] = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "dropbear": "dropbear-bin",
    "dropbearkey": "dropbear-bin",
    "/usr/lib/openssh/sftp-server": "openssh-sftp-server",
    "modprobe": "kmod",
    "perl": "perl-base",
}
UML_GUEST: dict[str, str] = {"ethtool": "ethtool"}
QEMU_GUEST: dict[str, str] = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mkfs.ext4": "e2fsprogs",
}


def _present(program: str) -> bool:
    if program.startswith("/"):
        return Path(program).exists()
    return shutil.which(program, path=command.PATH) is not None


def missing(needs: Sequence[dict[str, str]], present: Callable[[str], bool] = _present) -> tuple[str, ...]:
    """The packages that bring what is not there, each once, sorted."""
    return tuple(sorted({package for need in needs for program, package in need.items() if not present(program)}))


def _install(packages: Sequence[str]) -> None:
    # Packages are only added: nothing that the machine has is upgraded or removed for a lab.
    words: list[str] = ["apt-get", "install", "--yes", "--no-install-recommends", "--no-remove", "--no-upgrade", "-o", "DPkg::Lock::Timeout=300", *packages]
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    try:
        command.run(words, timeout=900)
    except LabError:
        # Lists may be absent on a new machine, or too old.
        command.run(["apt-get", "update"], timeout=300)
        command.run(words, timeout=900)


def _install_missing(needs: Sequence[dict[str, str]]) -> None:
    packages = missing(needs)
    if not packages:
        return  # The process that was waited for has brought them.
    print(f"installing {' '.join(packages)}", file=sys.stderr)
    try:
        _install(packages)
    except LabError as error:
        raise Unavailable(f"missing programs, and {error}") from error


def ensure(*needs: dict[str, str]) -> None:
    """Install the missing packages, or say which they are."""
    packages = missing(needs)
    if not packages:
        return
    if os.geteuid() != 0 or not _present("apt-get"):
        raise Unavailable(f"missing programs; install these packages: {' '.join(packages)}")
    with lock.held(INSTALLING, "installing programs", remove=lambda: True):
        _install_missing(needs)
    left = missing(needs)
    if left:
        raise LabError(f"installed, but still not found: what {' '.join(left)} should bring")
