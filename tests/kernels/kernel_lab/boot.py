# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The command lines that start a guest, and the file that its init reads; pure."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Sequence

from . import network
from .artifact import Artifact
from .catalogue import Kernel
from .places import GUEST_SCRIPTS, Places

QEMU_PROCESSORS = 2
# A guest that panics ends at once instead of waiting for somebody.
COMMON = ("panic=-1", "quiet")
# Emulated, mitigations and clock checks only cost time.
QEMU_ONLY = ("console=ttyS0", "mitigations=off", "tsc=reliable", "nokaslr", "random.trust_cpu=on")


def guest_environment(kernel: Kernel, artifact: Artifact, bound: Sequence[str] = ()) -> str:
    """The text of guest.env, which guest/start reads. `bound` is what a QEMU guest takes from its disk."""
    values = {
        "LAB_NAME": kernel.name,
        "LAB_DEVICE": "vec0" if kernel.is_uml else "eth0",
        "LAB_ADDRESS": f"{network.addresses(kernel)[1]}/30" if kernel.is_uml else network.QEMU_ADDRESS,
        "LAB_MODULES": artifact.modules,
        "LAB_LOAD": "nf_conntrack_netlink" if artifact.modules else "",
        "LAB_BOUND": "\n".join(bound),
    }
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())


def _for_init(folder: Path) -> list[str]:
    """Words of the kernel's command line that become the environment of its first process."""
    return [f"LAB_GUEST={folder}", f"LAB_START={GUEST_SCRIPTS / 'start'}"]


def uml(places: Places, kernel: Kernel, artifact: Artifact) -> list[str]:
    """`ro` makes the guest's view of the machine's file system read only; guest/launch enforces it from outside."""
    folder = places.guest(kernel.name)
    return [
        artifact.image,
        f"mem={kernel.memory_mib}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={GUEST_SCRIPTS / 'uml-init'}",
        "con=null",
        "con0=fd:0,fd:1",
        f"uml_dir={folder / 'scratch'}",
        f"umid={kernel.name}",
        f"vec0:transport=tap,ifname={network.tap(kernel)},depth=64,mac={network.hardware_address(kernel)}",
        *COMMON,
        *_for_init(folder),
    ]


def qemu(places: Places, kernel: Kernel, artifact: Artifact, image: str = "") -> list[str]:
    """Emulation by TCG: a guest boots on machines whose KVM is absent or unusable. `image` is a disk with the Python environment."""
    folder = places.guest(kernel.name)
    address, port = network.ssh_end(kernel)
    append = [*COMMON, *QEMU_ONLY, *_for_init(folder)]
    disk = ["-drive", f"file={image},if=virtio,format=raw,readonly=on"] if image else []
    return [
        "qemu-system-x86_64",
        *("-accel", "tcg,thread=multi"),
        *("-cpu", "max"),
        *("-smp", str(QEMU_PROCESSORS)),
        *("-m", f"{kernel.memory_mib}M"),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-serial", "stdio"),
        *("-kernel", artifact.image),
        *("-initrd", str(Path(artifact.modules) / "initramfs.gz")),
        *("-append", " ".join(append)),
        *("-netdev", f"user,id=lab,restrict=on,hostfwd=tcp:{address}:{port}-:22"),
        *("-device", "virtio-net-pci,netdev=lab,romfile="),
        *("-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"),
        *disk,
    ]


def launcher(places: Places, kernel: Kernel, command: list[str]) -> list[str]:
    """`command` inside the lab's network namespace and inside pid and mount namespaces of the guest's own.

    The pid namespace is what makes a kill complete: UML runs each guest process as a process of the machine.
    """
    scratch = places.guest(kernel.name) / "scratch"
    size = f"{kernel.memory_mib + 64}m"
    return [
        *("ip", "netns", "exec", places.namespace),
        *("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"),
        *(str(GUEST_SCRIPTS / "launch"), str(scratch), size),
        *command,
    ]


def timeout(kernel: Kernel) -> float:
    """Seconds until a boot counts as failed: generous, for machines that do other things too."""
    return max(60.0, 15.0 * kernel.boot_seconds)
