# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exactly the selected entries go, in each way of selecting, with true counts; all others are the same before and after."""

from __future__ import annotations

import typing as t

import conntrack_command
import mixed_table
import pytest
from mixed_table import counted, protocol_of, zone_of
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

EVERY = frozenset(mixed_table.ENTRIES)
IPV6 = {"plain6", "one-udp6", "one-original6", "one-reply6", "one-icmp6", "forwarded6"}
ONE = {name for name in EVERY if name.startswith("one")}
TWO = {"two", "two-wait", "two-replied"}
HIGH = {"hundred", "hundred-ten", "last", "last-original"}
ZERO = EVERY - ONE - TWO - HIGH - {"mark-top"}
TCP = {name for name in EVERY if protocol_of(name) == "tcp"}
ASSURED = {"one", "two-wait"}
TCP_ONLY: dict[str, t.Any] = {"protocols": ["tcp"]}

# Options, and the names of the entries that must go.
SELECTIONS: list[tuple[dict[str, t.Any], set[str] | frozenset[str]]] = [
    ({"zones": ["0"]}, ZERO),
    ({"zones": [0]}, ZERO),
    ({"zone": 1}, ONE),
    ({"zones": ["1"]}, ONE),
    ({"zones": ["65535"]}, {"last", "last-original"}),
    ({"zones": ["1-2"]}, ONE | TWO),
    ({"zones": ["100-109"]}, {"hundred"}),
    ({"zones": ["0", "65535"]}, ZERO | {"last", "last-original"}),
    ({"zones": "2,100-199"}, TWO | {"hundred", "hundred-ten"}),
    ({"zones": ["1-65535"]}, EVERY - ZERO),
    ({"zones": ["4-99"]}, set()),
    ({"zones": ["77"]}, set()),
    ({"family": "ipv4"}, EVERY - IPV6),
    ({"family": "ipv6"}, IPV6),
    ({"zones": ["1"], "family": "ipv6"}, ONE & IPV6),
    ({"zones": ["0"], "family": "ipv4"}, ZERO - IPV6),
    ({"protocols": ["tcp"]}, TCP),
    ({"protocols": ["udp"]}, {"plain-udp", "one-udp", "one-udp6"}),
    ({"protocols": ["sctp"]}, {"one-sctp"}),
    ({"protocols": ["icmp"]}, {"plain-icmp", "one-icmp"}),
    ({"protocols": ["icmpv6"]}, {"one-icmp6"}),
    ({"protocols": ["gre"]}, {"one-gre"}),
    ({"protocols": ["47", "132"]}, {"one-gre", "one-sctp"}),
    ({"protocols": ["icmp"], "zones": ["1"]}, {"one-icmp"}),
    ({"protocols": ["esp"]}, set()),
    ({"mark": "5"}, {"mark-5"}),
    ({"mark": "0x5/0xff"}, {"mark-5", "mark-105"}),
    ({"mark": "0x100/0xF00"}, {"mark-105"}),
    ({"mark": "4294967295"}, {"mark-top"}),
    ({"mark": "0"}, EVERY - {"mark-5", "mark-105", "mark-top"}),
    ({"mark": "0/1"}, EVERY - {"mark-5", "mark-105", "mark-top"}),
    ({"status": ["ASSURED"]}, ASSURED),
    ({"status": ["!ASSURED"]}, EVERY - ASSURED),
    ({"status": ["assured"]}, ASSURED),
    ({"status": ["SEEN_REPLY", "!ASSURED"]}, {"two-replied"}),
    ({"status": ["!SEEN_REPLY"], "zones": ["2"]}, {"two"}),
    ({"status": ["DYING"]}, set()),
    ({"tcp_states": ["ESTABLISHED"]}, {"one"}),
    ({"tcp_states": ["SYN_SENT", "syn_recv"]}, {"two", "two-replied"}),
    ({"tcp_states": ["TIME_WAIT"], "zones": ["1"]}, set()),
    ({"source": ["10.0.0.1"]}, {"plain"}),
    ({"source": ["10.0.1.0/24"]}, ONE - IPV6),
    ({"source": ["2001:db8:1::/48"]}, ONE & IPV6),
    ({"source": ["10.0.2.0/24", "2001:db8::1"]}, TWO | {"plain6"}),
    ({"source": ["10.0.1.0/24", "!10.0.1.4/30"]}, {"one", "one-udp", "one-original"}),
    ({"source": ["!10.0.0.0/8"]}, IPV6),
    ({"source": ["!10.0.0.0/8", "!2001:db8::/32"]}, set()),
    ({"destination": ["192.0.2.80"]}, {"forwarded"}),
    ({"destination": ["2001:db8:f::/64"]}, {"forwarded6"}),
    ({"destination": ["!192.0.2.1", "!2001:db8::ffff"]}, {"forwarded", "forwarded6"}),
    ({"reply_source": ["10.20.0.17"]}, {"forwarded"}),
    ({"reply_source": ["2001:db8:20::/64", "10.20.0.0/16"]}, {"forwarded", "forwarded6"}),
    ({"reply_source": ["192.0.2.80"]}, set()),
    ({"reply_destination": ["10.0.6.0/24"]}, {"mark-5", "mark-105", "mark-top"}),
    ({"reply_source": ["10.20.0.17"], **TCP_ONLY, "reply_source_ports": ["8443"]}, {"forwarded"}),
    ({"reply_source": ["10.20.0.17"], **TCP_ONLY, "reply_source_ports": ["8444"]}, set()),
    ({"destination_ports": ["8000-8099"], **TCP_ONLY}, {"hundred"}),
    ({"destination_ports": ["8005", "8100"], **TCP_ONLY}, {"hundred", "hundred-ten"}),
    ({"destination_ports": ["53"], "protocols": ["udp", "tcp"]}, {"plain-udp", "one-udp", "one-udp6"}),
    ({"destination_ports": ["3868"], "protocols": ["sctp"]}, {"one-sctp"}),
    ({"destination_ports": [53], "protocols": ["udp"], "family": "ipv6"}, {"one-udp6"}),
    ({"source_ports": ["40001-40002"], **TCP_ONLY}, {"hundred", "hundred-ten"}),
    ({"reply_destination_ports": ["40003"], **TCP_ONLY}, {"forwarded"}),
    ({"all": True}, EVERY),
    ({"all": True, "exclude": {"zones": ["0"]}}, EVERY - ZERO),
    ({"all": True, "exclude": {"status": ["ASSURED"]}}, EVERY - ASSURED),
    ({"all": True, "exclude": {"zones": ["1"], "protocols": ["tcp"]}}, EVERY - (ONE & TCP)),
    ({"all": True, "exclude": {"source": ["10.0.0.0/8"]}}, IPV6),
    ({"zones": ["1"], "exclude": {"protocols": ["tcp", "udp"]}}, {"one-icmp", "one-icmp6", "one-sctp", "one-gre"}),
    ({"zones": ["1"], "exclude": {"source": ["10.0.1.1"]}}, ONE - {"one"}),
    ({"zones": ["1"], "exclude": {"zones": ["1"]}}, set()),
    ({"zones": ["2"], "exclude": {"tcp_states": ["TIME_WAIT"]}}, {"two", "two-replied"}),
    ({"mark": "0x5/0xff", "exclude": {"mark": "0x100/0x100"}}, {"mark-5"}),
    ({"zones": ["1"], "exclude": {"destination_ports": ["53"], "protocols": ["udp"], "family": "ipv6"}}, ONE - {"one-udp6"}),
]


