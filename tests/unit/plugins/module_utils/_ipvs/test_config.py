# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import config, model
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError
from hypothesis import given
from ipvs_tables import tables


def settled(*services):
    return config.as_config(config.table(config.parse(list(services))))


def web(**options):
    return dict({"protocol": "tcp", "address": "10.0.0.1", "port": 80}, **options)


def real(**options):
    return web(destinations=[dict({"address": "10.1.0.1"}, **options)])


@given(tables())
def test_a_table_survives_the_way_through_the_option(table):
    assert config.table(config.parse(config.as_config(table))) == table


def test_defaults():
    assert settled(web(destinations=[{"address": "10.1.0.1"}])) == [
        {
            "protocol": "tcp",
            "address": "10.0.0.1",
            "port": 80,
            "scheduler": "wlc",
            "scheduler_flags": [],
            "one_packet": False,
            "destinations": [
                {"address": "10.1.0.1", "port": 80, "forward": "direct", "weight": 1, "upper_threshold": 0, "lower_threshold": 0}
            ],
        }
    ]


# Said in two ways, meant as one.
SAME = {
    "fwmark": ({"fwmark": "0x10"}, {"fwmark": 16, "family": "ipv4"}),
    "address": (web(address="2001:DB8:0::1"), web(address="[2001:db8::1]", family="ipv6")),
    "port": (web(port="80"), web()),
    "protocol": (web(protocol="TCP"), web()),
    "mask": (web(persistence={"netmask": 24}), web(persistence={"netmask": "255.255.255.0", "timeout": 360})),
    "whole mask": (web(persistence={"netmask": 32}), web(persistence={})),
    "mask of no persistence": (web(persistence={"timeout": 0, "netmask": 24}), web()),
    "whole ipv6 mask": (web(address="2001:db8::1", persistence={"netmask": 128}), web(address="2001:db8::1", persistence={})),
    "weight 0 is a value": (real(weight="0"), real(weight=0)),
    "destination port": (real(port=80), real()),
    "lower by default": (real(upper_threshold=100), real(upper_threshold=100, lower_threshold=0)),
    "tunnel": (real(forward="tunnel"), real(forward="tunnel", tunnel={"type": "ipip", "checksum": "none"})),
    "flags": (web(scheduler="sh", scheduler_flags=["flag-1"]), web(scheduler="sh", scheduler_flags=["sh-fallback"])),
    "left out": (web(scheduler=None, persistence=None), web()),
    "no engine": (web(persistence={"engine": ""}), web(persistence={"timeout": 360})),
}


@pytest.mark.parametrize("one, other", SAME.values(), ids=SAME)
def test_same(one, other):
    assert settled(one) == settled(other)


