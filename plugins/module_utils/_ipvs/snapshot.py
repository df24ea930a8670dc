# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading the table so that it is whole.

A dump resumes by index: who deletes ten services meanwhile makes it miss ten others, and the kernel does not say so (seen on 6.1 to 7.3).
What comes in one datagram is consistent, what comes in several is read until two readings agree: on all services, and on the destinations of each.
"""

from __future__ import annotations

import typing as t

from .._netlink.channel import Interrupted
from .._netlink.errors import UNREADABLE, NetstateError, Reason
from . import messages, presence, wire
from .model import Activity, Destination, DestinationKey, Held, Key, Service, Table

TRIES = 5
# The shortest answer for a destination is longer than 150 bytes, and the kernel fills 3.5 kB at least before it starts another datagram.
ONE_DATAGRAM = 8

_Found = t.Dict[int, bytes]


class Snapshot(t.NamedTuple):
    """The table at one time.

    :ivar table: services with their destinations
    :ivar activity: connections of each destination
    :ivar raw: attributes of services and of destinations as the kernel gave them, where they were asked for
    """

    table: Table
    activity: Activity
    raw: t.Mapping[t.Any, _Found]


class _Services(t.NamedTuple):
    services: dict[Key, Service]
    found: dict[Key, _Found]


class Reader:
    """Reads the namespace that it was opened in; a context manager.

    :param raw: keep the attributes, for statistics
    """

    def __init__(self, raw: bool = False) -> None:
        self._channel = presence.open_channel()
        self._raw = raw
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
            if after.services == before.services:
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
            if again.services == read.services:
                return again
            read = again
        raise _unsteady("the services changed each time while they were read")

    def _services(self) -> _Services:
        read: _Services | None = None

        def visit(message: bytes) -> None:
            attributes = wire.nested(message)
            key = wire.service_key(attributes)
            read.services[key] = wire.service(attributes, key.family)
            read.found[key] = attributes

        for _try in range(TRIES):
            read = _Services({}, {})
            if self._dump("dump of the IPVS services", self._requests.services(), visit):
                return read
        raise _unsteady("the dump of the services was interrupted each time")

    def _with_destinations(self, services: _Services, wanted: t.Callable[[Key], bool] | None) -> Snapshot:
        table: Table = {}
        activity: Activity = {}
        raw: dict[t.Any, _Found] = {}
        for key, service in services.services.items():
            found = self._destinations(key, services.found[key]) if wanted is None or wanted(key) else {}
            table[key] = Held(service, {one: wire.destination(attributes) for one, attributes in found.items()})
            for one, attributes in found.items():
                activity[key, one] = wire.connections(attributes)
            if self._raw:
                raw[key] = services.found[key]
                raw.update(((key, one), attributes) for one, attributes in found.items())
        return Snapshot(table, activity, raw)

    def _destinations(self, key: Key, attributes: _Found) -> dict[DestinationKey, _Found]:
        request = self._requests.destinations(messages.identity(attributes))
        before: dict[DestinationKey, _Found] | None = None
        for _try in range(TRIES):
            found: dict[DestinationKey, _Found] = {}

            # pylint: disable-next=dangerous-default-value  # this round's, and no other's
            def visit(message: bytes, found: dict[DestinationKey, _Found] = found) -> None:
                one = wire.nested(message, wire.DEST)
                found[wire.destination_key(one, key.family)] = one

            if not self._dump(f"dump of the destinations of {key}", request, visit):
                continue
            if len(found) <= ONE_DATAGRAM or (before is not None and _same(before, found)):
                return found
            before = found
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


def _those(wanted: t.Callable[[Key], bool] | None, read: _Services) -> dict[Key, Service]:
    return {key: service for key, service in read.services.items() if wanted is None or wanted(key)}


def _same(one: t.Mapping[DestinationKey, _Found], other: t.Mapping[DestinationKey, _Found]) -> bool:
    return _decoded(one) == _decoded(other)


def _decoded(found: t.Mapping[DestinationKey, _Found]) -> dict[DestinationKey, Destination]:
    return {key: wire.destination(attributes) for key, attributes in found.items()}


def _unsteady(why: str) -> NetstateError:
    text = f"{TRIES} tries: {why}. {UNREADABLE.text}"
    return NetstateError("reading the IPVS table", None, Reason(UNREADABLE.slug, text))
