# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import reading, table
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_selection
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.sieve import Kind
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import channel
from netlink_bytes import entry
from scripted_kernel import EXACT, HALF_FIXED, IGNORING, ScriptedKernel


def kind(zone: int, filtered: bool = True) -> Kind:
    return Kind(filtered, 2, zone, "both", 6, 0xE, 3, None, None)


@pytest.mark.parametrize(
    "zone, counts, flags, verdict",
    [
        (5, {}, 0x2, "unknown"),
        (5, {}, 0x22, "exact"),  # since 7.3
        (0, {}, 0x22, "unknown"),  # zone 0 is proven by trial only
        (5, {kind(5): 1}, 0x2, "exact"),
        (5, {kind(5): 1}, 0x22, "exact"),
        (5, {kind(5, filtered=False): 1}, 0x2, "ignored"),
        (5, {kind(5, filtered=False): 1}, 0x22, "ignored"),
        (0, {kind(0): 1}, 0x22, "unknown"),
        (0, {kind(0): 1, kind(3): 1}, 0x22, "zone_zero_unsafe"),
        (5, {kind(3): 1}, 0x22, "unknown"),
    ],
)
def test_judge(zone: int, counts: dict[Kind, int], flags: int, verdict: str) -> None:
    found, evidence = reading.judge(zone, counts, flags)
    assert found == verdict
    assert evidence.startswith(f"a dump by zone {zone} alone ")


@pytest.mark.parametrize(
    "zones, entries, buckets, cheaper",
    [
        # a walk passes 0.06 us a bucket and 0.25 us an entry; returning an entry costs 3.75 us more
        (0, 500000, 262144, False),
        (1, 500000, 262144, False),
        (2, 500000, 262144, False),
        (13, 500000, 262144, False),
        (15, 500000, 262144, True),
        (500, 500000, 262144, True),
        (2, 0, 262144, True),
        (2, 100, 262144, True),
        (15, 1000, 0, False),
        (17, 1000, 0, True),
    ],
)
def test_one_walk_is_cheaper(zones: int, entries: int, buckets: int, cheaper: bool) -> None:
    assert reading.one_walk_is_cheaper(zones, entries, buckets) is cheaper


ENTRIES = [
    entry(number=1),
    entry(zone=5, number=2),
    entry(zone=5, carrier="original", protocol=17, number=3),
    entry(zone=7, number=4),
    entry(zone=7, source=bytes(15) + b"\x01", destination=bytes(15) + b"\x02", number=5),
]


@pytest.mark.parametrize(
    "behaviour, zones, buckets, prove, dumps, found, seen, proofs",
    [
        # Zone by zone where few are named.
        (EXACT, ["5"], 0, False, [5], {5: 2}, {5: {6: 1, 17: 1}}, {5: "exact"}),
        (EXACT, ["5", "7"], 0, False, [5, 7], {5: 2, 7: 2}, {5: {6: 1, 17: 1}, 7: {6: 2}}, {5: "exact", 7: "exact"}),
        (EXACT, ["0", "9"], 0, False, [0, 9], {0: 1}, {0: {6: 1}}, {0: "unknown", 9: "unknown"}),
        # All in one walk where that is cheaper; it proves nothing.
        (EXACT, ["5", "7"], 262144, False, [None], {5: 2, 7: 2}, {0: {6: 1}, 5: {6: 1, 17: 1}, 7: {6: 2}}, {}),
        # Unless a proof is wanted: then those that hold entries, one by one.
        (EXACT, ["5", "7", "9"], 262144, True, [None, 5, 7], {5: 2, 7: 2}, {5: {6: 1, 17: 1}, 7: {6: 2}}, {5: "exact", 7: "exact"}),
        (EXACT, ["8", "9"], 262144, True, [None], {}, {}, {}),
        # The answer to the first zone is the whole table: it serves for the others.
        (IGNORING, ["5", "7"], 0, False, [5], {5: 2, 7: 2}, {0: {6: 1}, 5: {6: 1, 17: 1}, 7: {6: 2}}, {5: "ignored"}),
        (IGNORING, ["9", "7"], 0, False, [7], {7: 2}, {0: {6: 1}, 5: {6: 1, 17: 1}, 7: {6: 2}}, {7: "ignored"}),
        # What comes with zone 0 from a half-fixed kernel is not counted for other zones.
        (HALF_FIXED, ["0", "7"], 0, False, [0, 7], {0: 1, 7: 2}, {0: {6: 1}, 7: {6: 2}}, {0: "zone_zero_unsafe", 7: "exact"}),
    ],
)
def test_read(
    monkeypatch: pytest.MonkeyPatch,
    behaviour: str,
    zones: list[str],
    buckets: int,
    prove: bool,
    dumps: list,
    found: dict,
    seen: dict,
    proofs: dict,
) -> None:
    kernel = ScriptedKernel(behaviour, ENTRIES)
    monkeypatch.setattr(channel, "socket", kernel.socket_module())
    monkeypatch.setattr(table, "buckets", lambda: buckets)
    result = reading.read(parse_selection({"zones": zones}), len(ENTRIES), buckets, prove)
    assert [request.zone for request in kernel.host.requests] == dumps
    assert {request.family for request in kernel.host.requests} == {0}  # a family would flag the entries as well
    assert {zone: len(entries) for zone, entries in result.found.items()} == found
    assert {zone: dict(counts) for zone, counts in result.seen.items()} == seen
    assert {zone: verdict for zone, (verdict, _evidence) in result.proofs.items()} == proofs
    assert result.matched() == sum(found.values())


def test_an_entry_that_is_returned_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ScriptedKernel(EXACT, [ENTRIES[1], ENTRIES[2], ENTRIES[1]])
    monkeypatch.setattr(channel, "socket", kernel.socket_module())
    monkeypatch.setattr(table, "buckets", lambda: 0)
    assert reading.read(parse_selection({"zones": ["5"]}), 2, 0).matched() == 2


@pytest.mark.parametrize("options, family", [({"all": True}, 0), ({"family": "ipv6"}, 10), ({"family": "ipv4", "protocols": ["tcp"]}, 2)])
def test_a_walk_of_everything_is_narrowed_by_the_family(monkeypatch: pytest.MonkeyPatch, options: dict, family: int) -> None:
    kernel = ScriptedKernel(EXACT, ENTRIES)
    monkeypatch.setattr(channel, "socket", kernel.socket_module())
    monkeypatch.setattr(table, "buckets", lambda: 0)
    reading.read(parse_selection(options), len(ENTRIES), 0)
    assert [(request.family, request.zone) for request in kernel.host.requests] == [(family, None)]
