# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import wire
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import (
    Selection,
    Selector,
    parse,
    parse_query,
    parse_selection,
)
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.sieve import Sieve
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import entry


def packed(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


SAMPLES = {
    # Zone 5, established.
    "web": entry(packed("10.0.0.1"), packed("192.0.2.1"), 6, (40000, 80), zone=5, status=0xE, tcp_state=3, mark=0x1234),
    # Zone 7 of the original direction, unreplied.
    "dns": entry(packed("10.0.1.2"), packed("192.0.2.53"), 17, (5353, 53), zone=7, carrier="original", status=0x8, mark=0),
    # Zone 0, TIME_WAIT, destination NAT to a backend's port 8080.
    "nat": entry(
        packed("10.0.0.3"),
        packed("192.0.2.1"),
        6,
        (40001, 80),
        reply_source=packed("10.9.0.1"),
        reply_ports=(8080, 40001),
        status=0x2E,
        tcp_state=7,
    ),
    # IPv6, zone 65535 of the reply direction, half open.
    "six": entry(
        packed("2001:db8::1"),
        packed("2001:db8:1::2"),
        6,
        (40002, 443),
        zone=65535,
        carrier="reply",
        status=0x8,
        tcp_state=1,
        mark=0x80000001,
    ),
    # No ports, zone 5.
    "esp": entry(packed("10.0.0.5"), packed("192.0.2.5"), 50, None, zone=5, status=0xA),
    # Offloaded: no TCP state; labels 3 and 100.
    "off": entry(packed("10.0.0.6"), packed("192.0.2.6"), 6, (40003, 443), zone=5, status=0x400E, timeout=None, labels=1 << 3 | 1 << 100),
    # SCTP, zone 200.
    "sctp": entry(packed("10.0.0.7"), packed("192.0.2.7"), 132, (36412, 36412), zone=200, status=0xE),
}
EVERY = set(SAMPLES)


def judged(selection: Selection, message: bytes) -> bool:
    """The judgement as the readers of a dump come to it."""
    sieve = Sieve(lambda kind, _message, layout: (selection.verdict(kind), kind, layout), selection.looks_at())
    verdict, kind, layout = sieve.cell(message)
    return selection.matches(kind, message, layout) if verdict is None else verdict


def selected(options: dict) -> set[str]:
    selection = parse_query(options)
    return {name for name, message in SAMPLES.items() if judged(selection, message)}


# As an error shows it, cut to 200 characters.
EVERY_PROTOCOL = str([str(number) for number in range(256)])[:200] + "…"


@pytest.mark.parametrize(
    "options, names",
    [
        ({}, EVERY),
        ({"zones": None, "protocols": None, "mark": None, "family": None, "exclude": None}, EVERY),
        # zones, whichever direction carries them
        ({"zones": ["5"]}, {"web", "esp", "off"}),
        ({"zones": [5]}, {"web", "esp", "off"}),
        ({"zones": ["0"]}, {"nat"}),
        ({"zones": ["7"]}, {"dns"}),
        ({"zones": ["65535"]}, {"six"}),
        ({"zones": ["100-299"]}, {"sctp"}),
        ({"zones": ["200-200"]}, {"sctp"}),
        ({"zones": ["0", "7"]}, {"nat", "dns"}),
        ({"zones": [" 5 ", "6-8"]}, {"web", "esp", "off", "dns"}),
        ({"zones": ["007"]}, {"dns"}),
        ({"zones": ["0-65535"]}, EVERY),
        ({"zones": ["1-65535"]}, EVERY - {"nat"}),
        ({"zones": ["4", "1000"]}, set()),
        # family
        ({"family": "any"}, EVERY),
        ({"family": "ipv4"}, EVERY - {"six"}),
        ({"family": "ipv6"}, {"six"}),
        # protocols
        ({"protocols": ["tcp"]}, {"web", "nat", "six", "off"}),
        ({"protocols": ["6"]}, {"web", "nat", "six", "off"}),
        ({"protocols": ["TCP", " udp "]}, {"web", "nat", "six", "off", "dns"}),
        ({"protocols": ["esp"]}, {"esp"}),
        ({"protocols": ["50", "132"]}, {"esp", "sctp"}),
        ({"protocols": ["icmp", "0", "255"]}, set()),
        # addresses
        ({"source": ["10.0.0.1"]}, {"web"}),
        ({"source": ["10.0.0.1/32"]}, {"web"}),
        ({"source": ["10.0.0.0/24"]}, {"web", "nat", "esp", "off", "sctp"}),
        ({"source": ["10.0.0.0/255.255.255.0"]}, {"web", "nat", "esp", "off", "sctp"}),
        ({"source": ["10.0.0.1", "10.0.1.2"]}, {"web", "dns"}),
        ({"source": ["10.0.0.0/24", "!10.0.0.1"]}, {"nat", "esp", "off", "sctp"}),
        ({"source": ["!10.0.0.0/24"]}, {"dns", "six"}),
        ({"source": ["! 10.0.0.0/24", "!2001:db8::/32"]}, {"dns"}),
        ({"source": ["2001:db8::1"]}, {"six"}),
        ({"source": ["2001:DB8:0::/48"]}, {"six"}),
        ({"source": ["2001:db8::1", "10.0.0.1"]}, {"six", "web"}),
        ({"source": ["10.0.0.0/8"], "family": "ipv4"}, EVERY - {"six"}),
        ({"source": ["0.0.0.0/1"]}, EVERY - {"six"}),
        ({"destination": ["192.0.2.1"]}, {"web", "nat"}),
        ({"destination": ["2001:db8:1::/48"]}, {"six"}),
        ({"destination": ["10.0.0.1"]}, set()),
        ({"reply_source": ["10.9.0.1"]}, {"nat"}),
        ({"reply_source": ["192.0.2.1"]}, {"web"}),
        ({"reply_destination": ["10.0.0.3"]}, {"nat"}),
        ({"reply_destination": ["2001:db8::1"]}, {"six"}),
        ({"source": ["10.0.0.0/24"], "destination": ["192.0.2.1"], "reply_source": ["!10.9.0.1"]}, {"web"}),
        # ports
        ({"protocols": ["tcp"], "destination_ports": ["80"]}, {"web", "nat"}),
        ({"protocols": ["tcp"], "destination_ports": [80, "443"]}, {"web", "nat", "six", "off"}),
        ({"protocols": ["tcp"], "destination_ports": ["81-442"]}, set()),
        ({"protocols": ["tcp"], "source_ports": ["40000-40001"]}, {"web", "nat"}),
        ({"protocols": ["tcp"], "reply_source_ports": ["8080"]}, {"nat"}),
        ({"protocols": ["tcp"], "reply_destination_ports": ["40001"]}, {"nat"}),
        ({"protocols": ["tcp", "udp", "sctp"], "destination_ports": ["0-65535"]}, EVERY - {"esp"}),
        ({"protocols": ["sctp", "dccp", "udplite"], "source_ports": ["36412"]}, {"sctp"}),
        ({"protocols": ["17"], "destination_ports": ["53"]}, {"dns"}),
        # mark; an entry that shows none has mark 0
        ({"mark": "0x1234"}, {"web"}),
        ({"mark": "4660"}, {"web"}),
        ({"mark": 4660}, {"web"}),
        ({"mark": "0"}, EVERY - {"web", "six"}),
        ({"mark": "0x1000/0xf000"}, {"web"}),
        ({"mark": "0/1"}, EVERY - {"six"}),
        ({"mark": "1/1"}, {"six"}),
        ({"mark": "0X80000001"}, {"six"}),
        ({"mark": "4294967295"}, set()),
        # status: all the bits
        ({"status": ["ASSURED"]}, {"web", "nat", "off", "sctp"}),
        ({"status": ["assured"]}, {"web", "nat", "off", "sctp"}),
        ({"status": ["!ASSURED"]}, {"dns", "six", "esp"}),
        ({"status": ["SEEN_REPLY", "!ASSURED"]}, {"esp"}),
        ({"status": ["DST_NAT", "ASSURED"]}, {"nat"}),
        ({"status": ["OFFLOAD"]}, {"off"}),
        ({"status": ["!OFFLOAD", "!DST_NAT", "ASSURED"]}, {"web", "sctp"}),
        ({"status": ["DYING"]}, set()),
        # TCP states; an offloaded entry has none
        ({"tcp_states": ["ESTABLISHED"]}, {"web"}),
        ({"tcp_states": ["established", "TIME_WAIT"]}, {"web", "nat"}),
        ({"tcp_states": ["SYN_SENT", "SYN_RECV"]}, {"six"}),
        ({"tcp_states": ["NONE"]}, set()),
        ({"tcp_states": ["SYN_SENT"], "protocols": ["tcp", "udp"]}, {"six"}),
        # labels: all the bits
        ({"labels": [3]}, {"off"}),
        ({"labels": ["3", 100]}, {"off"}),
        ({"labels": [3, 4]}, set()),
        ({"labels": [127]}, set()),
        # options narrow each other
        ({"zones": ["5"], "protocols": ["tcp"]}, {"web", "off"}),
        ({"zones": ["5"], "protocols": ["tcp"], "status": ["!OFFLOAD"]}, {"web"}),
        ({"zones": ["5"], "family": "ipv6"}, set()),
        # exclude
        ({"exclude": {"zones": ["5"]}}, EVERY - {"web", "esp", "off"}),
        ({"exclude": {"family": "ipv6"}}, EVERY - {"six"}),
        ({"exclude": {"source": ["10.0.0.1"]}}, EVERY - {"web"}),
        ({"exclude": {"source": ["!10.0.0.1"]}}, {"web"}),
        ({"exclude": {"source": ["10.0.0.1"], "zones": ["7"]}}, EVERY),
        ({"exclude": {"source": ["10.0.0.1"], "zones": ["5"]}}, EVERY - {"web"}),
        ({"zones": ["5"], "exclude": {"protocols": ["esp"]}}, {"web", "off"}),
        ({"zones": ["5"], "exclude": {"protocols": ["tcp"], "destination_ports": ["443"]}}, {"web", "esp"}),
        ({"source": ["10.0.0.0/24"], "exclude": {"destination": ["192.0.2.1"]}}, {"esp", "off", "sctp"}),
        ({"zones": ["5"], "exclude": {"mark": "0x1234", "labels": None}}, {"esp", "off"}),
        ({"zones": ["5"], "exclude": {"labels": [100]}}, {"web", "esp"}),
        ({"exclude": {"zones": ["0-65535"]}}, set()),
    ],
)
def test_selected_entries(options: dict, names: set[str]) -> None:
    assert selected(options) == names


@pytest.mark.parametrize(
    "options, option, value, text",
    [
        # zones
        ({"zones": ["foo"]}, "zones", "'foo'", "give numbers from 0 to 65535, or ranges such as 100-199"),
        ({"zones": ["11-s"]}, "zones", "'11-s'", "give numbers"),
        ({"zones": ["65541"]}, "zones", "'65541'", "out of range: 0 to 65535"),
        ({"zones": ["65536"]}, "zones", "'65536'", "out of range"),
        ({"zones": ["1-65536"]}, "zones", "'1-65536'", "out of range"),
        ({"zones": ["-1"]}, "zones", "'-1'", "give numbers"),
        ({"zones": [-1]}, "zones", "-1", "give numbers"),
        ({"zones": ["9-3"]}, "zones", "'9-3'", "backwards"),
        ({"zones": ["1", "9-3"]}, "zones", "'9-3'", "backwards"),
        ({"zones": []}, "zones", "[]", "an empty list selects nothing"),
        ({"zones": [""]}, "zones", "''", "give numbers"),
        ({"zones": ["1-"]}, "zones", "'1-'", "give numbers"),
        ({"zones": ["1-2-3"]}, "zones", "'1-2-3'", "give numbers"),
        ({"zones": ["1,2"]}, "zones", "'1,2'", "give numbers"),
        ({"zones": ["0x5"]}, "zones", "'0x5'", "give numbers"),
        ({"zones": ["5.0"]}, "zones", "'5.0'", "give numbers"),
        ({"zones": [5.0]}, "zones", "5.0", "give numbers"),
        ({"zones": [True]}, "zones", "True", "give numbers"),
        ({"zones": [None]}, "zones", "None", "give numbers"),
        ({"zones": ["\u0665"]}, "zones", "'\u0665'", "give numbers"),  # a digit, but not of ours
        ({"zones": ["5\n6"]}, "zones", "'5\n6'", "give numbers"),
        ({"zones": ["!5"]}, "zones", "'!5'", "give numbers"),
        # protocols
        ({"protocols": []}, "protocols", "[]", "an empty list"),
        ({"protocols": ["tpc"]}, "protocols", "'tpc'", "give a number from 0 to 255, or one of ah, dccp"),
        ({"protocols": ["256"]}, "protocols", "'256'", "0 to 255"),
        ({"protocols": ["-1"]}, "protocols", "'-1'", "0 to 255"),
        ({"protocols": ["6-17"]}, "protocols", "'6-17'", "0 to 255"),
        ({"protocols": [""]}, "protocols", "''", "0 to 255"),
        # addresses
        ({"source": []}, "source", "[]", "an empty list"),
        ({"source": ["host.example"]}, "source", "'host.example'", "give an IPv4 or IPv6 address or CIDR"),
        ({"source": ["10.0.0"]}, "source", "'10.0.0'", "give an IPv4"),
        ({"source": ["10.0.0.256"]}, "source", "'10.0.0.256'", "give an IPv4"),
        ({"source": ["10.0.0.0/33"]}, "source", "'10.0.0.0/33'", "give an IPv4"),
        ({"source": [""]}, "source", "''", "give an IPv4"),
        ({"source": ["!"]}, "source", "'!'", "give an IPv4"),
        ({"source": ["!!10.0.0.1"]}, "source", "'!!10.0.0.1'", "give an IPv4"),
        ({"source": ["10.0.0.5/24"]}, "source", "'10.0.0.5/24'", "host bits are set: write 10.0.0.0/24, or 10.0.0.5"),
        ({"source": ["!10.0.0.5/24"]}, "source", "'!10.0.0.5/24'", "host bits are set"),
        ({"destination": ["2001:db8::1/64"]}, "destination", "'2001:db8::1/64'", "write 2001:db8::/64, or 2001:db8::1"),
        ({"source": ["0.0.0.0"]}, "source", "'0.0.0.0'", "not 'any'"),
        ({"source": ["::"]}, "source", "'::'", "not 'any'"),
        ({"reply_source": ["!::"]}, "reply_source", "'!::'", "not 'any'"),
        ({"source": ["0.0.0.0/0"]}, "source", "'0.0.0.0/0'", "every address: leave it out, or give family: ipv4"),
        ({"source": ["::/0"]}, "source", "'::/0'", "family: ipv6"),
        ({"source": ["10.0.0.1/0"]}, "source", "'10.0.0.1/0'", "host bits"),
        ({"source": ["fe80::1%eth0"]}, "source", "'fe80::1%eth0'", "leave the %interface out"),
        ({"source": ["10.0.0.1"], "family": "ipv6"}, "source", "'10.0.0.1'", "family: ipv6 excludes it"),
        ({"reply_destination": ["2001:db8::1"], "family": "ipv4"}, "reply_destination", "'2001:db8::1'", "family: ipv4 excludes it"),
        # ports
        ({"destination_ports": ["80"]}, "destination_ports", "['80']", "ports need protocols that have them"),
        ({"destination_ports": ["80"], "protocols": ["icmp"]}, "destination_ports", "['80']", "protocol icmp carries no ports"),
        ({"source_ports": ["80"], "protocols": ["tcp", "gre"]}, "source_ports", "['80']", "protocol gre carries no ports"),
        ({"source_ports": ["80"], "protocols": ["tcp", "200"]}, "source_ports", "['80']", "protocol 200 carries no ports"),
        ({"source_ports": [], "protocols": ["tcp"]}, "source_ports", "[]", "an empty list"),
        ({"source_ports": ["http"], "protocols": ["tcp"]}, "source_ports", "'http'", "or ranges such as 8000-8099"),
        ({"reply_source_ports": ["65536"], "protocols": ["tcp"]}, "reply_source_ports", "'65536'", "out of range: 0 to 65535"),
        ({"reply_destination_ports": ["9-3"], "protocols": ["tcp"]}, "reply_destination_ports", "'9-3'", "backwards"),
        # mark
        ({"mark": "/0xff"}, "mark", "'/0xff'", "a mask without a value"),
        ({"mark": ""}, "mark", "''", "give value or value/mask"),
        ({"mark": "1/"}, "mark", "'1/'", "give value or value/mask"),
        ({"mark": "1/2/3"}, "mark", "'1/2/3'", "give value or value/mask"),
        ({"mark": "-1"}, "mark", "'-1'", "give value or value/mask"),
        ({"mark": "0xg"}, "mark", "'0xg'", "give value or value/mask"),
        ({"mark": "4294967296"}, "mark", "'4294967296'", "a mark has 32 bits"),
        ({"mark": "1/0x100000000"}, "mark", "'1/0x100000000'", "a mark has 32 bits"),
        ({"mark": "3/1"}, "mark", "'3/1'", "bits outside the mask"),
        ({"mark": "0/0"}, "mark", "'0/0'", "an empty mask matches every mark"),
        # status
        ({"status": []}, "status", "[]", "an empty list"),
        ({"status": ["ESTABLISHED"]}, "status", "'ESTABLISHED'", "give names of EXPECTED, SEEN_REPLY"),
        ({"status": ["!"]}, "status", "'!'", "give names of"),
        ({"status": ["!!ASSURED"]}, "status", "'!!ASSURED'", "give names of"),
        ({"status": ["ASSURED", "!ASSURED"]}, "status", "'!ASSURED'", "asked for both ways"),
        # TCP states
        ({"tcp_states": []}, "tcp_states", "[]", "an empty list"),
        ({"tcp_states": ["OPEN"]}, "tcp_states", "'OPEN'", "give names of NONE, SYN_SENT"),
        ({"tcp_states": ["CLOSE"], "protocols": ["udp"]}, "tcp_states", "['CLOSE']", "protocols leaves tcp out"),
        # labels
        ({"labels": []}, "labels", "[]", "an empty list"),
        ({"labels": [128]}, "labels", "128", "numbers from 0 to 127"),
        ({"labels": [-1]}, "labels", "-1", "numbers from 0 to 127"),
        ({"labels": ["eth0"]}, "labels", "'eth0'", "numbers from 0 to 127"),
        ({"labels": [True]}, "labels", "True", "numbers from 0 to 127"),
        ({"labels": [1.5]}, "labels", "1.5", "numbers from 0 to 127"),
        # exclude
        ({"exclude": {}}, "exclude", "{}", "it names nothing to keep"),
        ({"exclude": {"zones": None, "mark": None}}, "exclude", "{}", "it names nothing to keep"),
        ({"exclude": {"family": "any"}}, "exclude", "{}", "it names nothing to keep"),
        ({"source": ["::ffff:10.0.0.1"]}, "source", "'::ffff:10.0.0.1'", "write the IPv4 address"),
        ({"zones": ["9" * 5000]}, "zones", "'" + "9" * 199 + "…", "give numbers"),
        ({"protocols": ["9" * 5000]}, "protocols", "'" + "9" * 199 + "…", "0 to 255"),
        ({"mark": "0x" + "9" * 5000}, "mark", "'0x" + "9" * 197 + "…", "decimal or hexadecimal"),
        ({"zone": ["foo"]}, "zones", "'foo'", "give numbers"),
        ({"exclude": {"zone": []}}, "exclude.zones", "[]", "an empty list"),
        ({"source": ["0.0.0.0/1", "128.0.0.0/1"]}, "source", "['0.0.0.0/1', '128.0.0.0/1']", "every IPv4 address"),
        ({"source": ["!::/1", "!8000::/1"]}, "source", "['!::/1', '!8000::/1']", "every IPv6 address"),
        ({"protocols": [str(number) for number in range(256)]}, "protocols", EVERY_PROTOCOL, "that is every protocol"),
        ({"exclude": {"zones": ["foo"]}}, "exclude.zones", "'foo'", "give numbers"),
        ({"exclude": {"zones": []}}, "exclude.zones", "[]", "an empty list"),
        ({"exclude": {"source": ["10.0.0.5/24"]}}, "exclude.source", "'10.0.0.5/24'", "host bits"),
        ({"exclude": {"source_ports": ["1"]}}, "exclude.source_ports", "['1']", "ports need protocols"),
        ({"exclude": {"mark": "/1"}}, "exclude.mark", "'/1'", "a mask without a value"),
        ({"exclude": {"status": ["x"]}}, "exclude.status", "'x'", "give names of"),
        ({"exclude": {"tcp_states": ["x"]}}, "exclude.tcp_states", "'x'", "give names of"),
        ({"exclude": {"protocols": ["x"]}}, "exclude.protocols", "'x'", "0 to 255"),
        ({"exclude": {"labels": ["x"]}}, "exclude.labels", "'x'", "0 to 127"),
    ],
)
@pytest.mark.parametrize("reader", [parse_query, parse_selection])
def test_refused(reader: t.Callable[[dict], Selection], options: dict, option: str, value: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        reader(options)
    assert caught.value.option == option
    assert str(caught.value).startswith(f"{option}: {value}: ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "options, option, text",
    [
        ({}, "all", "nothing is selected: name zones or another selector, or say all: true"),
        ({"all": False}, "all", "nothing is selected"),
        ({"all": None}, "all", "nothing is selected"),
        ({"family": "any"}, "all", "nothing is selected"),
        ({"zones": ["0-65535"]}, "zones", "that is the whole table; say all: true"),
        ({"zones": ["0-100", "101-65535"]}, "zones", "that is the whole table"),
        ({"status": ["CONFIRMED"]}, "status", "so is every entry of a table; say all: true"),
        ({"status": ["!DYING", "!TEMPLATE"], "zones": ["0-65535"]}, "zones", "that is the whole table"),
        ({"status": ["!DYING", "CONFIRMED"]}, "status", "so is every entry of a table"),
        ({"exclude": {"zones": ["5"]}}, "all", "nothing is selected"),
        ({"zones": ["0-65535"], "exclude": {"zones": ["5"]}}, "zones", "that is the whole table"),
        ({"all": True, "zones": ["5"]}, "all", "it cannot go with options that select less"),
        ({"all": True, "family": "ipv4"}, "all", "it cannot go with"),
        ({"all": True, "protocols": ["tcp"]}, "all", "it cannot go with"),
        ({"all": True, "source": ["10.0.0.1"]}, "all", "it cannot go with"),
        ({"all": True, "mark": "1"}, "all", "it cannot go with"),
        ({"all": True, "status": ["!ASSURED"]}, "all", "it cannot go with"),
        ({"all": True, "tcp_states": ["CLOSE"]}, "all", "it cannot go with"),
        ({"all": True, "labels": [0]}, "all", "it cannot go with"),
    ],
)
def test_everything_is_deleted_by_all_alone(options: dict, option: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_selection(options)
    assert caught.value.option == option
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "options, plain, whole, everything",
    [
        ({"zones": ["5"]}, True, False, False),
        ({"zones": ["1-65535"]}, True, False, False),
        ({"zones": ["5"], "family": "any"}, True, False, False),
        ({"all": True}, True, True, True),
        ({"all": True, "zones": ["0-65535"]}, True, True, True),
        ({"all": True, "exclude": {"zones": ["5"]}}, False, True, True),
        ({"zones": ["5"], "exclude": {"mark": "1"}}, False, False, False),
        ({"zones": ["5"], "family": "ipv4"}, False, False, False),
        ({"zones": ["5"], "protocols": ["tcp"]}, False, False, False),
        ({"zones": ["5"], "source": ["10.0.0.1"]}, False, False, False),
        ({"zones": ["5"], "protocols": ["tcp"], "source_ports": ["1"]}, False, False, False),
        ({"zones": ["5"], "mark": "0"}, False, False, False),
        ({"zones": ["5"], "status": ["ASSURED"]}, False, False, False),
        ({"zones": ["5"], "status": ["!ASSURED"]}, False, False, False),
        ({"zones": ["5"], "tcp_states": ["CLOSE"]}, False, False, False),
        ({"zones": ["5"], "labels": [0]}, False, False, False),
        ({"family": "ipv6"}, False, False, False),
        ({"mark": "0"}, False, False, False),
    ],
)
def test_what_a_flush_by_the_kernel_could_do(options: dict, plain: bool, whole: bool, everything: bool) -> None:
    selection = parse_selection(options)
    assert (selection.is_plain(), selection.whole, selection.wanted.selects_all()) == (plain, whole, everything)


@pytest.mark.parametrize(
    "zones, named, size",
    [
        (["5"], {5}, 1),
        (["5", "7"], {5, 7}, 2),
        (["100-199"], set(), 100),
        (["5", "4-6", "9-9"], {5, 9}, 4),
    ],
)
def test_zones_named_one_by_one(zones: list[str], named: set[int], size: int) -> None:
    selector = parse({"zones": zones})
    assert selector.zones_named == named
    assert len(selector.zones or ()) == size


def test_a_listening_socket_is_the_kernels_syn_sent2() -> None:
    # conntrack(8) says LISTEN for the number that the kernel calls SYN_SENT2.
    assert parse({"tcp_states": ["LISTEN"]}).tcp_states == parse({"tcp_states": ["SYN_SENT2"]}).tcp_states == {9}


@pytest.mark.parametrize(
    "options, paths",
    [
        ({}, set()),
        ({"zones": ["5"], "status": ["ASSURED"], "source": ["10.0.0.1"]}, set()),
        ({"mark": "1"}, {(wire.MARK,)}),
        ({"mark": "0"}, {(wire.MARK,)}),
        ({"labels": [0]}, {(wire.LABELS,)}),
        ({"mark": "1", "exclude": {"labels": [1]}}, {(wire.MARK,), (wire.LABELS,)}),
    ],
)
def test_attributes_that_a_sieve_must_tell_apart(options: dict, paths: set) -> None:
    assert parse_query(options).looks_at() == paths


def test_selectors_are_values() -> None:
    options = {"zones": ["5-7"], "protocols": ["tcp"], "source": ["10.0.0.0/8"], "mark": "1/1", "labels": [3]}
    assert parse(options) == parse(dict(options))
    assert parse(options) != parse({**options, "labels": [4]})
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse(options).family = 2  # type: ignore[misc]
    assert parse({}) == Selector()


# A reference that knows nothing of masks, sorts and layouts: it looks at what the entry was built from.

ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.1.0.1", "192.0.2.1", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"]
NETWORKS = [*ADDRESSES, "10.0.0.0/24", "10.0.0.0/8", "128.0.0.0/1", "2001:db8::/48", "2001:db8::/32"]
SPANS = ["0", "1", "80", "1-2", "0-80", "81-65535", "65535"]
PORTS = [0, 1, 2, 80, 443, 65535]
STATUS = {"SEEN_REPLY": 0x2, "ASSURED": 0x4, "CONFIRMED": 0x8, "DST_NAT": 0x20, "OFFLOAD": 0x4000}
TCP_STATES = {"NONE": 0, "SYN_SENT": 1, "ESTABLISHED": 3, "TIME_WAIT": 7}
NUMBERS = {"tcp": 6, "udp": 17, "sctp": 132}


def in_spans(value: int, spans: list[str]) -> bool:
    return any(int(span.split("-")[0]) <= value <= int(span.split("-")[-1]) for span in spans)


def in_networks(address: str, networks: list[str]) -> bool:
    wanted = [text for text in networks if not text.startswith("!")]
    unwanted = [text[1:] for text in networks if text.startswith("!")]

    def within(texts: list[str]) -> bool:
        ip = ipaddress.ip_address(address)
        found = [ipaddress.ip_network(text) for text in texts]
        return any(network.version == ip.version and ip in network for network in found)

    return (not wanted or within(wanted)) and not within(unwanted)


def reference(options: dict, built: dict) -> bool:
    if "exclude" in options and reference(options["exclude"], built):
        return False
    sides = {"source": built["source"], "destination": built["destination"]}
    sides.update(reply_source=built["reply_source"], reply_destination=built["source"])
    ports = {"source_ports": built["ports"][0], "destination_ports": built["ports"][1]}
    ports.update(reply_source_ports=built["reply_ports"][0], reply_destination_ports=built["reply_ports"][1])
    checks = {
        "zones": lambda value: in_spans(built["zone"], value),
        "family": lambda value: value == "any" or (":" in built["source"]) == (value == "ipv6"),
        "protocols": lambda value: built["protocol"] in [NUMBERS[name] for name in value],
        "mark": lambda value: built["mark"] & int(value.split("/")[1]) == int(value.split("/")[0]),
        "status": lambda value: all(bool(built["status"] & STATUS[text.strip("!")]) != text.startswith("!") for text in value),
        "tcp_states": lambda value: built["tcp_state"] in [TCP_STATES[name] for name in value],
        "labels": lambda value: all(built["labels"] >> number & 1 for number in value),
    }
    for name, value in options.items():
        if name in sides and not in_networks(sides[name], value):
            return False
        if name in ports and not in_spans(ports[name], value):
            return False
        if name in checks and not checks[name](value):
            return False
    return True


def some(values: t.Sequence[str], negatable: bool = False) -> st.SearchStrategy:
    texts = st.sampled_from(list(values) + (["!" + value for value in values] if negatable else []))
    return st.lists(texts, min_size=1, max_size=3)


@st.composite
def selector_options(draw: st.DrawFn) -> dict:
    address, port = some(NETWORKS, negatable=True), some(SPANS)
    options = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "zones": some(SPANS),
                "source": address,
                "destination": address,
                "reply_source": address,
                "reply_destination": address,
                "mark": st.sampled_from(["0/1", "1/1", "1/3", "0/4294967295", "2147483648/2147483648"]),
                "status": st.lists(st.sampled_from(list(STATUS)), min_size=1, max_size=3, unique=True).flatmap(
                    lambda names: st.tuples(*[st.sampled_from([name, "!" + name]) for name in names]).map(list)
                ),
                "labels": st.lists(st.sampled_from([0, 3, 64, 127]), min_size=1, max_size=2),
                "tcp_states": some(list(TCP_STATES)),
                "protocols": some(list(NUMBERS)),
                "source_ports": port,
                "destination_ports": port,
                "reply_source_ports": port,
                "reply_destination_ports": port,
            },
        )
    )
    if any(name.endswith("_ports") for name in options):
        options.setdefault("protocols", ["tcp", "udp"])
    if "tcp_states" in options and "protocols" in options and "tcp" not in options["protocols"]:
        options["protocols"].append("tcp")
    return options


