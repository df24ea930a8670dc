# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine's kernel, in throw-away namespaces, with every pyroute2."""

from __future__ import annotations

import json
import os
import typing as t

import conntrack_table
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import facts, flush, info, presence
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_query, parse_selection
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import namespace
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Channel
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError


def obstacle() -> str:
    """Why these tests cannot run here; empty if they can."""
    if os.geteuid() != 0:
        return "making a network namespace needs root"
    try:
        found = namespace.run_in_new(presence.look)
    except NetstateError as error:
        return str(error)
    return "" if found.reason is None else found.reason.text


OBSTACLE = obstacle()
pytestmark = pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE or "none")

# Zone 0: 2, zone 5: 4 (one of each single direction), zone 7: 1.
REQUESTS: list[t.Callable[[], bytes]] = [
    lambda: conntrack_table.entry("10.0.0.1", ports=(40001, 443), status=conntrack_table.ASSURED, tcp_state=3),
    lambda: conntrack_table.entry("2001:db8::1", protocol="udp", ports=(5353, 53)),
    lambda: conntrack_table.entry("10.0.0.1", ports=(40001, 443), zone=5, mark=0x1234, tcp_state=1),
    lambda: conntrack_table.entry("10.0.0.2", original_zone=5, tcp_state=1),
    lambda: conntrack_table.entry("10.0.0.3", reply_zone=5, tcp_state=1),
    lambda: conntrack_table.entry("10.0.0.4", protocol="sctp", ports=(36412, 36412), zone=5, sctp=(4, 0x11223344, 0x55667788)),
    lambda: conntrack_table.entry("10.0.0.5", protocol="icmp", ports=(777, 0), zone=7, helper=""),
]


def inside(job: t.Callable[[], t.Any]) -> t.Any:
    """Runs the job in a new namespace that holds the entries above."""

    def body() -> t.Any:
        conntrack_table.insert([build() for build in REQUESTS])
        return job()

    return namespace.run_in_new(body)


def zones_left() -> dict[int, int]:
    return {row["zone"]: row["entries"] for row in facts.gather(["zones"])["zones"]}


def test_entries() -> None:
    result = inside(lambda: info.inspect(info.Query(parse_query({}), 100)))
    assert result["matched"] == 7
    found = {
        (entry["protocol"], entry["original"]["source"], entry["zone"], entry["zone_carrier"], entry["mark"]) for entry in result["entries"]
    }
    assert found == {
        ("tcp", "10.0.0.1", 0, "both", 0),
        ("udp", "2001:db8::1", 0, "both", 0),
        ("tcp", "10.0.0.1", 5, "both", 0x1234),
        ("tcp", "10.0.0.2", 5, "original", 0),
        ("tcp", "10.0.0.3", 5, "reply", 0),
        ("sctp", "10.0.0.4", 5, "both", 0),
        ("icmp", "10.0.0.5", 7, "both", 0),
    }
    by_protocol = {entry["protocol"]: entry for entry in result["entries"]}
    assert by_protocol["sctp"]["sctp_tags"] == {"original": 0x11223344, "reply": 0x55667788}
    assert by_protocol["icmp"]["original"] == {"source": "10.0.0.5", "destination": "192.0.2.1", "icmp_type": 8, "icmp_code": 0, "icmp_id": 777}


