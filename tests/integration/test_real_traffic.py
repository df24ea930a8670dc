# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries that real connections made, in zones that rules set."""

from __future__ import annotations

import typing as t

import conntrack_command
import pytest
from module_main import call
from veth_pair import CLIENT, SERVER, Pair

if t.TYPE_CHECKING:
    from network_namespace import Namespace


@pytest.fixture
def pair(ns: Namespace, make_namespace: t.Callable[[], Namespace], needs_nft: None) -> t.Iterator[Pair]:
    joined = Pair(make_namespace(), ns)
    yield joined
    joined.close()


def _entries(pair: Pair, **options: t.Any) -> list[dict[str, t.Any]]:
    return call("conntrack_info", {"netns": pair.server.name, **options})["entries"]


def _by_zone(pair: Pair) -> dict[tuple[int, str], set[str]]:
    """Zone and protocol to lines; neighbour discovery and the like are left out, which come when they like."""
    found: dict[tuple[int, str], set[str]] = {}
    for line in conntrack_command.lines(pair.server):
        if line.protocol != 58:
            found.setdefault((line.zone, str(line.protocol)), set()).add(line.rest)
    return found


def test_zones_of_real_connections(pair: Pair) -> None:
    for version in (4, 6):
        for port in (5001, 6001, 7001):
            pair.connect(port, version)
        for port in (5002, 6002):
            pair.datagram(port, version)
        pair.ping(4000 + version, version)
    before = _by_zone(pair)
    assert {key: len(lines) for key, lines in before.items()} == {
        **{(zone, protocol): 2 for zone in (5, 6) for protocol in ("6", "17")},
        (7, "6"): 2,
        (8, "1"): 1,
    }
    facts = call("conntrack_facts", {"netns": pair.server.name, "gather_subset": ["zones"]})["ansible_facts"]["conntrack"]
    rows = {row["zone"]: row for row in facts["zones"]}
    assert (rows[5]["protocols"], rows[5]["both"], rows[5]["assured"]) == ({"tcp": 2, "udp": 2}, 4, 2)
    assert (rows[7]["original"], rows[7]["both"], rows[7]["reply"]) == (2, 0, 0)

    for zone, matched in ((5, 4), (7, 2)):
        done = call("conntrack_flush", {"netns": pair.server.name, "zones": [str(zone)]})
        assert (done["matched"], done["deleted"], done["changed"]) == (matched, matched, True)
        before = {key: lines for key, lines in before.items() if key[0] != zone}
        assert _by_zone(pair) == before
    done = call("conntrack_flush", {"netns": pair.server.name, "zones": ["8"], "protocols": ["icmp"]})
    assert done["protocols"] == {"icmp": 1}


@pytest.mark.parametrize("version", [4, 6])
def test_an_entry_as_the_kernel_made_it(pair: Pair, version: int) -> None:
    pair.server.setting("acct", 1)
    pair.server.setting("timestamp", 1)
    client, server = pair.connect(5003, version)
    client.sendall(b"x" * 1000)
    assert server.recv(1000, 0x100)  # MSG_WAITALL
    (entry,) = _entries(pair, protocols=["tcp"])
    port = client.getsockname()[1]
    assert entry["original"] == {"source": CLIENT[version], "destination": SERVER[version], "source_port": port, "destination_port": 5003}
    assert entry["reply"] == {"source": SERVER[version], "destination": CLIENT[version], "source_port": 5003, "destination_port": port}
    assert (entry["zone"], entry["zone_carrier"], entry["tcp_state"]) == (5, "both", "ESTABLISHED")
    assert {"SEEN_REPLY", "ASSURED", "CONFIRMED"} <= set(entry["status"])
    assert entry["counters"]["original"]["packets"] >= 3
    assert entry["counters"]["original"]["bytes"] > 1000
    assert entry["counters"]["reply"]["packets"] >= 1
    assert entry["timestamps"]["start"].endswith("Z")
    assert entry["timestamps"]["stop"] is None


def test_traffic_brings_entries_back(pair: Pair) -> None:
    """A flush does not cut a connection; its next packet makes an entry anew, which is no failure."""
    client, server = pair.connect(5004)
    options = {"netns": pair.server.name, "zones": ["5"], "recount": True}
    assert (call("conntrack_flush", options)["deleted"], conntrack_command.count(pair.server)) == (1, 0)
    client.sendall(b"still here")
    assert server.recv(100) == b"still here"
    again = call("conntrack_flush", options)
    assert (again["matched"], again["deleted"], again["remaining"], again["changed"]) == (1, 1, 0, True)


def test_states_and_status(pair: Pair) -> None:
    client, server = pair.connect(5005)
    client.close()
    assert server.recv(1) == b""
    pair.connect(5006)
    pair.datagram(5007, answered=False)
    pair.datagram(5008)
    netns = {"netns": pair.server.name}
    assert call("conntrack_info", {**netns, "tcp_states": ["ESTABLISHED"]})["matched"] == 1
    assert call("conntrack_flush", {**netns, "status": ["!SEEN_REPLY"], "protocols": ["udp"]})["deleted"] == 1
    assert call("conntrack_flush", {**netns, "status": ["ASSURED"], "exclude": {"tcp_states": ["ESTABLISHED"]}})["deleted"] == 1
    left = sorted((line.protocol, line.number("dport")) for line in conntrack_command.lines(pair.server))
    assert left == [(6, 5006), (17, 5008)]


@pytest.mark.parametrize(("sort", "expected"), [("bytes", [5012, 5011, 5010]), ("packets", [5010, 5012, 5011])])
def test_the_busiest_first(pair: Pair, sort: str, expected: list[int]) -> None:
    """By bytes and packets of both directions."""
    pair.server.setting("acct", 1)
    sends = {5010: [b"x"] * 60, 5011: [b"y" * 8000], 5012: [b"z" * 1400] * 30}
    for port, pieces in sends.items():
        client, server = pair.connect(port)
        client.setsockopt(6, 1, 1)  # TCP_NODELAY: small packets
        for piece in pieces:
            client.sendall(piece)
            assert len(server.recv(len(piece), 0x100)) == len(piece)
    found = _entries(pair, sort=sort)
    assert [entry["original"]["destination_port"] for entry in found] == expected
    key = [sum(side[sort] for side in entry["counters"].values()) for entry in found]
    assert key == sorted(key, reverse=True)
    top = _entries(pair, sort=sort, limit=1)
    assert [entry["id"] for entry in top] == [found[0]["id"]]