def _label(row: object) -> str | None:
    if not isinstance(row, dict):
        return ""
    return " ".join(f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}" for name, value in row.items())


@pytest.mark.parametrize(("options", "selected"), SELECTIONS, ids=_label)
def test_selected_entries_go_and_no_others(ns: Namespace, options: dict[str, t.Any], selected: set[str]) -> None:
    options = {**options, "netns": ns.name}
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    reading = {name: value for name, value in options.items() if name != "all"}
    assert call("conntrack_info", reading)["matched"] == len(selected)

    trial = call("conntrack_flush", options, check=True, diff=True)
    assert conntrack_command.table(ns) == before

    done = call("conntrack_flush", {**options, "recount": True}, diff=True)
    after = conntrack_command.table(ns)
    assert {mixed_table.named(line) for line in before - after} == selected
    assert after < before or after == before

    again = call("conntrack_flush", options)
    assert conntrack_command.table(ns) == after

    assert (trial["changed"], trial["matched"], trial["deleted"]) == (bool(selected), len(selected), 0)
    assert (done["changed"], done["matched"], done["deleted"]) == (bool(selected), len(selected), len(selected))
    assert (again["changed"], again["matched"], again["deleted"]) == (False, 0, 0)
    assert (done["already_gone"], done["remaining"], trial["remaining"]) == (0, 0, None)
    assert done["protocols"] == trial["protocols"] == counted(selected, protocol_of)
    assert {row["zone"]: row["deleted"] for row in done["zones"] if row["matched"]} == counted(selected, zone_of)
    assert {row["zone"]: row["matched"] for row in trial["zones"] if row["matched"]} == counted(selected, zone_of)
    assert done["assured"] == len(selected & ASSURED)
    assert trial["diff"] == done["diff"] == _diff(selected, options.get("family"))
    assert set(trial) == set(done) == set(again) | {"diff"}


