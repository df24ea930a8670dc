# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading the table so that it is whole.

A dump resumes by index: who deletes ten services meanwhile makes it miss ten others, and the kernel does not say so (seen on 6.1 to 7.3).
What comes in one datagram is consistent, what comes in several is read until two readings agree.
"""

from __future__ import annotations

import typing as t

from .._netlink.channel import Interrupted
from .._netlink.errors import UNREADABLE, NetstateError, Reason
from . import messages, presence, wire
from .model import Activity, Destination, DestinationKey, Held, Key, Service, Table

TRIES = 5

_Destinations = t.Dict[DestinationKey, Destination]


class Snapshot(t.NamedTuple):
    """The table at one time.

    :ivar table: services with their destinations
    :ivar activity: connections of each destination
    :ivar messages: the kernel's, of services and of destinations, where they were asked for
    """

    table: Table
    activity: Activity
    messages: t.Mapping[t.Any, bytes]


class Reader:
    """Reads the namespace that it was opened in; a context manager.

    :param keep: keep the kernel's messages, for statistics
    """

    def __init__(self, keep: bool = False) -> None:
        self._channel = presence.open_channel()
        self._keep = keep
        try:
            self._requests = messages.Requests(presence.attach(self._channel).id)
        except BaseException:
            self._channel.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._channel.close()

    def read(self, wanted: t.Callable[[Key], bool] | None = None) -> Snapshot:
        """All services, and the destinations of those that are wanted (of all, without ``wanted``).

        :raises NetstateError: ``unreadable`` when the table changed all the time
        """
        kept: dict[t.Any, bytes] = {}
        before = self._services(kept)
        for _try in range(TRIES):
            table: Table = {}
            activity: Activity = {}
            for key, service in before.items():
                read = wanted is None or wanted(key)
                table[key] = Held(service, self._destinations(key, activity, kept) if read else {})
            after = self._services(kept)
            if after == before:
                return Snapshot(table, activity, kept)
            before = after
        raise _unsteady("the services changed each time while they were read")

    def _services(self, kept: dict[t.Any, bytes]) -> dict[Key, Service]:
        for _try in range(TRIES):
            read: dict[Key, Service] = {}

            # pylint: disable-next=dangerous-default-value  # this round's, and no other's
            def visit(message: bytes, read: dict[Key, Service] = read) -> None:
                key, service = wire.service(message)
                read[key] = service
                if self._keep:
                    kept[key] = message

            if self._dump("dump of the IPVS services", self._requests.services(), visit):
                return read
        raise _unsteady("the dump of the services was interrupted each time")

    def _destinations(self, key: Key, activity: Activity, kept: dict[t.Any, bytes]) -> _Destinations:
        request = self._requests.destinations(key)
        before: _Destinations | None = None
        for _try in range(TRIES):
            read: _Destinations = {}
            busy: Activity = {}

            # pylint: disable-next=dangerous-default-value  # this round's, and no other's
            def visit(message: bytes, read: _Destinations = read, busy: Activity = busy) -> None:
                one, destination, busy[key, one] = wire.destination(message, key.family)
                read[one] = destination
                if self._keep:
                    kept[key, one] = message

            if not self._dump(f"dump of the destinations of {key}", request, visit):
                continue
            if self._channel.datagrams <= 1 or read == before:
                activity.update(busy)
                return read
            before = read
        raise _unsteady(f"the destinations of {key} changed each time while they were read")

    def _dump(self, asked: str, request: bytes, visit: t.Callable[[bytes], None]) -> bool:
        """Whether the dump was whole; after one that was not, the socket is a new one."""
        try:
            self._channel.dump(asked, request, visit, presence.MEANINGS, ahead=False)
        except Interrupted:
            self._channel.close()
            self._channel = presence.open_channel()
            return False
        return True


def read(wanted: t.Callable[[Key], bool] | None = None) -> Snapshot:
    """See :meth:`Reader.read`."""
    with Reader() as reader:
        return reader.read(wanted)


def _unsteady(why: str) -> NetstateError:
    text = f"{TRIES} tries: {why}. {UNREADABLE.text}"
    return NetstateError("reading the IPVS table", None, Reason(UNREADABLE.slug, text))
