# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused: the message names option and value, and the table is untouched."""

from __future__ import annotations

import typing as t

import conntrack_command
import mixed_table
import pytest
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

TCP: dict[str, t.Any] = {"protocols": ["tcp"]}
ZONE: dict[str, t.Any] = {"zones": ["1"]}

# Options, the option that the failure names, and what else its message says (the value above all).
REFUSED: list[tuple[dict[str, t.Any], str, str]] = [
    ({"zones": ["foo"]}, "zones", "'foo'"),
    ({"zones": ["11-s"]}, "zones", "'11-s'"),
    ({"zones": ["65541"]}, "zones", "'65541'"),
    ({"zones": ["65536"]}, "zones", "'65536'"),
    ({"zones": ["-1"]}, "zones", "'-1'"),
    ({"zones": ["9-3"]}, "zones", "'9-3'"),
    ({"zones": ["1-65536"]}, "zones", "'1-65536'"),
    ({"zones": ["1", "foo"]}, "zones", "'foo'"),
    ({"zones": ["0x5"]}, "zones", "'0x5'"),
    ({"zones": ["5.0"]}, "zones", "'5.0'"),
    ({"zones": [""]}, "zones", "''"),
    ({"zones": [True]}, "zones", "'True'"),
    ({"zones": ["\u0665"]}, "zones", "'\u0665'"),
    ({"zones": []}, "zones", "[]"),
    ({"zone": []}, "zones", "[]"),
    ({"zones": ""}, "zones", ""),
    ({"protocols": []}, "protocols", "[]"),
    ({"source": []}, "source", "[]"),
    ({**ZONE, "status": []}, "status", "[]"),
    ({"labels": []}, "labels", "[]"),
    ({}, "all", "all: true"),
    ({"family": "any"}, "all", "all: true"),
    ({"zones": ["0-65535"]}, "zones", "all: true"),
    ({"zones": ["0", "1-65535"]}, "zones", "all: true"),
    ({"exclude": {"zones": ["1"]}}, "all", "all: true"),
    ({"all": True, "zones": ["1"]}, "all", "True"),
    ({"all": True, "family": "ipv4"}, "all", "True"),
    ({"all": True, "exclude": {}}, "exclude", "{}"),
    ({"all": True, "exclude": {"zones": ["65536"]}}, "exclude.zones", "'65536'"),
    ({"all": True, "exclude": {"source": ["::"]}}, "exclude.source", "'::'"),
    ({"destination_ports": ["80"]}, "destination_ports", "['80']"),
    ({"source_ports": ["80"], "protocols": ["icmp"]}, "source_ports", "icmp"),
    ({"reply_source_ports": ["80"], "protocols": ["tcp", "gre"]}, "reply_source_ports", "gre"),
    ({**TCP, "destination_ports": ["65536"]}, "destination_ports", "'65536'"),
    ({**TCP, "destination_ports": ["http"]}, "destination_ports", "'http'"),
    ({**TCP, "reply_destination_ports": ["9-3"]}, "reply_destination_ports", "'9-3'"),
    ({"mark": "/0xff"}, "mark", "'/0xff'"),
    ({"mark": "0x1/"}, "mark", "'0x1/'"),
    ({"mark": "one"}, "mark", "'one'"),
    ({"mark": ""}, "mark", "''"),
    ({"mark": "-1"}, "mark", "'-1'"),
    ({"mark": "0x100000000"}, "mark", "'0x100000000'"),
    ({"mark": "0x100/0xff"}, "mark", "'0x100/0xff'"),
    ({"mark": "0/0"}, "mark", "'0/0'"),
    ({"source": ["0.0.0.0"]}, "source", "'0.0.0.0'"),
    ({"destination": ["::"]}, "destination", "'::'"),
    ({"source": ["0.0.0.0/0"]}, "source", "'0.0.0.0/0'"),
    ({"reply_source": ["::/0"]}, "reply_source", "'::/0'"),
    ({"source": ["!0.0.0.0"]}, "source", "'!0.0.0.0'"),
    ({"source": ["10.0.0.5/24"]}, "source", "'10.0.0.5/24'"),
    ({"reply_destination": ["2001:db8::1/32"]}, "reply_destination", "'2001:db8::1/32'"),
    ({"source": ["10.0.0.256"]}, "source", "'10.0.0.256'"),
    ({"source": ["router.example"]}, "source", "'router.example'"),
    ({"source": ["fe80::1%eth0"]}, "source", "'fe80::1%eth0'"),
    ({"source": [""]}, "source", "''"),
    ({"source": ["!"]}, "source", "'!'"),
    ({"source": ["10.0.0.1"], "family": "ipv6"}, "source", "'10.0.0.1'"),
    ({"destination": ["2001:db8::1"], "family": "ipv4"}, "destination", "'2001:db8::1'"),
    ({"protocols": ["tpc"]}, "protocols", "'tpc'"),
    ({"protocols": ["256"]}, "protocols", "'256'"),
    ({"status": ["REPLIED"]}, "status", "'REPLIED'"),
    ({"status": ["ASSURED", "!ASSURED"]}, "status", "'!ASSURED'"),
    ({"tcp_states": ["OPEN"]}, "tcp_states", "'OPEN'"),
    ({"tcp_states": ["ESTABLISHED"], "protocols": ["udp"]}, "tcp_states", "['ESTABLISHED']"),
    ({"labels": [128]}, "labels", "128"),
    ({"labels": [-1]}, "labels", "-1"),
    ({**ZONE, "max_entries": -1}, "max_entries", "-1"),
    ({**ZONE, "method": "kernel", "protocols": ["tcp"]}, "method", "'kernel'"),
    ({**ZONE, "method": "kernel", "exclude": {"status": ["ASSURED"]}}, "method", "'kernel'"),
    ({**ZONE, "netns": ""}, "netns", "''"),
    ({**ZONE, "netns": "../netns/x"}, "netns", "'../netns/x'"),
]