def _diff(selected: set[str], family: str | None) -> dict[str, dict[str, dict[str, int]]]:
    """By zone that held selected entries, then protocol: what of the family is there before, and after."""
    sides = {}
    asked = {"ipv4": EVERY - IPV6, "ipv6": IPV6}.get(family or "", EVERY)
    for side, names in (("before", asked), ("after", asked - selected)):
        sides[side] = {
            f"zone {zone}": counted((name for name in names if zone_of(name) == zone), protocol_of)
            for zone in sorted(counted(selected, zone_of))
        }
    return sides


def test_destination_nat(ns: Namespace) -> None:
    """Entries that the kernel itself knows as translated are found by the real server, and by their status."""
    for number, server in (("1", "10.20.0.17"), ("2", "10.20.0.18")):
        ns.command(
            *("conntrack", "-I", "-s", "10.0.0." + number, "-d", "192.0.2.80", "-p", "tcp", "--sport", "40000", "--dport", "443"),
            *("--state", "ESTABLISHED", "-t", "600", "--dst-nat", server + ":8443"),
        )
    ns.command("conntrack", "-I", "-s", "10.0.0.3", "-d", "10.20.0.17", "-p", "udp", "--sport", "1", "--dport", "2", "-t", "600")
    options = {"netns": ns.name, "status": ["DST_NAT"], "reply_source": ["10.20.0.17"], "protocols": ["tcp"], "reply_source_ports": ["8443"]}
    assert call("conntrack_flush", options)["deleted"] == 1
    assert sorted(line.rest.split()[1] for line in conntrack_command.lines(ns) if line.protocol == 6) == ["src=10.0.0.2"]
    assert conntrack_command.count(ns) == 2


@pytest.mark.usefixtures("needs_nft")
def test_labels(ns: Namespace) -> None:
    """Entries have room for labels once a rule of the namespace sets one."""
    rule = "add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c ct label set %s"
    if not _try_rules(ns, [rule % 3, rule % "0x8"]):
        pytest.skip("this kernel or nft cannot set labels")
    labels = {"10.0.0.1": [3], "10.0.0.2": [3, 9], "10.0.0.3": [9, 127], "10.0.0.4": []}
    ns.fill(
        mixed_table.entry(source, labels=sum(1 << bit for bit in bits).to_bytes(16, "little"), zone=4)
        for source, bits in labels.items()
    )
    entries = call("conntrack_info", {"netns": ns.name})["entries"]
    assert {entry["original"]["source"]: entry["labels"] for entry in entries} == labels
    for options, gone in (
        ({"labels": [9, 3]}, {"10.0.0.2"}),
        ({"labels": [127]}, {"10.0.0.3"}),
        ({"labels": [5]}, set()),
        ({"labels": [3], "exclude": {"labels": [3]}}, set()),
        ({"labels": ["3"]}, {"10.0.0.1"}),
    ):
        before = conntrack_command.table(ns)
        assert call("conntrack_flush", {"netns": ns.name, **options})["deleted"] == len(gone), options
        lost = before - conntrack_command.table(ns)
        assert len(lost) == len(gone)
        assert all(f"src={source} " in "".join(lost) for source in gone)


def _try_rules(ns: Namespace, variants: list[str]) -> bool:
    for rules in variants:
        try:
            ns.command("nft", rules)
        except AssertionError:
            continue
        return True
    return False
