# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each state, from a table that ipvsadm made to one that ipvsadm prints; the module as Ansible runs it."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.netstate.kernel.plugins.filter.ipvs_rules_parse import ipvs_rules_parse
from ansible_collections.netstate.kernel.plugins.filter.ipvs_rules_render import ipvs_rules_render
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import services
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError

DATA = pathlib.Path(__file__).parents[2] / "unit" / "data"

TABLE = """\
-A -t 10.0.0.1:80 -s sh -p 600 -M 255.255.255.0 -b sh-port
-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 5
-a -t 10.0.0.1:80 -r 10.1.0.2:80 -i -w 2 --tun-type gue --tun-port 6080 --tun-csum
-A -t 10.0.0.2:80 -s rr
-a -t 10.0.0.2:80 -r 10.1.0.1:80 -g -w 1
-A -u 10.0.0.1:53 -s rr -o
-A -t [2001:db8::1]:80 -s rr
-A -f 7 -s rr
-a -f 7 -r 10.1.0.1:0 -g -w 1
-A -f 7 -6 -s rr
"""
WEB = {"protocol": "tcp", "address": "10.0.0.1", "port": 80}
WORDS = "-t 10.0.0.1:80"
ONE, TWO, THREE = {"address": "10.1.0.1"}, {"address": "10.1.0.2"}, {"address": "10.1.0.3"}
SERVICE = f"-A {WORDS} -s sh -p 600 -M 255.255.255.0 -b sh-port"
FIRST = f"-a {WORDS} -r 10.1.0.1:80 -m -w 5"
SECOND = f"-a {WORDS} -r 10.1.0.2:80 -i -w 2 --tun-type gue --tun-port 6080 --tun-csum"


def web(*destinations, **options):
    return {**WEB, **({"destinations": list(destinations)} if destinations else {}), **options}


# State, config, further options; then the commands, in order, and the lines of the table that are gone and those that are new.
STATES = {
    # merged: what is not named stays, of the table, the service and the destination.
    "merged, the same": ("merged", [web(ONE, TWO)], {}, [], [], []),
    "merged, a destination": ("merged", [web(THREE)], {}, [f"-a {WORDS} -r 10.1.0.3:80 -g -w 1"], [], [f"-a {WORDS} -r 10.1.0.3:80 -g -w 1"]),
    "merged, a weight": (
        "merged",
        [web({**TWO, "weight": 0})],
        {},
        [f"-e {WORDS} -r 10.1.0.2:80 -i -w 0 --tun-type gue --tun-port 6080 --tun-csum"],
        [SECOND],
        [SECOND.replace("-w 2", "-w 0")],
    ),
    "merged, time of persistence": (
        "merged",
        [web(persistence={"timeout": 60})],
        {},
        [f"-E {WORDS} -s sh -p 60 -M 255.255.255.0 -b sh-port"],
        [SERVICE],
        [SERVICE.replace("600", "60")],
    ),
    # A flag means another thing to another scheduler.
    "merged, a scheduler": (
        "merged",
        [web(scheduler="wrr")],
        {},
        [f"-E {WORDS} -s wrr -p 600 -M 255.255.255.0"],
        [SERVICE],
        [f"-A {WORDS} -s wrr -p 600 -M 255.255.255.0"],
    ),
    "merged, how packets get there": (
        "merged",
        [web({**ONE, "forward": "direct"})],
        {},
        [f"-e {WORDS} -r 10.1.0.1:80 -g -w 5"],
        [FIRST],
        [FIRST.replace("-m", "-g")],
    ),
    "merged, a fwmark in hexadecimal": (
        "merged",
        [{"fwmark": "0x7", "scheduler": "wrr"}],
        {},
        ["-E -f 7 -s wrr"],
        ["-A -f 7 -s rr"],
        ["-A -f 7 -s wrr"],
    ),
    "merged, a service": (
        "merged",
        [{"protocol": "sctp", "address": "2001:db8:0:0::2", "port": 9, "destinations": [{"address": "2001:db8::3", "weight": 4}]}],
        {},
        ["-A --sctp-service [2001:db8::2]:9 -s wlc", "-a --sctp-service [2001:db8::2]:9 -r [2001:db8::3]:9 -g -w 4"],
        [],
        ["-A --sctp-service [2001:db8::2]:9 -s wlc", "-a --sctp-service [2001:db8::2]:9 -r [2001:db8::3]:9 -g -w 4"],
    ),
    # replaced: what is left out takes its default, other destinations go, new ones come first; other services stay.
    "replaced": (
        "replaced",
        [web({**ONE, "forward": "masquerade", "weight": 5}, THREE, scheduler="rr")],
        {},
        [f"-a {WORDS} -r 10.1.0.3:80 -g -w 1", f"-E {WORDS} -s rr", f"-d {WORDS} -r 10.1.0.2:80"],
        [SERVICE, SECOND],
        [f"-A {WORDS} -s rr", f"-a {WORDS} -r 10.1.0.3:80 -g -w 1"],
    ),
    "replaced, a tunnel without its type": (
        "replaced",
        [web({**ONE, "forward": "masquerade", "weight": 5}, {**TWO, "forward": "tunnel"}, scheduler="rr")],
        {},
        [f"-E {WORDS} -s rr", f"-e {WORDS} -r 10.1.0.2:80 -i -w 1 --tun-type ipip"],
        [SERVICE, SECOND],
        [f"-A {WORDS} -s rr", f"-a {WORDS} -r 10.1.0.2:80 -i -w 1 --tun-type ipip"],
    ),
    "replaced, destinations left out": ("replaced", [web(scheduler="rr")], {}, [f"-E {WORDS} -s rr"], [SERVICE], [f"-A {WORDS} -s rr"]),
    "replaced, no destinations": (
        "replaced",
        [web(scheduler="rr", destinations=[])],
        {},
        [f"-E {WORDS} -s rr", f"-d {WORDS} -r 10.1.0.1:80", f"-d {WORDS} -r 10.1.0.2:80"],
        [SERVICE, FIRST, SECOND],
        [f"-A {WORDS} -s rr"],
    ),
    # overridden: within the scope nothing else remains.
    "overridden, fwmarks": (
        "overridden",
        [],
        {"scope": {"fwmarks": ["0x7"], "families": ["ipv6"]}},
        ["-D -f 7 -6"],
        ["-A -f 7 -6 -s rr"],
        [],
    ),
    "overridden, protocols": ("overridden", [], {"scope": {"protocols": ["udp"]}}, ["-D -u 10.0.0.1:53"], ["-A -u 10.0.0.1:53 -s rr -o"], []),
    "overridden, families": (
        "overridden",
        [],
        {"scope": {"families": ["ipv6"]}},
        ["-D -t [2001:db8::1]:80", "-D -f 7 -6"],
        ["-A -t [2001:db8::1]:80 -s rr", "-A -f 7 -6 -s rr"],
        [],
    ),
    "overridden, addresses": (
        "overridden",
        [web(scheduler="rr")],
        {"scope": {"addresses": ["10.0.0.0/31", "2001:db8::/32"]}},
        [f"-E {WORDS} -s rr", "-D -u 10.0.0.1:53", "-D -t [2001:db8::1]:80"],
        [SERVICE, "-A -u 10.0.0.1:53 -s rr -o", "-A -t [2001:db8::1]:80 -s rr"],
        [f"-A {WORDS} -s rr"],
    ),
    # deleted: the service, or only the destinations that are listed; what is not there is no matter.
    "deleted": ("deleted", [web()], {}, [f"-D {WORDS}"], [SERVICE, FIRST, SECOND], []),
    "deleted, a destination": ("deleted", [web(TWO, THREE)], {}, [f"-d {WORDS} -r 10.1.0.2:80"], [SECOND], []),
    "deleted, a fwmark": ("deleted", [{"fwmark": 7, "family": "ipv6"}], {}, ["-D -f 7 -6"], ["-A -f 7 -6 -s rr"], []),
    "deleted, nothing": ("deleted", [{"fwmark": 8}, web(THREE)], {}, [], [], []),
}


