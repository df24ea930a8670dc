# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether conntrack is there to be read, and why not. Loads nothing."""

from __future__ import annotations

import dataclasses
import errno

from .._netlink import kernel, library
from .._netlink.channel import NETLINK_NETFILTER, Channel
from .._netlink.errors import NOT_BUILT, NOT_LOADED, NetstateError, Reason
from . import messages

TRACKER, READER = "nf_conntrack", "nf_conntrack_netlink"

_UNLOADED_READER = Reason(
    "not_loaded",
    "the table cannot be read without nf_conntrack_netlink, which is not loaded: modprobe nf_conntrack_netlink",
)


@dataclasses.dataclass(frozen=True)
class Presence:
    """What is there of connection tracking.

    :ivar tracker: state of nf_conntrack: ``builtin``, ``loaded``, ``loadable`` or ``absent``
    :ivar reader: state of nf_conntrack_netlink, through which the table is read
    :ivar reason: why the table cannot be read; ``None`` when it can
    """

    tracker: str
    reader: str
    reason: Reason | None = None

    @property
    def available(self) -> bool:
        return self.reason is None

    @property
    def module(self) -> str:
        """The state of the two as one: that of the one which is less there."""
        order = (kernel.ABSENT, kernel.LOADABLE, kernel.LOADED, kernel.BUILTIN)
        return min(self.tracker, self.reader, key=order.index)

    @property
    def tracks(self) -> bool:
        """Whether there can be entries at all."""
        return self.tracker in kernel.PRESENT


def look() -> Presence:
    """Looks from the calling thread's namespace, without pyroute2 too."""
    if not kernel.has_modules():  # then nothing can be loaded, and the kernel may be asked outright
        tracker = kernel.BUILTIN if _has_settings() else kernel.ABSENT
        reader = kernel.BUILTIN if tracker == kernel.BUILTIN and (library.IMPORT_ERROR or _answers()) else kernel.ABSENT
    else:
        tracker, reader = kernel.module_state(TRACKER), kernel.module_state(READER)
        if tracker not in kernel.PRESENT and _has_settings():
            tracker = kernel.BUILTIN  # nothing under /sys or /lib tells, but its settings are there
    return Presence(tracker, reader, _why_not(tracker, reader))


def nothing_to_read(present: Presence, may_load: bool) -> Reason | None:
    """Why there is nothing to read; ``None`` when the table is to be read.

    :param may_load: whether the request that follows may make the kernel load nf_conntrack_netlink
    :raises NetstateError: where there are entries that cannot be read
    """
    if present.available:
        return None
    if not present.tracks or kernel.sysctl("net/netfilter/nf_conntrack_count") == 0:
        return present.reason
    if may_load and present.reader == kernel.LOADABLE:
        return None
    raise NetstateError("reading the conntrack table", None, present.reason)


def _has_settings() -> bool:
    return kernel.sysctl("net/netfilter/nf_conntrack_max") is not None


def _answers() -> bool:
    """Whether the subsystem is there, permitted or not."""
    try:
        with Channel.open() as channel:
            counts(channel)
    except NetstateError as error:
        return error.reason is None or error.reason.slug != NOT_BUILT.slug
    return True


def _why_not(tracker: str, reader: str) -> Reason | None:
    for state, name in ((tracker, TRACKER), (reader, READER)):
        if state == kernel.ABSENT:
            return Reason(NOT_BUILT.slug, f"{name} is neither built in nor installed for this kernel")
    if tracker == kernel.LOADABLE:
        return Reason(NOT_LOADED.slug, f"{TRACKER} is not loaded, so nothing is tracked")
    if reader == kernel.LOADABLE:
        return _UNLOADED_READER
    if not kernel.has_protocol(NETLINK_NETFILTER):
        return Reason(NOT_BUILT.slug, "the kernel has no netlink protocol for netfilter")
    return library.MISSING if library.IMPORT_ERROR else None


def counts(channel: Channel) -> tuple[int, int]:
    """Entries in the namespace, and the limit; a request that costs microseconds on a table of any size.

    :raises NetstateError: ``not_permitted`` without CAP_NET_ADMIN
    """
    meanings = {errno.EINVAL: Reason(NOT_BUILT.slug, f"the kernel answers as if {READER} were not there")}
    answers = channel.ask("count of the conntrack entries", messages.count(), meanings)
    if not answers:
        raise NetstateError("count of the conntrack entries", errno.ENODATA)
    return messages.global_counts(answers[0])
