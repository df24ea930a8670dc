# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Writes the initramfs of a QEMU guest: busybox, the few modules up to its root, and guest/qemu-init. Touches only the file it writes."""

from __future__ import annotations

import gzip
import lzma
import stat
from pathlib import Path
from typing import Iterable

from .failure import LabError
from .places import GUEST_SCRIPTS

NEEDED = ("virtio_pci", "virtio_net", "virtio_blk", "9pnet_virtio", "9p", "overlay", "ext4", "crc32c_generic")


def module_name(path: str) -> str:
    """`kernel/net/9p/9pnet.ko.xz` is the module 9pnet; - and _ are one."""
    return path.rsplit("/", 1)[-1].split(".ko", 1)[0].replace("-", "_")


def load_order(dependencies: str, builtin: str, needed: Iterable[str] = NEEDED) -> tuple[str, ...]:
    """Paths of the needed modules and what they need, each after what it needs, from modules.dep and modules.builtin.

    Of the checksum that ext4 asks for by a softdep, recent kernels have no module any more: crc32c_generic may be absent.
    """
    rows: dict[str, list[str]] = {}
    for line in dependencies.splitlines():
        path, _colon, rest = line.partition(":")
        rows[path] = rest.split()
    by_name = {module_name(path): path for path in rows}
    inside = {module_name(path) for path in builtin.split()}
    order: list[str] = []
    for name in needed:
        if name in inside or (name not in by_name and name == "crc32c_generic"):
            continue
        if name not in by_name:
            raise LabError(f"the kernel has no module {name}")
        path = by_name[name]
        # modules.dep lists the deepest need last.
        order += [step for step in [*reversed(rows[path]), path] if step not in order]
    return tuple(order)


def plain(path: Path) -> bytes:
    """A module's content, unpacked: busybox's insmod reads no compressed ones."""
    content = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(content)
    if path.suffix == ".gz":
        return gzip.decompress(content)
    if path.suffix != ".ko":
        raise LabError(f"{path.name} is compressed in a way that the lab cannot read")
    return content


def entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    """One member of a `newc` archive (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel)."""
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def archive(members: Iterable[tuple[str, int, bytes]]) -> bytes:
    """A `newc` archive of (name, mode, content)."""
    body = b"".join(entry(number, *member) for number, member in enumerate(members, 1))
    return body + entry(0, "TRAILER!!!", 0, b"")


def write(path: Path, modules: Path, busybox: Path) -> None:
    """The initramfs for the kernel whose modules (with modules.dep) lie in `modules`; `busybox` must be a static one."""
    order = load_order((modules / "modules.dep").read_text(encoding="utf-8"), (modules / "modules.builtin").read_text(encoding="utf-8"))
    folder, file = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
    members: list[tuple[str, int, bytes]] = [("bin", folder, b""), ("modules", folder, b"")]
    members.append(("bin/busybox", file, busybox.read_bytes()))
    members.append(("init", file, (GUEST_SCRIPTS / "qemu-init").read_bytes()))
    members += [(f"modules/{module_name(step)}.ko", file, plain(modules / step)) for step in order]
    members.append(("modules/order", file, "".join(f"{module_name(step)}.ko\n" for step in order).encode()))
    path.write_bytes(gzip.compress(archive(members), 6, mtime=0))
