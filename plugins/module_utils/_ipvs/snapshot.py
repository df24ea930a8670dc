# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading the table so that it is whole.

A dump resumes by index: who deletes ten services meanwhile makes it miss ten others, and the kernel does not say so (seen on 6.1 to 7.3).
What comes in one datagram misses nothing that stays, what comes in several is read until two readings agree: on all services, and on the destinations of each.
"""

from __future__ import annotations

import typing as t

from .._netlink import attributes
from .._netlink.channel import Dump, Interrupted
from .._netlink.errors import UNREADABLE, NetstateError, Reason
from . import messages, presence, wire
from .model import Activity, Destination, DestinationKey, Held, Key, Service, Table

TRIES = 5

_Services = t.Dict[Key, Service]
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
        self._kept: dict[t.Any, bytes] = {}
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
        before = self._services()
        is_settled = False
        for _try in range(TRIES):
            snapshot = self._with_destinations(before, wanted)
            after = self._services()
            if after == before:
                return snapshot
            # Others may come and go faster than all of this is read. Between two dumps that are whole, it is enough that those wanted stayed.
            after = self._settled(after)
            if is_settled and _those(wanted, after) == _those(wanted, before):
                return snapshot
            before, is_settled = after, True
        raise _unsteady("the services changed each time while they were read")

    def _settled(self, read: _Services) -> _Services:
        """The services as two dumps in a row have them, the first of which may be one that was read just now."""
        for _try in range(TRIES):
            again = self._services()
            if again == read:
                return again
            read = again
        raise _unsteady("the services changed each time while they were read")

    def _services(self) -> _Services:
        for _try in range(TRIES):
            dump = self._collect("dump of the IPVS services", self._requests.services())
            if dump is None:
                continue
            read: _Services = {}
            for datagram in dump.entries():
                found = list(wire.services(datagram))
                read.update(found)
                if self._keep:
                    self._kept.update(zip((key for key, _service in found), attributes.split(datagram)))
            return read
        raise _unsteady("the dump of the services was interrupted each time")

    def _with_destinations(self, services: _Services, wanted: t.Callable[[Key], bool] | None) -> Snapshot:
        table: Table = {}
        activity: Activity = {}
        for key, service in services.items():
            read = wanted is None or wanted(key)
            table[key] = Held(service, self._destinations(key, activity) if read else {})
        return Snapshot(table, activity, self._kept)

    def _destinations(self, key: Key, activity: Activity) -> _Destinations:
        asked, request = f"dump of the destinations of {key}", self._requests.destinations(key)
        before: Dump | None = None
        for _try in range(TRIES):
            dump = self._collect(asked, request, before)
            if dump is None:
                continue
            is_one_walk = len(dump.entries()) <= 1
            if before is None and not is_one_walk:
                before = dump
                continue
            read, busy = self._read(key, dump)
            # The same bytes, or others that mean the same: connections and statistics come and go.
            if is_one_walk or dump is before or self._read(key, t.cast(Dump, before))[0] == read:
                activity.update(busy)
                return read
            before = dump
        raise _unsteady(f"the destinations of {key} changed each time while they were read")

    def _read(self, key: Key, dump: Dump) -> tuple[_Destinations, Activity]:
        """What a dump of the destinations of a service says."""
        read: _Destinations = {}
        busy: Activity = {}
        for datagram in dump.entries():
            found = list(wire.destinations(datagram, key.family))
            for one, destination, connections in found:
                read[one] = destination
                busy[key, one] = connections
            if self._keep:
                self._kept.update(zip([(key, one) for one, _destination, _connections in found], attributes.split(datagram)))
        return read, busy

    def _collect(self, asked: str, request: bytes, earlier: Dump | None = None) -> Dump | None:
        """A whole dump, or nothing; after one that was not whole the socket is a new one."""
        try:
            return self._channel.collect(asked, request, presence.MEANINGS, earlier)
        except Interrupted:
            self._channel.close()
            self._channel = presence.open_channel()
            return None


def read(wanted: t.Callable[[Key], bool] | None = None) -> Snapshot:
    """See :meth:`Reader.read`."""
    with Reader() as reader:
        return reader.read(wanted)


def _those(wanted: t.Callable[[Key], bool] | None, read: _Services) -> _Services:
    return {key: service for key, service in read.items() if wanted is None or wanted(key)}


def _unsteady(why: str) -> NetstateError:
    text = f"{TRIES} tries: {why}. {UNREADABLE.text}"
    return NetstateError("reading the IPVS table", None, Reason(UNREADABLE.slug, text))
