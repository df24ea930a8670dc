# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Walking the whole conntrack table, or what one filter leaves of it.

A dump resumes where it stopped by bucket. Growing the hash table meanwhile makes it miss entries and repeat others without a word
(ctnetlink never sets NLM_F_DUMP_INTR), so a walk counts only if the table had the same buckets before and after.
"""

from __future__ import annotations

import typing as t

from .._netlink import kernel
from .._netlink.channel import DUMP_TRIES, read_whole
from .._netlink.errors import UNREADABLE, NetstateError, Reason
from . import wire

ASKED = "dump of the conntrack table"


def walk(
    message: bytes,
    collector: t.Callable[[], t.Callable[[bytes], t.Any]],
    meanings: t.Mapping[int, Reason] | None = None,
    asked: str = ASKED,
) -> tuple[t.Any, int]:
    """As :func:`read_whole`, again as long as the table was resized in between.

    :raises NetstateError: as :func:`read_whole`; ``unreadable`` also for a message that is no entry
    """
    for _try in range(DUMP_TRIES):
        before = buckets()
        try:
            result = read_whole(asked, message, collector, meanings)
        except wire.Malformed as error:
            raise NetstateError(asked, None, UNREADABLE.after(str(error))) from None
        if buckets() == before:
            return result
    raise NetstateError(asked, None, UNREADABLE.after("the table was resized each time"))


def buckets() -> int:
    """Of the hash table, which all namespaces share; 0 where the kernel does not tell."""
    value = kernel.sysctl("net/netfilter/nf_conntrack_buckets")
    return value if isinstance(value, int) else 0