# What is refused, and what the error names.
REFUSED = {
    "not a dictionary": ("x", "config[0]", "'x'"),
    "unknown option": (web(wight=1), "config[0].wight", "1"),
    "no address": ({"protocol": "tcp", "port": 80}, "config[0].address", "None"),
    "protocol": (web(protocol="icmp"), "config[0].protocol", "'icmp'"),
    "host name": (web(address="www"), "config[0].address", "'www'"),
    "port too high": (web(port=65536), "config[0].port", "65536"),
    "port true": (web(port=True), "config[0].port", "True"),
    "port 0": (web(port=0), "config[0].port", "0"),
    "fwmark 0": ({"fwmark": 0}, "config[0].fwmark", "0"),
    "fwmark negative": ({"fwmark": -1}, "config[0].fwmark", "-1"),
    "fwmark too high": ({"fwmark": 1 << 32}, "config[0].fwmark", "4294967296"),
    "fwmark and port": ({"fwmark": 1, "port": 80}, "config[0].port", "80"),
    "family": ({"fwmark": 1, "family": "ipx"}, "config[0].family", "'ipx'"),
    "family against address": (web(family="ipv6"), "config[0].family", "'ipv6'"),
    "scheduler": (web(scheduler="Round Robin"), "config[0].scheduler", "'Round Robin'"),
    "flag of another scheduler": (web(scheduler="rr", scheduler_flags=["sh-port"]), "config[0].scheduler_flags", "'sh-port'"),
    "flags no list": (web(scheduler_flags="flag-1"), "config[0].scheduler_flags", "'flag-1'"),
    "one_packet of tcp": (web(one_packet=True), "config[0].one_packet", "True"),
    "persistence too long": (web(persistence={"timeout": 2678401}), "config[0].persistence.timeout", "2678401"),
    "persistence negative": (web(persistence={"timeout": -1}), "config[0].persistence.timeout", "-1"),
    "mask": (web(persistence={"netmask": "255.x"}), "config[0].persistence.netmask", "'255.x'"),
    "empty mask": (web(persistence={"netmask": "0.0.0.0"}), "config[0].persistence.netmask", "'0.0.0.0'"),
    "mask too long": (web(persistence={"netmask": 33}), "config[0].persistence.netmask", "'33'"),
    "ipv6 mask": (web(address="::1", persistence={"netmask": 129}), "config[0].persistence.netmask", "'129'"),
    "engine": (web(persistence={"engine": "s p"}), "config[0].persistence.engine", "'s p'"),
    "destination without address": (web(destinations=[{"port": 1}]), "config[0].destinations[0].address", "None"),
    "unspecified destination": (real(address="0.0.0.0"), "config[0].destinations[0].address", "'0.0.0.0'"),
    "multicast": (real(address="224.0.0.1"), "config[0].destinations[0].address", "'224.0.0.1'"),
    "IPv6 multicast": (web(address="::1", destinations=[{"address": "ff02::1"}]), "config[0].destinations[0].address", "'ff02::1'"),
    "zone of an address": (web(address="fe80::1%eth0"), "config[0].address", "'fe80::1%eth0'"),
    "broadcast": (real(address="255.255.255.255"), "config[0].destinations[0].address", "'255.255.255.255'"),
    "forward": (real(forward="local"), "config[0].destinations[0].forward", "'local'"),
    "weight negative": (real(weight=-1), "config[0].destinations[0].weight", "-1"),
    "weight too high": (real(weight=1 << 31), "config[0].destinations[0].weight", "2147483648"),
    "weight fraction": (real(weight=1.5), "config[0].destinations[0].weight", "1.5"),
    "lower above upper": (real(upper_threshold=5, lower_threshold=9), "config[0].destinations[0].lower_threshold", "9"),
    "lower alone": (real(lower_threshold=9), "config[0].destinations[0].lower_threshold", "9"),
    "other family": (real(address="2001:db8::1"), "config[0].destinations[0].address", "'2001:db8::1'"),
    "tunnel without forward": (real(tunnel={"type": "gre"}), "config[0].destinations[0].tunnel", "{"),
    "tunnel type": (real(forward="tunnel", tunnel={"type": "vxlan"}), "config[0].destinations[0].tunnel.type", "'vxlan'"),
    "gue without port": (real(forward="tunnel", tunnel={"type": "gue"}), "config[0].destinations[0].tunnel", "{"),
    "gre with port": (real(forward="tunnel", tunnel={"type": "gre", "port": 80}), "config[0].destinations[0].tunnel.port", "80"),
    "tunnel port 0": (real(forward="tunnel", tunnel={"type": "gue", "port": 0}), "config[0].destinations[0].tunnel.port", "0"),
    "ipip csum": (real(forward="tunnel", tunnel={"checksum": "csum"}), "config[0].destinations[0].tunnel.checksum", "'csum'"),
    "gre remcsum": (
        real(forward="tunnel", tunnel={"type": "gre", "checksum": "remcsum"}),
        "config[0].destinations[0].tunnel.checksum",
        "'remcsum'",
    ),
    "destination twice": (
        web(destinations=[{"address": "10.1.0.1"}, {"address": "10.1.0.1", "port": 80, "forward": "tunnel"}]),
        "config[0].destinations[1]",
        "'10.1.0.1:80'",
    ),
}


@pytest.mark.parametrize("service, option, value", REFUSED.values(), ids=REFUSED)
def test_refused(service, option, value):
    with pytest.raises(OptionError) as caught:
        settled(service)
    assert caught.value.option == option
    assert str(caught.value).startswith(f"{option}: {value}")


def test_a_service_named_twice_is_refused_after_normalising():
    with pytest.raises(OptionError, match=r"config\[1\]: 'fwmark 16 ipv4': named twice, in config\[0\]"):
        settled({"fwmark": 16}, {"fwmark": "0x10"})


def test_left_out_options_keep_what_is_held():
    (wanted,) = config.parse([web(persistence={"timeout": 60})])
    held = model.service_of(model.AF_INET, "sh", 0x10, 300, 0xFFFFFF00, "sip")
    assert config.settle_service(wanted, held) == held._replace(timeout=60)


def test_flags_go_with_their_scheduler():
    (wanted,) = config.parse([web(scheduler="rr")])
    held = model.service_of(model.AF_INET, "sh", 0x10, 0, 0)
    assert config.settle_service(wanted, held).flags == 0


def test_a_tunnel_of_another_type_starts_from_the_defaults():
    (wanted,) = config.parse([real(tunnel={"type": "gre"})])
    ((key, one),) = wanted.destinations.items()
    held = model.destination_of(model.TUNNEL, 5, tunnel=model.Tunnel(model.GUE, 6080, 2))
    assert config.settle_destination(wanted.key, key, one, held) == held._replace(tunnel=model.Tunnel(model.GRE))