@pytest.mark.parametrize(
    "options, method, deleted, left",
    [
        ({"zones": ["5"]}, "entries", 4, {0: 2, 7: 1}),
        ({"zones": ["5"]}, "auto", 4, {0: 2, 7: 1}),
        ({"zones": ["0"]}, "entries", 2, {5: 4, 7: 1}),
        ({"zones": ["5-7"]}, "entries", 5, {0: 2}),
        ({"zones": ["5"], "protocols": ["tcp"]}, "entries", 3, {0: 2, 5: 1, 7: 1}),
        ({"zones": ["9"]}, "auto", 0, {0: 2, 5: 4, 7: 1}),
        ({"family": "ipv6"}, "auto", 1, {0: 1, 5: 4, 7: 1}),
        ({"mark": "0x1234"}, "auto", 1, {0: 2, 5: 3, 7: 1}),
        ({"all": True}, "kernel", 7, {}),
        ({"all": True, "exclude": {"zones": ["5"]}}, "auto", 3, {5: 4}),
    ],
)
def test_flush(options: dict[str, t.Any], method: str, deleted: int, left: dict[int, int]) -> None:
    def job() -> tuple[t.Any, ...]:
        order = flush.Order(parse_selection(options), method, check=True)
        foreseen = flush.flush(order)
        untouched = zones_left()
        done = flush.flush(flush.Order(parse_selection(options), method, recount=True))
        return foreseen, untouched, done, zones_left(), flush.flush(flush.Order(parse_selection(options), method))

    foreseen, untouched, done, after, again = inside(job)
    assert (foreseen["matched"], foreseen["deleted"], foreseen["changed"]) == (deleted, 0, deleted > 0)
    assert untouched == {0: 2, 5: 4, 7: 1}
    assert (done["matched"], done["deleted"], done["remaining"], done["changed"]) == (deleted, deleted, 0, deleted > 0)
    assert after == left
    assert (again["changed"], again["matched"]) == (False, 0)


@pytest.mark.parametrize("zone, deleted, left", [("5", 4, {0: 2, 7: 1}), ("0", 2, {5: 4, 7: 1})])
def test_flush_by_the_kernel_or_a_refusal_to(zone: str, deleted: int, left: dict[int, int]) -> None:
    # A kernel whose zone filter is not exact must be refused, with nothing deleted; any other deletes the zone.
    def job() -> tuple[t.Any, ...]:
        try:
            return flush.flush(flush.Order(parse_selection({"zones": [zone]}), "kernel")), zones_left()
        except NetstateError as error:
            return error.as_result(), zones_left()

    result, after = inside(job)
    if result.get("reason") == "unproven":
        assert (result["deleted"], after) == (0, {0: 2, 5: 4, 7: 1})
    else:
        assert (result["method"], result["deleted"], result["proof"]["filter"], after) == ("kernel", deleted, "exact", left)


def test_facts() -> None:
    found = inside(lambda: facts.gather(facts.SUBSETS))
    assert (found["available"], found["reason"], found["netns"]) == (True, None, None)
    assert found["kernel"] == os.uname().release
    assert found["table"]["count"] == 7
    assert found["capabilities"]["source"] == "throwaway_namespace"
    assert found["capabilities"]["zone_filter"] in ("exact", "zone_zero_unsafe", "ignored")
    assert found["statistics"]["insert_failed"] == 0
    assert found["settings"]["nf_conntrack_count"] == 7
    zones = [{key: value for key, value in row.items() if key != "assured"} for row in found["zones"]]
    assert zones == [
        {"zone": 5, "entries": 4, "both": 2, "original": 1, "reply": 1, "protocols": {"tcp": 3, "sctp": 1}},
        {"zone": 0, "entries": 2, "both": 2, "original": 0, "reply": 0, "protocols": {"tcp": 1, "udp": 1}},
        {"zone": 7, "entries": 1, "both": 1, "original": 0, "reply": 0, "protocols": {"icmp": 1}},
    ]
    assert found["protocols"]["ipv6"] == {"udp": {"entries": 1}}
    assert found["protocols"]["ipv4"]["tcp"] == {"entries": 4, "states": {"ESTABLISHED": 1, "SYN_SENT": 3}}
    json.dumps(found)


def test_a_large_dump_is_whole() -> None:
    def job() -> dict[int, int]:
        conntrack_table.insert(conntrack_table.many(5000, lambda number: 100 + number % 5))
        return zones_left()

    assert namespace.run_in_new(job) == dict.fromkeys(range(100, 105), 1000)


def test_what_is_there_already_is_not_made_again() -> None:
    def job() -> t.Any:
        with Channel.open() as channel:
            return channel.batch("making entries", [REQUESTS[0](), REQUESTS[1](), REQUESTS[0]()])

    assert namespace.run_in_new(job) == {2: 17}  # EEXIST


def test_counts() -> None:
    def job() -> tuple[int, int]:
        with Channel.open() as channel:
            return presence.counts(channel)

    count, limit = inside(job)
    assert count == 7
    assert limit > 0
