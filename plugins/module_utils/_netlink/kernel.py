# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What this kernel is and holds, read from /proc and /sys without loading anything.

A netlink request for a subsystem that is not there makes the kernel load its module, on the whole machine. So whether a module
is there is found out here first.
"""

from __future__ import annotations

import functools
import os
import re

from .namespace import own_proc

BUILTIN, LOADED, LOADABLE, ABSENT = "builtin", "loaded", "loadable", "absent"
PRESENT = frozenset([BUILTIN, LOADED])


def release() -> str:
    """As ``uname -r`` prints it."""
    return os.uname().release


def has_modules() -> bool:
    """Whether the kernel can load modules at all (CONFIG_MODULES)."""
    return os.path.exists("/proc/modules")


def module_state(name: str, root: str = "/") -> str:
    """``builtin``, ``loaded``, ``loadable`` (a file of this release is there) or ``absent``.

    On a kernel without CONFIG_MODULES, and where no list of built-in modules is installed (containers), a module that keeps
    symbols in /proc/kallsyms is built in.

    :param name: with underscores, as lsmod prints it
    :param root: where /sys, /proc and /lib are; tests give a folder
    """
    folder = os.path.join(root, "sys/module", name)
    if os.path.exists(os.path.join(folder, "initstate")):
        return LOADED
    if os.path.isdir(folder):  # built in, with parameters
        return BUILTIN
    files = os.path.join(root, "lib/modules", release())
    if name in _listed(os.path.join(files, "modules.builtin")):
        return BUILTIN
    if name in _listed(os.path.join(files, "modules.dep")):
        return LOADABLE
    if not os.path.exists(os.path.join(files, "modules.builtin")) and _has_symbols(name, root):
        return BUILTIN
    return ABSENT


def sysctls(folder: str, prefix: str = "") -> dict[str, int | str]:
    """The settings under a folder of /proc/sys as the calling thread's namespace has them, numbers as ``int``.

    What may not be read is left out; a folder that is absent gives none.
    """
    path = os.path.join("/proc/sys", folder)
    try:
        names = sorted(name for name in os.listdir(path) if name.startswith(prefix))
    except OSError:
        return {}
    values = {}
    for name in names:
        value = sysctl(os.path.join(folder, name))
        if value is not None:
            values[name] = value
    return values


def sysctl(name: str) -> int | str | None:
    """One setting by its path below /proc/sys; ``None`` when absent or not readable."""
    try:
        with open(os.path.join("/proc/sys", name), encoding="ascii", errors="replace") as file:
            text = file.read().strip()
    except OSError:
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def has_protocol(protocol: int) -> bool:
    """Whether the netlink protocol is there in the calling thread's namespace; asking for it would load its module."""
    try:
        with open(own_proc() + "/net/netlink", encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
    except OSError:
        return False
    # The kernel's own socket (port 0) stands for the protocol.
    return any(len(row) > 2 and row[1] == str(protocol) and row[2] == "0" for row in rows)


# A function that each module keeps under this name in every release looked at (5.10 to 7.3).
_SYMBOLS = {
    "nf_conntrack": "nf_conntrack_in",
    "nf_conntrack_netlink": "ctnetlink_net_init",
    "nf_conntrack_pptp": "conntrack_pptp_help",
    "ip_vs": "ip_vs_conn_init",
    "ip_vs_pe_sip": "ip_vs_sip_fill_param",
}
# Each scheduler of IPVS has one function of this form.
_SYMBOLS.update(
    (f"ip_vs_{name}", f"ip_vs_{name}_schedule")
    for name in ("dh", "fo", "lblc", "lblcr", "lc", "mh", "nq", "ovf", "rr", "sed", "sh", "twos", "wlc", "wrr")
)


def _has_symbols(name: str, root: str) -> bool:
    return name in _SYMBOLS and b" %s\n" % _SYMBOLS[name].encode() in _symbols(os.path.join(root, "proc/kallsyms"))


@functools.lru_cache(maxsize=1)
def _symbols(path: str) -> bytes:
    """All symbols. The kernel takes 50 ms to print its list, and a search of it 3, so that only what is asked for is looked up."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


@functools.lru_cache(maxsize=None)
def _listed(path: str) -> frozenset[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return frozenset(_module_name(line) for line in file)
    except OSError:
        return frozenset()


def _module_name(line: str) -> str:
    base = os.path.basename(line.split(":", 1)[0].strip())
    return base.split(".ko", 1)[0].replace("-", "_")
