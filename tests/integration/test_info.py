# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of entries, against conntrack(8)."""

from __future__ import annotations

import re
import typing as t

import conntrack_command
import conntrack_table
import mixed_table
import pytest
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

# Names of tuple parts there and here.
PARTS = {
    "src": "source",
    "dst": "destination",
    "sport": "source_port",
    "dport": "destination_port",
    "type": "icmp_type",
    "code": "icmp_code",
    "id": "icmp_id",
    "srckey": "source_key",
    "dstkey": "destination_key",
}
CARRIERS = {"zone": "both", "zone-orig": "original", "zone-reply": "reply"}


def _value(key: str, text: str) -> t.Any:
    return text if key in ("src", "dst") else int(text, 0)


def _read(line: conntrack_command.Line) -> dict[str, t.Any]:
    """An entry by the module's keys, as far as conntrack(8) shows them."""
    pairs = re.findall(r"(\S+?)=(\S+)", line.rest)
    second = [place for place, (key, _text) in enumerate(pairs) if key == "src"][1]
    end = next(place for place, (key, _text) in enumerate(pairs) if key == "mark")
    sides = [{PARTS[key]: _value(key, text) for key, text in side if key in PARTS} for side in (pairs[:second], pairs[second:end])]
    zones = [(int(text), CARRIERS[key]) for key, text in pairs if key in CARRIERS] or [(0, "both")]
    states = re.findall(r"^([A-Z_0-9]+) ", line.rest)
    return {
        "family": line.family,
        "protocol_number": line.protocol,
        "zone": zones[0][0],
        "zone_carrier": zones[0][1],
        "original": sides[0],
        "reply": sides[1],
        "state": states[0] if states else None,
        "mark": line.number("mark"),
        "id": line.id,
        "unreplied": "[UNREPLIED]" in line.rest,
        "assured": "[ASSURED]" in line.rest,
        "helper": next((text for key, text in pairs if key == "helper"), None),
    }


NUMBERS = {"tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58, "sctp": 132, "gre": 47}


def _told(entry: dict[str, t.Any]) -> dict[str, t.Any]:
    same = ("family", "zone", "zone_carrier", "original", "reply", "mark", "id", "helper")
    return {
        **{key: entry[key] for key in same},
        "protocol_number": NUMBERS[entry["protocol"]],
        "state": entry["tcp_state"] or entry["sctp_state"],
        "unreplied": "SEEN_REPLY" not in entry["status"],
        "assured": "ASSURED" in entry["status"],
    }


def test_each_sort_of_entry(ns: Namespace) -> None:
    mixed_table.fill(ns)
    helped = conntrack_table.entry("10.8.0.1", ports=(1000, 21), helper="ftp")
    try:
        ns.fill([helped])
        helpers = 1
    except AssertionError:  # no FTP helper in this kernel
        helpers = 0
    result = call("conntrack_info", {"netns": ns.name})
    lines = {line.id: line for line in conntrack_command.lines(ns)}
    flows = conntrack_command.flows(ns)
    entries = {entry["id"]: entry for entry in result["entries"]}
    assert result["matched"] == len(result["entries"]) == len(lines) == len(mixed_table.ENTRIES) + helpers
    assert "changed" not in result
    keys = {frozenset(entry) for entry in entries.values()}
    assert len(keys) == 1, "keys differ from entry to entry"
    for number, entry in entries.items():
        assert _told(entry) == _read(lines[number])
        independent = flows[number].find("meta[@direction='independent']")
        assert independent is not None
        assert abs(entry["timeout"] - int(independent.findtext("timeout") or 0)) < 60
        assert str(entry["use"]) == independent.findtext("use")
        assert "CONFIRMED" in entry["status"]
        assert (entry["counters"], entry["timestamps"], entry["labels"]) == (None, None, [])
    sctp = next(entry for entry in entries.values() if entry["protocol"] == "sctp")
    assert sctp["sctp_tags"] == {"original": 11, "reply": 22}
    assert sum(entry["helper"] == "ftp" for entry in entries.values()) == helpers


def test_expected_entries_keep_what_cannot_expire(ns: Namespace) -> None:
    """Entries of a protocol without a tracker of its own have addresses only."""
    ns.command("conntrack", "-I", "-s", "10.0.0.1", "-d", "10.0.0.2", "-p", "50", "-t", "600")
    (entry,) = call("conntrack_info", {"netns": ns.name, "protocols": ["esp"]})["entries"]
    assert (entry["protocol"], entry["original"]) == ("esp", {"source": "10.0.0.1", "destination": "10.0.0.2"})


@pytest.mark.parametrize("sort", ["none", "timeout", "packets", "bytes"])
@pytest.mark.parametrize("limit", [0, 1, 7, 30, 1000])
def test_limit_and_sort(ns: Namespace, sort: str, limit: int) -> None:
    """matched counts all, whatever is returned. See test_real_traffic for the order by packets and bytes."""
    seconds = [600 + 100 * (number * 7 % 30) for number in range(30)]
    ns.fill(conntrack_table.entry(f"10.0.0.{number}", zone=4, timeout=timeout) for number, timeout in enumerate(seconds))
    result = call("conntrack_info", {"netns": ns.name, "zones": ["4"], "limit": limit, "sort": sort})
    assert (result["matched"], len(result["entries"])) == (30, min(limit, 30))
    if sort == "timeout":
        order = [int(entry["original"]["source"].rpartition(".")[2]) for entry in result["entries"]]
        assert order == sorted(range(30), key=lambda number: seconds[number])[:limit]
    every = call("conntrack_info", {"netns": ns.name, "zones": ["4"], "sort": sort})["entries"]
    assert [entry["id"] for entry in result["entries"]] == [entry["id"] for entry in every[:limit]]


def test_default_limit(ns: Namespace) -> None:
    ns.fill(conntrack_table.many(1200, lambda number: 5))
    result = call("conntrack_info", {"netns": ns.name})
    assert (result["matched"], len(result["entries"])) == (1200, 1000)


def test_nothing_there(ns: Namespace) -> None:
    result = call("conntrack_info", {"netns": ns.name})
    assert (result["entries"], result["matched"], result["unavailable_reason"]) == ([], 0, None)


def test_counters_and_timestamps(ns: Namespace) -> None:
    """Of entries that were made while the kernel keeps them."""
    ns.fill([conntrack_table.entry("10.0.0.1")])
    ns.setting("acct", 1)
    ns.setting("timestamp", 1)
    ns.fill([conntrack_table.entry("10.0.0.2")])
    entries = {entry["original"]["source"]: entry for entry in call("conntrack_info", {"netns": ns.name})["entries"]}
    assert (entries["10.0.0.1"]["counters"], entries["10.0.0.1"]["timestamps"]) == (None, None)
    none = {"packets": 0, "bytes": 0}
    assert entries["10.0.0.2"]["counters"] == {"original": none, "reply": none}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", entries["10.0.0.2"]["timestamps"]["start"])
