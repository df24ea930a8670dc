# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether IPVS is there, with which schedulers, and why not. Loads nothing unless told to."""

from __future__ import annotations

import dataclasses
import errno
import os
import subprocess
import typing as t

from .._netlink import family, kernel, library
from .._netlink.channel import NETLINK_GENERIC, Channel
from .._netlink.errors import NOT_BUILT, NOT_LOADED, NOT_PERMITTED, NetstateError, Reason
from .._netlink.namespace import own_proc
from . import wire

MODULE = "ip_vs"
SCHEDULERS = ("dh", "fo", "lblc", "lblcr", "lc", "mh", "nq", "ovf", "rr", "sed", "sh", "twos", "wlc", "wrr")
ENGINES = ("sip",)

# Of every IPVS request, reading ones too.
MEANINGS: t.Mapping[int, Reason] = {
    errno.EPERM: Reason(
        NOT_PERMITTED.slug,
        "IPVS asks for CAP_NET_ADMIN in the initial user namespace, for reading too: run as root (become: true), and not in a user namespace",
    )
}
_ABSENT = Reason(NOT_BUILT.slug, "ip_vs is neither built in nor installed for this kernel")


@dataclasses.dataclass(frozen=True)
class Presence:
    """What is there of IPVS.

    :ivar module: state of ip_vs: ``builtin``, ``loaded``, ``loadable`` or ``absent``
    :ivar reason: why there is no table; ``None`` when there is one
    """

    module: str
    reason: Reason | None = None

    @property
    def available(self) -> bool:
        return self.reason is None


def look() -> Presence:
    """Looks from the calling thread's namespace, without a request (looking the family up would load the module) and without pyroute2 too."""
    state = kernel.module_state(MODULE)
    if os.path.exists(own_proc() + "/net/" + MODULE):
        return Presence(state if state in kernel.PRESENT else kernel.BUILTIN, library.MISSING if library.IMPORT_ERROR else None)
    if state == kernel.LOADABLE:
        return Presence(state, Reason(NOT_LOADED.slug, "ip_vs is not loaded, so there are no services"))
    if state in kernel.PRESENT:
        return Presence(state, Reason(NOT_LOADED.slug, "ip_vs is there, but not in this network namespace"))
    return Presence(state, _ABSENT)


def attach(channel: Channel) -> family.Family:
    """Looks the family up, for which the kernel loads ip_vs.

    :raises NetstateError: when this kernel has none
    """
    return family.look_up(channel, wire.NAME, _ABSENT)


def open_channel() -> Channel:
    return Channel.open(NETLINK_GENERIC)


def schedulers() -> dict[str, str]:
    """Each scheduler to the state of its module."""
    return {name: kernel.module_state(f"ip_vs_{name}") for name in SCHEDULERS}


def engines() -> dict[str, str]:
    """Each persistence engine to the state of its module."""
    return {name: kernel.module_state(f"ip_vs_pe_{name}") for name in ENGINES}


def knows_its_modules() -> bool:
    """Whether this machine can tell which modules could be loaded; a container often has no list."""
    return not kernel.has_modules() or os.path.exists(f"/lib/modules/{kernel.release()}/modules.dep")


def load() -> None:
    """Makes the kernel load ip_vs; nothing where it is there.

    Since 5.16 a lookup of the family does that; kernels before leave it to modprobe.

    :raises NetstateError: when this kernel has none
    """
    for folder in ("/sbin", "/usr/sbin", "/bin", "/usr/bin"):
        command = os.path.join(folder, "modprobe")
        if os.path.exists(command):
            # pylint: disable-next=ansible-bad-function  # no AnsibleModule here, whose run_command it wants
            subprocess.run([command, "--quiet", MODULE], check=False, stdin=subprocess.DEVNULL)
            break
    with open_channel() as channel:
        attach(channel)
    if not look().available:
        raise NetstateError("loading ip_vs", None, look().reason)
