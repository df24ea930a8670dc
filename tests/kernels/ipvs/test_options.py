# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option against what ipvsadm prints, and the other way round."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import config, rules
from ipvs_director import Director

DATA = pathlib.Path(__file__).parents[2] / "unit" / "data"
WEB = {"protocol": "tcp", "address": "10.0.0.1", "port": 80}


def web(**options):
    return dict(WEB, **options)


def rendered(services, dialect=rules.LOSSLESS):
    return rules.render(config.table(config.parse(services)), dialect)


def real(**options):
    return web(scheduler="rr", destinations=[dict({"address": "10.1.0.1"}, **options)])


# What is wanted, and the lines of ipvsadm -Sn. A line that starts with -a is the destination.
OPTIONS = {
    "defaults": (web(), ["-A -t 10.0.0.1:80 -s wlc"]),
    "udp": ({**WEB, "protocol": "udp"}, ["-A -u 10.0.0.1:80 -s wlc"]),
    "sctp": ({**WEB, "protocol": "sctp"}, ["-A --sctp-service 10.0.0.1:80 -s wlc"]),
    "ipv6": (web(address="2001:db8::1"), ["-A -t [2001:db8::1]:80 -s wlc"]),
    "fwmark": ({"fwmark": "0x10"}, ["-A -f 16 -s wlc"]),
    "fwmark ipv6": ({"fwmark": 16, "family": "ipv6"}, ["-A -f 16 -6 -s wlc"]),
    "highest fwmark": ({"fwmark": 4294967295}, ["-A -f -1 -s wlc"]),
    "scheduler": (web(scheduler="wrr"), ["-A -t 10.0.0.1:80 -s wrr"]),
    "no scheduler": (web(scheduler="none"), ["-A -t 10.0.0.1:80 -s none"]),
    "sh flags": (web(scheduler="sh", scheduler_flags=["sh-port", "sh-fallback"]), ["-A -t 10.0.0.1:80 -s sh -b sh-fallback,sh-port"]),
    "mh flag": (web(scheduler="mh", scheduler_flags=["mh-port"]), ["-A -t 10.0.0.1:80 -s mh -b mh-port"]),
    "flags": (web(scheduler_flags=["flag-1", "flag-3"]), ["-A -t 10.0.0.1:80 -s wlc -b flag-1,flag-3"]),
    "persistence": (web(persistence={}), ["-A -t 10.0.0.1:80 -s wlc -p 360"]),
    "longest persistence": (web(persistence={"timeout": 2678400}), ["-A -t 10.0.0.1:80 -s wlc -p 2678400"]),
    "port 0": (web(port=0, persistence={"timeout": 60}), ["-A -t 10.0.0.1:0 -s wlc -p 60"]),
    "netmask": (web(persistence={"netmask": 20}), ["-A -t 10.0.0.1:80 -s wlc -p 360 -M 255.255.240.0"]),
    "netmask ipv6": (web(address="2001:db8::1", persistence={"netmask": 64}), ["-A -t [2001:db8::1]:80 -s wlc -p 360 -M 64"]),
    "engine": ({**WEB, "protocol": "udp", "persistence": {"engine": "sip"}}, ["-A -u 10.0.0.1:80 -s wlc -p 360 --pe sip"]),
    "one packet": ({**WEB, "protocol": "udp", "one_packet": True}, ["-A -u 10.0.0.1:80 -s wlc -o"]),
    "one packet fwmark": ({"fwmark": 1, "one_packet": True}, ["-A -f 1 -s wlc -o"]),
    "destination": (real(), ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 1"]),
    "destination port": (real(port=8080, forward="masquerade"), ["-a -t 10.0.0.1:80 -r 10.1.0.1:8080 -m -w 1"]),
    "weight 0": (real(weight=0), ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 0"]),
    "highest weight": (real(weight=2147483647), ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 2147483647"]),
    "ipip": (real(forward="tunnel"), ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -i -w 1 --tun-type ipip"]),
    "gue": (
        real(forward="tunnel", tunnel={"type": "gue", "port": 6080}),
        ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -i -w 1 --tun-type gue --tun-port 6080 --tun-nocsum"],
    ),
    "gue csum": (
        real(forward="tunnel", tunnel={"type": "gue", "port": 6080, "checksum": "csum"}),
        ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -i -w 1 --tun-type gue --tun-port 6080 --tun-csum"],
    ),
    "gue remcsum": (
        real(forward="tunnel", tunnel={"type": "gue", "port": 6080, "checksum": "remcsum"}),
        ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -i -w 1 --tun-type gue --tun-port 6080 --tun-remcsum"],
    ),
    "gre": (
        real(forward="tunnel", tunnel={"type": "gre", "checksum": "csum"}),
        ["-a -t 10.0.0.1:80 -r 10.1.0.1:80 -i -w 1 --tun-type gre --tun-csum"],
    ),
    "other family": (
        real(address="2001:db8::5", forward="tunnel"),
        ["-a -t 10.0.0.1:80 -r [2001:db8::5]:80 -i -w 1 --tun-type ipip"],
    ),
    "ipv6 destination": (
        {"fwmark": 1, "family": "ipv6", "scheduler": "rr", "destinations": [{"address": "2001:db8::5", "port": 0}]},
        ["-a -f 1 -6 -r [2001:db8::5]:0 -g -w 1"],
    ),
}


@pytest.mark.parametrize("service, lines", OPTIONS.values(), ids=OPTIONS)
def test_each_option(director, service, lines):
    told = director.services(service, check=True)
    assert director.rules() == ""
    done = director.services(service)
    printed = director.rules().splitlines()
    assert set(lines) <= set(printed) and len(printed) == len(service.get("destinations", [])) + 1
    assert (told["commands"], told["after"]) == (done["commands"], done["after"])
    # Twice is once, in each state that has a say.
    for state in ("merged", "replaced", "overridden"):
        scope = {"scope": {"all": True}} if state == "overridden" else {}
        again = director.services(service, state=state, **scope)
        assert (again["changed"], again["commands"]) == (False, [])
    # From what ipvsadm made, nothing is left to do.
    director.ipvsadm("-C")
    for command in done["commands"]:
        director.ipvsadm(*command.split())
    assert director.services(service)["commands"] == []
    assert director.services(*done["after"], state="replaced")["commands"] == []


def test_thresholds(director):
    director.services(real(upper_threshold=100, lower_threshold=50))
    row = director.ipvsadm("-Ln", "--thresholds").splitlines()[-1].split()
    assert row[1:4] == ["10.1.0.1:80", "100", "50"]
    director.services(real(upper_threshold=2147483647, lower_threshold=0))
    assert director.services(real(upper_threshold=2147483647), state="replaced")["commands"] == []


CHANGES = [
    web(scheduler="sh", scheduler_flags=["sh-port"], persistence={"timeout": 60, "netmask": 24}),
    web(scheduler="rr", persistence={"engine": "sip"}),
    web(scheduler="rr"),
    real(forward="tunnel", tunnel={"type": "gue", "port": 6080, "checksum": "csum"}, weight=7, upper_threshold=9, lower_threshold=3),
    real(forward="tunnel", tunnel={"type": "gre"}),
    real(forward="tunnel"),
    real(forward="masquerade", upper_threshold=10),
    real(),
]


@pytest.mark.thorough
def test_every_change_arrives(director):
    """From each to each other: nothing of the former stays."""
    for before in CHANGES:
        for after in CHANGES:
            director.services(before, state="replaced")
            director.services(after, state="replaced")
            assert director.services(after, state="replaced")["commands"] == []
            if "destinations" in after:
                assert rendered(director.gathered()) == rendered([after])


def test_a_real_file(director):
    text = (DATA / "ipvsadm-Sn.fwmark-tunnel.txt").read_text()
    parsed = rules.parse(text)
    director.services(*parsed, state="overridden", scope={"all": True})
    gathered = director.gathered()
    assert gathered == parsed
    ours = rendered(gathered)
    assert sorted(ours.splitlines()) == director.rules().splitlines()
    # The file is older than the types of tunnels.
    assert sorted(ours.replace(" --tun-type ipip", "").splitlines()) == sorted(text.splitlines())


def test_proc_text(director):
    # Without a destination, the family of a fwmark service is not told.
    director.services(OPTIONS["ipv6 destination"][0], OPTIONS["ipv6"][0], OPTIONS["sctp"][0], OPTIONS["no scheduler"][0])
    director.services(real(forward="masquerade"), web(port=81))
    assert rules.parse(director.command("cat", "/proc/net/ip_vs")) == director.gathered()


def test_what_is_rendered_for_ipvsadm_is_read_by_it(director):
    services = []
    for number, (service, _lines) in enumerate(OPTIONS.values()):
        service = dict(service, **({"fwmark": 100 + number} if "fwmark" in service else {"address": f"10.0.{number}.1"}))
        if "2001" not in str(OPTIONS[list(OPTIONS)[number]][0]):
            services.append(service)
    text = rendered(services, rules.IPVSADM)
    director.command("ipvsadm", "-R", input=text)
    assert director.services(*services, state="overridden", scope={"all": True})["commands"] == []


@pytest.mark.thorough
def test_three_hundred_destinations(director):
    destinations = [{"address": f"10.1.{number // 200}.{number % 200 + 1}", "forward": "masquerade"} for number in range(300)]
    done = director.services(web(destinations=destinations))
    assert done["operations"]["add_destination"] == 300
    assert len(director.rules().splitlines()) == 301
    assert director.services(web(destinations=destinations), state="replaced")["commands"] == []
    done = director.services(web(destinations=destinations[:150]), state="replaced")
    assert done["operations"]["delete_destination"] == 150
    assert len(director.rules().splitlines()) == 151


def test_scope_and_what_is_left_alone(director):
    director.ipvsadm("-A", "-t", "192.0.2.1:80", "-s", "rr")
    director.ipvsadm("-A", "-f", "7", "-s", "rr")
    director.ipvsadm("-A", "-u", "10.0.0.9:53", "-s", "rr")
    result = director.services(real(), state="overridden", scope={"addresses": ["10.0.0.0/8"]})
    assert result["untouched"] == ["fwmark 7 ipv4", "tcp 192.0.2.1:80"]
    assert result["commands"] == ["-A -t 10.0.0.1:80 -s rr", "-a -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 1", "-D -u 10.0.0.9:53"]
    assert result["diff"]["before"] == "-A -u 10.0.0.9:53 -s rr\n"
    assert director.services(WEB, state="deleted")["commands"] == ["-D -t 10.0.0.1:80"]
    assert len(director.rules().splitlines()) == 2


def test_another_namespace_is_not_touched(director):
    director.services(real())
    other = Director()
    try:
        other.command("ip", "link", "set", "lo", "up")
        other.services(state="overridden", scope={"all": True})
        assert other.services(WEB)["changed"]
        assert len(director.rules().splitlines()) == 2
    finally:
        other.close()