TOLD = ("changed", "before", "after", "commands", "operations", "draining", "untouched", "diff")


@pytest.mark.parametrize("state, config, options, commands, gone, new", STATES.values(), ids=STATES)
def test_each_state(director, state, config, options, commands, gone, new):
    director.command("ipvsadm", "-R", input=TABLE)
    before = set(TABLE.splitlines())
    asked = {"state": state, **options}
    told = director.services(*config, check=True, **asked)
    assert set(director.rules().splitlines()) == before
    done = director.module("services", diff=True, config=config, **asked)
    assert not done["failed"], done
    assert set(director.rules().splitlines()) == before - set(gone) | set(new)
    assert (done["changed"], done["commands"]) == (bool(commands), commands)
    assert {key: told[key] for key in TOLD} == {key: done[key] for key in TOLD}
    # It is the whole truth: the text of what was read before and afterwards differs by just that.
    shown = [set(done["diff"][side].splitlines()) for side in ("before", "after")]
    assert (shown[0] - shown[1], shown[1] - shown[0]) == (set(gone), set(new))
    again = director.services(*config, **asked)
    assert (again["changed"], again["commands"], again["after"]) == (False, [], done["after"])


def test_all(director):
    director.command("ipvsadm", "-R", input=TABLE)
    done = director.module("services", state="overridden", config=[], scope={"all": True})
    assert (done["operations"]["delete_service"], done["after"], done["untouched"]) == (6, [], [])
    assert director.rules() == ""


