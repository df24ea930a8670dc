# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The lab's own network namespace and the addresses in it; all it changes are that namespace and what is inside.

Addresses are from 198.18.0.0/15 (RFC 2544, for testing). Labs do not meet: each has its namespace.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from . import command
from .catalogue import Kernel
from .failure import LabError
from .places import Places

NAMED = Path("/run/netns")
# The guest's driver drops packets that were put together for a card that splits them; a large transfer then stalls.
OFFLOADS = ("tso", "gso", "gro", "tx", "rx", "sg")
QEMU_ADDRESS = "10.0.2.15/24"


def tap(kernel: Kernel) -> str:
    return f"tap{kernel.index}"


def addresses(kernel: Kernel) -> tuple[str, str]:
    """The lab's and the guest's end of a UML guest's tap, a network of four addresses each."""
    return f"198.18.{kernel.index}.1", f"198.18.{kernel.index}.2"


def hardware_address(kernel: Kernel) -> str:
    """Of a UML guest's interface: given, so that the lab's end need not ask for it while the guest is still booting."""
    return f"02:00:c6:12:{kernel.index:02x}:02"


def ssh_end(kernel: Kernel) -> tuple[str, int]:
    """Where the guest's ssh server answers, seen from the lab's namespace."""
    if kernel.is_uml:
        return addresses(kernel)[1], 22
    return "127.0.0.1", 2200 + kernel.index


def exists(places: Places) -> bool:
    return (NAMED / places.namespace).exists()


def create(places: Places) -> None:
    """Make the namespace unless it is there."""
    if not exists(places):
        command.run(["ip", "netns", "add", places.namespace])
    command.run(["ip", "-n", places.namespace, "link", "set", "lo", "up"])


def tap_commands(namespace: str, kernel: Kernel) -> list[list[str]]:
    """The commands that give a UML guest its tap."""
    inside, name = ["ip", "-n", namespace], tap(kernel)
    return [
        [*inside, "tuntap", "add", name, "mode", "tap"],
        [*inside, "address", "add", f"{addresses(kernel)[0]}/30", "dev", name],
        [*inside, "link", "set", name, "up"],
        [*inside, "neighbour", "replace", addresses(kernel)[1], "lladdr", hardware_address(kernel), "dev", name, "nud", "permanent"],
        ["ip", "netns", "exec", namespace, "ethtool", "-K", name, *[word for offload in OFFLOADS for word in (offload, "off")]],
    ]


def create_tap(places: Places, kernel: Kernel) -> None:
    remove_tap(places, kernel.index)
    for words in tap_commands(places.namespace, kernel):
        command.run(words)


def remove_tap(places: Places, index: int) -> None:
    # It may not be there.
    with contextlib.suppress(LabError):
        command.run(["ip", "-n", places.namespace, "link", "delete", f"tap{index}"])


def processes(places: Places) -> list[int]:
    """Pids of what runs in the namespace: the lab's guests and what they left."""
    if not exists(places):
        return []
    return [int(word) for word in command.run(["ip", "netns", "pids", places.namespace]).split()]


def remove(places: Places) -> None:
    """End what still runs in the namespace and remove it with its taps."""
    if not exists(places):
        return
    end = time.monotonic() + 10
    while time.monotonic() < end:
        pids = processes(places)
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    command.run(["ip", "netns", "delete", places.namespace])
