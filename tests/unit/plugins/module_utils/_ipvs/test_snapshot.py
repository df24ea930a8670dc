# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a reading counts, of a table that changes meanwhile; the dumps themselves are read on real kernels (tests/kernels/ipvs)."""

from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import messages, model, snapshot
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.model import AF_INET, Key, Service
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Dump, Interrupted
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError

SERVICE = Service("rr", 0, 0, 0, "", False)
OURS = frozenset([1, 2])


class Scripted(snapshot.Reader):
    """Dumps that are given as sets of fwmarks. Once they are used up, the last one comes again."""

    def __init__(self, *dumps):
        self.left = list(dumps)
        self.read_dumps = 0

    def _services(self):
        self.read_dumps += 1
        marks = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if callable(marks):
            marks = marks(self.read_dumps)
        return {Key(AF_INET, fwmark=mark): SERVICE for mark in marks}

    def _with_destinations(self, services, wanted):
        return {key.fwmark for key in services}


def ours(key):
    return key.fwmark in OURS


CASES = {
    "nobody writes": ([{1, 2}], 2, {1, 2}),
    "one was missed at first": ([{1}, {1, 2}], 4, {1, 2}),
    "one was missed afterwards": ([{1, 2}, {1}, {1, 2}], 5, {1, 2}),
    "others change between whole dumps": ([{1, 2}, {1, 2, 7}, {1, 2, 7}, {1, 2, 8}, {1, 2, 8}], 5, {1, 2, 7}),
    "ours change between whole dumps": ([{1, 2}, {1}, {1}, {2}, {2}, {2}], 6, {2}),
    # The same one is missed before and after: two dumps in a row would have it.
    "missed twice": ([{1, 2, 7}, {1, 8}, {1, 2, 9}, {1, 2, 9}, {1, 5}, {1, 2, 6}, {1, 2, 6}], 7, {1, 2, 9}),
}


@pytest.mark.parametrize("dumps, count, found", CASES.values(), ids=CASES)
def test_what_counts_as_read(dumps, count, found):
    reader = Scripted(*dumps)
    assert (reader.read(ours), reader.read_dumps) == (found, count)


def test_who_asks_for_all_gets_all_or_nothing():
    with pytest.raises(NetstateError) as caught:
        Scripted({1, 2}, *[one for mark in range(7, 30) for one in ({1, 2, mark}, {1, 2, mark})]).read()
    assert caught.value.reason.slug == "unreadable"


class Channel:
    """Dumps of destinations that are given as the weights by port that come in each datagram; ``None`` is a dump that was interrupted."""

    def __init__(self, *dumps):
        self.left = list(dumps)

    def collect(self, _asked, _request, _meanings, earlier):
        dump = self.left.pop(0)
        if dump is None:
            raise Interrupted
        datagrams = [b"".join(row(port, weight) for port, weight in weights.items()) for weights in dump] + [END]
        return earlier if earlier and earlier.datagrams == datagrams else Dump(1, datagrams, len(END))

    def close(self):
        """Nothing is open."""


def row(port, weight):
    key = model.DestinationKey(AF_INET, bytes([10, 1, 0, 1]), port)
    return REQUESTS.new_destination(SERVICE_KEY, key, model.destination_of(model.DIRECT, weight))


REQUESTS, SERVICE_KEY, END = messages.Requests(30), Key(AF_INET, fwmark=1), bytes(20)
DESTINATIONS = {
    "none": ([[]], {}),
    "one datagram is one walk": ([[{1: 5}]], {1: 5}),
    "several are read twice": ([[{1: 5}, {2: 5}], [{1: 5}, {2: 5}]], {1: 5, 2: 5}),
    "in another order": ([[{1: 5}, {2: 5}], [{2: 5}, {1: 5}]], {1: 5, 2: 5}),
    "one was missed": ([[{1: 5}, {2: 5}], [{1: 5}, {2: 5, 3: 5}], [{1: 5}, {2: 5, 3: 5}]], {1: 5, 2: 5, 3: 5}),
    "a weight changed": ([[{1: 5}, {2: 5}], [{1: 5}, {2: 6}], [{1: 5}, {2: 6}]], {1: 5, 2: 6}),
    "changed and back": ([[{1: 5}, {2: 5}], [{1: 5}, {2: 6}], [{1: 5}, {2: 5}], [{1: 5}, {2: 5}]], {1: 5, 2: 5}),
    "fewer since": ([[{1: 5}, {2: 5}], [{1: 5}]], {1: 5}),
    "interrupted": ([None, [{1: 5}]], {1: 5}),
    "interrupted between": ([[{1: 5}, {2: 5}], None, [{1: 5}, {2: 5}]], {1: 5, 2: 5}),
}


@pytest.mark.parametrize("dumps, found", DESTINATIONS.values(), ids=DESTINATIONS)
def test_what_counts_as_read_of_destinations(monkeypatch, dumps, found):
    reader, channel = Scripted(), Channel(*dumps)
    reader._channel, reader._requests, reader._keep, reader._kept = channel, REQUESTS, True, {}
    monkeypatch.setattr(snapshot.presence, "open_channel", lambda: channel)
    activity = {}
    read = reader._destinations(SERVICE_KEY, activity)
    assert {key.port: one.weight for key, one in read.items()} == found
    assert {key.port for _service, key in activity} == set(found)
    assert {key.port: message for (_service, key), message in reader._kept.items() if key.port in found} == {
        port: row(port, weight) for port, weight in found.items()
    }
    assert channel.left == []


def test_destinations_that_change_each_time():
    reader = Scripted()
    reader._channel, reader._requests, reader._keep = Channel(*([{1: weight}, {2: 1}] for weight in range(9))), REQUESTS, False
    with pytest.raises(NetstateError, match="the destinations of fwmark 1 ipv4 changed each time"):
        reader._destinations(SERVICE_KEY, {})


@pytest.mark.parametrize("wanted", [None, ours])
def test_no_two_dumps_agree(wanted):
    with pytest.raises(NetstateError) as caught:
        Scripted(lambda count: {1, 2, 100 + count}).read(wanted)
    assert caught.value.reason.slug == "unreadable"