# These Ansible's own argument spec refuses.
REFUSED_BY_SPEC: list[tuple[dict[str, t.Any], str, str]] = [
    ({"family": "inet"}, "family", "inet"),
    ({**ZONE, "method": "fast"}, "method", "fast"),
    ({**ZONE, "max_entries": "many"}, "max_entries", "many"),
    ({"labels": ["three"]}, "labels", "three"),
    ({"all": "perhaps"}, "all", "perhaps"),
    ({"zonse": ["1"]}, "zonse", "zones"),
    ({"exclude": {"zonse": ["1"]}, **ZONE}, "exclude.zonse", "zones"),
    ({"zones": ["1"], "zone": ["2"]}, "zones", "mutually exclusive: zones|zone"),
    ({"all": True, "exclude": {"zones": ["1"], "zone": ["2"]}}, "zones", "zones|zone found in exclude"),
]


@pytest.mark.parametrize(("options", "option", "said"), REFUSED + REFUSED_BY_SPEC, ids=str)
def test_refused(ns: Namespace, options: dict[str, t.Any], option: str, said: str) -> None:
    ns.fill([mixed_table.entry("10.0.0.1", zone=1), mixed_table.entry("10.0.0.2"), mixed_table.entry("2001:db8::1", zone=65535)])
    before = conntrack_command.table(ns)
    for check in (True, False):
        result = call("conntrack_flush", {"netns": ns.name, **options}, check=check)
        assert result["failed"]
        assert option in result["msg"]
        assert said in result["msg"]
        assert not result.get("changed")
        if (options, option, said) in REFUSED:
            assert result["option"] == option
    assert conntrack_command.table(ns) == before


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"zones": ["foo"]}, "zones"),
        ({"source": ["10.0.0.5/24"]}, "source"),
        ({"limit": -1}, "limit"),
        ({"exclude": {}}, "exclude"),
    ],
    ids=str,
)
def test_reading_refuses_alike(ns: Namespace, options: dict[str, t.Any], option: str) -> None:
    result = call("conntrack_info", {"netns": ns.name, **options})
    assert (result["failed"], result["option"]) == (True, option)
