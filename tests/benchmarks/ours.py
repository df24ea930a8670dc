# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of ours: the modules' code as Ansible calls it, without Ansible's start and the interpreter's."""

from __future__ import annotations

import typing as t

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import facts, messages, reading, wire
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.flush import AUTO, ENTRIES, Flush, Order, flush
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_selection
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Channel


def flush_zones(zones: str, expected: int, method: str = AUTO) -> str:
    """Flushes, and returns the method that was chosen.

    :param zones: as in the option: a number or a range
    """
    return _checked(flush(Order(parse_selection({"zones": [zones]}), method)), expected)


def flush_as_on_old_kernels(zone: int, expected: int) -> None:
    """As where the kernel ignores the zone filter, so that a dump by zone returns the whole table."""
    order = Order(parse_selection({"zones": [str(zone)]}), ENTRIES)
    _checked(_WholeTableFlush(order).run(), expected)


def count_zones(expected: int) -> None:
    found = facts.gather(["zones"])["zones"]
    counted = sum(row["entries"] for row in found)
    if counted != expected:
        raise RuntimeError(f"{expected} entries were expected, {counted} counted")


def receive_only(zone: int | None = None) -> None:
    """A dump whose messages are split off and thrown away: the kernel's part, and the least of ours."""
    with Channel.open() as channel:
        channel.dump("dump of the conntrack table", messages.dump(zone=zone), lambda _message: None)


def flush_only(zone: int) -> None:
    """The kernel's flush of a zone, without the reading that counts and proves."""
    with Channel.open() as channel:
        channel.ask("flush of a conntrack zone", messages.flush_zone(zone))


class _WholeTableFlush(Flush):
    def _read_table(self, held: int) -> reading.Reading:
        found = reading.Reading()
        reading._read_once(found, self._selection, None, wire.AF_UNSPEC)
        return found


def _checked(result: dict[str, t.Any], expected: int) -> str:
    if result["deleted"] != expected or result["matched"] != expected:
        told = {name: result[name] for name in ("matched", "deleted", "already_gone")}
        raise RuntimeError(f"{expected} entries were expected: {told!r}")
    return result["method"]
