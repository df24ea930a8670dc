# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import info, presence, table
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.presence import Presence
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_query
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import channel, kernel
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError, OptionError, Reason
from netlink_bytes import attribute, entry, nest
from scripted_kernel import EXACT, HALF_FIXED, IGNORING, ZONELESS, ScriptedKernel


def counted(dumped: bytes, packets: int, octets: int) -> bytes:
    counters = [nest(side, attribute(1, packets.to_bytes(8, "big")), attribute(2, octets.to_bytes(8, "big"))) for side in (9, 10)]
    return dumped + b"".join(counters)


# Half of the packets and bytes in each direction.
ENTRIES = [
    counted(entry(number=1, timeout=50), 1, 9000),
    counted(entry(number=2, zone=5, timeout=10, protocol=17), 5, 500),
    counted(entry(number=3, zone=5, carrier="reply", timeout=None, status=0x400E), 3, 7000),
    counted(entry(number=4, zone=7, timeout=400, mark=9), 40, 40),
    entry(number=5, zone=7, timeout=10, source=bytes(15) + b"\x01", destination=bytes(15) + b"\x02"),
]


def scripted(monkeypatch: pytest.MonkeyPatch, behaviour: str = EXACT) -> ScriptedKernel:
    found = ScriptedKernel(behaviour, ENTRIES)
    monkeypatch.setattr(channel, "socket", found.socket_module())
    monkeypatch.setattr(presence, "look", lambda: Presence(kernel.BUILTIN, kernel.BUILTIN))
    monkeypatch.setattr(table, "buckets", lambda: 16)
    return found


def ids(result: dict[str, t.Any]) -> list[int]:
    return [found["id"] for found in result["entries"]]


@pytest.mark.parametrize("behaviour", [EXACT, HALF_FIXED, IGNORING])
@pytest.mark.parametrize(
    "options, numbers",
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"zones": ["5"]}, [2, 3]),
        ({"zones": ["0"]}, [1]),
        ({"zones": ["5", "7"]}, [2, 3, 4, 5]),
        ({"zones": ["9"]}, []),
        ({"family": "ipv6"}, [5]),
        ({"protocols": ["udp"]}, [2]),
        ({"mark": "9"}, [4]),
        ({"source": ["10.0.0.1"], "zones": ["7"]}, [4]),
        ({"exclude": {"zones": ["7"]}}, [1, 2, 3]),
        ({"zones": ["0-65535"]}, [1, 2, 3, 4, 5]),
    ],
)
def test_selected_entries(monkeypatch: pytest.MonkeyPatch, behaviour: str, options: dict, numbers: list[int]) -> None:
    host = scripted(monkeypatch, behaviour).host
    result = info.inspect(info.Query(parse_query(options), 1000))
    assert ids(result) == numbers
    assert (result["matched"], result["netns"], result["unavailable_reason"]) == (len(numbers), None, None)
    assert not [request for request in host.requests if request.changes()]


@pytest.mark.parametrize(
    "sort, limit, numbers",
    [
        ("none", 1000, [1, 2, 3, 4, 5]),
        ("none", 2, [1, 2]),
        ("none", 0, []),
        ("timeout", 1000, [2, 5, 1, 4, 3]),  # those that end soonest, the offloaded one last; equal ones in the table's order
        ("timeout", 2, [2, 5]),
        ("timeout", 0, []),
        ("packets", 1000, [4, 2, 3, 1, 5]),
        ("packets", 1, [4]),
        ("bytes", 1000, [1, 3, 2, 4, 5]),
        ("bytes", 3, [1, 3, 2]),
    ],
)
def test_limit_and_order(monkeypatch: pytest.MonkeyPatch, sort: str, limit: int, numbers: list[int]) -> None:
    scripted(monkeypatch)
    result = info.inspect(info.Query(parse_query({}), limit, sort))
    assert ids(result) == numbers
    assert result["matched"] == 5  # all are counted


def test_one_zone_is_all_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    host = scripted(monkeypatch).host
    info.inspect(info.Query(parse_query({"zones": ["5"]}), 10))
    assert [request.zone for request in host.requests if request.flags & 0x300] == [5]


@pytest.mark.parametrize("options, refused", [({"zones": ["0"]}, True), ({}, False)])
def test_a_kernel_without_zones(monkeypatch: pytest.MonkeyPatch, options: dict, refused: bool) -> None:
    scripted(monkeypatch, ZONELESS)
    query = info.Query(parse_query(options), 10)
    if not refused:
        assert info.inspect(query)["matched"] == 5
        return
    with pytest.raises(NetstateError) as caught:
        info.inspect(query)
    assert caught.value.reason is not None
    assert caught.value.reason.slug == "no_zones"


def test_not_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch).refusal = errno.EPERM
    with pytest.raises(NetstateError) as caught:
        info.inspect(info.Query(parse_query({}), 10))
    assert caught.value.as_result()["reason"] == "not_permitted"


def test_a_spoiled_dump_is_read_again_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch).faults.extend([None, OSError(errno.ENOBUFS, "")])
    result = info.inspect(info.Query(parse_query({}), 1000))
    assert (ids(result), result["matched"]) == ([1, 2, 3, 4, 5], 5)


@pytest.mark.parametrize(
    "tracker, count, fails", [(kernel.LOADABLE, None, False), (kernel.LOADED, 0, False), (kernel.LOADED, 3, True)]
)
def test_without_a_reader(monkeypatch: pytest.MonkeyPatch, tracker: str, count: int | None, fails: bool) -> None:
    host = scripted(monkeypatch)
    monkeypatch.setattr(presence, "look", lambda: Presence(tracker, kernel.LOADABLE, Reason("not_loaded", "why")))
    monkeypatch.setattr(kernel, "sysctl", lambda _name: count)
    query = info.Query(parse_query({}), 10)
    if fails:
        with pytest.raises(NetstateError, match="Why"):
            info.inspect(query)
    else:
        assert info.inspect(query) == {"entries": [], "matched": 0, "unavailable_reason": "why", "netns": None}
    assert host.opened == 0


def test_a_limit_below_zero() -> None:
    with pytest.raises(OptionError, match="^limit: -1: "):
        info.Query(parse_query({}), -1)


def test_malformed_entries_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    host = scripted(monkeypatch).host
    broken = host.entries[0]
    host.entries[0] = broken._replace(body=broken.body + b"\x03\0\x01\0")
    with pytest.raises(NetstateError) as caught:
        info.inspect(info.Query(parse_query({}), 10))
    assert caught.value.as_result()["reason"] == "unreadable"