@st.composite
def built_entries(draw: st.DrawFn) -> dict:
    v6 = draw(st.booleans())
    address = st.sampled_from([text for text in ADDRESSES if (":" in text) == v6])
    protocol = draw(st.sampled_from([6, 17, 132]))
    ports = st.tuples(st.sampled_from(PORTS), st.sampled_from(PORTS))
    zone = draw(st.sampled_from([0, 1, 2, 80, 65535]))
    return {
        "source": draw(address),
        "destination": draw(address),
        "reply_source": draw(address),
        "protocol": protocol,
        "ports": draw(ports),
        "reply_ports": draw(ports),
        "zone": zone,
        "carrier": draw(st.sampled_from(["both", "original", "reply"])),
        "status": draw(st.sampled_from([0x8, 0xA, 0xE, 0x2E, 0x400E])),
        "tcp_state": draw(st.sampled_from([None, *TCP_STATES.values()])) if protocol == 6 else None,
        "mark": draw(st.sampled_from([0, 1, 2, 3, 0x80000000, 0xFFFFFFFF])),
        "labels": draw(st.sampled_from([0, 1, 1 << 3 | 1 << 127, (1 << 128) - 1])),
    }


@given(
    options=selector_options(),
    excluded=st.none() | selector_options(),
    table=st.lists(built_entries(), min_size=1, max_size=8),
)
def test_judgement_is_that_of_a_plain_reading_of_the_options(options: dict, excluded: dict | None, table: list[dict]) -> None:
    if excluded:
        options = {**options, "exclude": excluded}
    selection = parse_query(options)
    for built in table:
        numbers = {name: packed(built[name]) for name in ("source", "destination", "reply_source")}
        assert judged(selection, entry(**{**built, **numbers})) == reference(options, built), built