def test_what_is_outside_the_scope_is_told_and_may_not_be_named(director):
    director.command("ipvsadm", "-R", input=TABLE)
    done = director.services(state="overridden", scope={"addresses": ["10.0.0.2"]})
    assert done["untouched"] == ["fwmark 7 ipv4", "fwmark 7 ipv6", "tcp 10.0.0.1:80", "tcp [2001:db8::1]:80", "udp 10.0.0.1:53"]
    with pytest.raises(OptionError, match=r"config\[0\]: 'tcp 10.0.0.1:80': it is outside the scope"):
        director.services(WEB, state="overridden", scope={"addresses": ["10.0.0.2"]})
    for wrong in ({"state": "overridden", "config": []}, {"state": "replaced", "config": [WEB], "scope": {"all": True}}, {"state": "merged"}):
        assert director.module("services", **wrong)["failed"]


def test_from_text_to_text(director):
    """gathered, rendered, parsed, the filters and ipvsadm say the same of one table."""
    director.command("ipvsadm", "-R", input=TABLE)
    gathered = director.module("services", state="gathered")["gathered"]
    rendered = services.render(gathered)["rendered"]
    assert sorted(rendered.splitlines()) == sorted(TABLE.splitlines())
    assert services.parse(director.ipvsadm("-Sn"), False)["parsed"] == gathered
    assert (ipvs_rules_parse(rendered), ipvs_rules_render(gathered)) == (gathered, rendered)
    director.ipvsadm("-C")
    director.command("ipvsadm", "-R", input=rendered)
    assert director.gathered() == gathered


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ipvsadm-Sn.fwmark-tunnel.txt", "proc_net_ip_vs.mixed.txt"])
def test_real_texts(director, name):
    """A file that somebody kept is applied, rendered, and equal; and equal to what ipvsadm prints."""
    config = ipvs_rules_parse((DATA / name).read_text(encoding="ascii"))
    done = director.services(*config, state="overridden", scope={"all": True})
    assert done["after"] == config
    printed = director.ipvsadm("-Sn")
    assert ipvs_rules_parse(printed) == config
    assert sorted(ipvs_rules_render(config).splitlines()) == sorted(printed.splitlines())
    assert ipvs_rules_parse(director.command("cat", "/proc/net/ip_vs")) == config


def test_text_of_a_persistent_service_in_proc(director):
    """Its time is told in ticks, of which only the reader knows how many a second has."""
    director.ipvsadm("-A", "-t", "10.0.0.1:80", "-s", "rr", "-p", "600", "-M", "255.255.255.0")
    text = director.command("cat", "/proc/net/ip_vs")
    with pytest.raises(OptionError, match=r"line 4: .* \(hz\)"):
        services.parse(text, False)
    found = [services.parse(text, False, hz)["parsed"] for hz in (100, 250, 300, 1000)]
    assert director.gathered() in found


# Options, and words of the failure: option and value first.
REFUSED = {
    "protocol": ([dict(WEB, protocol="icmp")], ["config[1].protocol: 'icmp'"]),
    "port": ([dict(WEB, port=65536)], ["config[1].port: 65536"]),
    "mixed families": ([web({"address": "2001:db8::5"})], ["config[1].destinations[0].address: '2001:db8::5'", "tunnel"]),
    "weight": ([web({**ONE, "weight": -1})], ["config[1].destinations[0].weight: -1"]),
    "threshold": ([web({**ONE, "upper_threshold": 1, "lower_threshold": 2})], ["config[1].destinations[0].lower_threshold: 2"]),
    "gue": ([web({**ONE, "forward": "tunnel", "tunnel": {"type": "gue"}})], ["config[1].destinations[0].tunnel", "needs a port"]),
    "persistence": ([web(persistence={"timeout": 2678401})], ["config[1].persistence.timeout: 2678401"]),
    "netmask": ([web(persistence={"netmask": "0"})], ["config[1].persistence.netmask: '0'"]),
    "service twice": ([{"fwmark": 16}, {"fwmark": "0x10"}], ["config[2]: 'fwmark 16 ipv4': named twice, in config[1]"]),
    "destination twice": ([web(ONE, {**ONE, "port": 80})], ["config[1].destinations[1]: '10.1.0.1:80': named twice"]),
    "scheduler": ([web(scheduler="fastest")], ["config[1].scheduler: 'fastest'", "there are: ", "loadable: "]),
    "engine": ([web(persistence={"engine": "none"})], ["config[1].persistence.engine: 'none'", "loadable: "]),
    "one packet": ([web(one_packet=True)], ["config[1].one_packet: True", "udp and for fwmark"]),
    "port 0": ([dict(WEB, port=0)], ["config[1].port: 0", "persistence"]),
    "fwmark": ([{"fwmark": "0x100000000"}], ["config[1].fwmark: '0x100000000'"]),
    "family": ([dict(WEB, family="ipv6")], ["config[1].family: 'ipv6'"]),
}


@pytest.mark.thorough
@pytest.mark.parametrize("config, words", REFUSED.values(), ids=REFUSED)
def test_refused_before_anything_is_sent(director, config, words):
    # The good service in front would be there, had anything been sent.
    with pytest.raises(OptionError) as caught:
        director.services({"fwmark": 5, "scheduler": "rr"}, *config)
    for word in words:
        assert word in str(caught.value)
    assert director.rules() == ""
