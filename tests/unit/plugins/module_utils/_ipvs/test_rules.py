# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import config, model, names, rules
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.wording import RulesError
from hypothesis import given
from ipvs_tables import tables

DATA = pathlib.Path(__file__).parents[3] / "data"


def one_service(line):
    ((key, held),) = rules.parse_table(line).items()
    return key, held.service


def one_destination(service, line):
    ((key, held),) = rules.parse_table(f"{service}\n{line}").items()
    ((destination, one),) = held.destinations.items()
    return destination, one


@given(tables())
def test_text_is_read_back(table):
    text = rules.render(table)
    assert rules.parse_table(text) == table
    assert rules.render(rules.parse_table(text)) == text


@given(tables())
def test_the_option_form_goes_through_text(table):
    assert rules.parse(rules.render(table)) == config.as_config(table)


# As ipvsadm 1.31 printed them (-Sn) on 6.1 and 7.2.
PRINTED = """\
-A -t 10.0.0.1:80 -s wrr
-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 0
-a -t 10.0.0.1:80 -r 10.1.0.2:80 -i -w 1 --tun-type gue --tun-port 6080 --tun-csum
-a -t 10.0.0.1:80 -r 10.1.0.3:80 -i -w 1 --tun-type gre --tun-csum
-a -t 10.0.0.1:80 -r 10.1.0.4:80 -i -w 1 --tun-type gue --tun-port 6080 --tun-remcsum
-a -t 10.0.0.1:80 -r [2001:db8::5]:80 -i -w 1 --tun-type ipip
-A -t 10.0.0.2:0 -s rr -p 360
-A -t 10.0.0.3:443 -s mh -p 600 -M 255.255.255.0 -b mh-port
-A -t 10.0.0.9:80 -s wlc -b flag-1
-A -t 10.0.0.11:80 -s wlc -b flag-1,flag-2,flag-3
-A -t 10.0.0.12:80 -s none
-A -t 10.0.0.13:80 -s rr --pe sip
-A -t 224.0.0.1:80 -s wlc
-A -t 255.255.255.255:80 -s wlc
-A -u 10.0.0.1:53 -s sh -o -b sh-fallback,sh-port
-A -u 10.0.0.9:5060 -s rr -p 60 --pe sip -o
-A --sctp-service 10.0.0.10:80 -s lc
-A -t [2001:db8::1]:443 -s rr -p 600 -M 64
-A -f 1 -s rr -o
-a -f 1 -r 10.1.0.1:0 -g -w 1
-A -f 16 -6 -s rr
-a -f 16 -6 -r [2001:db8::26]:0 -g -w 1
"""


def test_what_ipvsadm_prints_is_what_we_print():
    assert rules.render(rules.parse_table(PRINTED), rules.IPVSADM) == PRINTED


# Said in two ways, meant as one.
SAME = {
    "comment": ("# web\n\n-A -t 10.0.0.1:80 -s rr # main", "-A -t 10.0.0.1:80 -s rr"),
    "prefix": ("ipvsadm -A -t 10.0.0.1:80\n  /sbin/ipvsadm -A -t 10.0.0.2:80", "-A -t 10.0.0.1:80 -s wlc\n-A -t 10.0.0.2:80 -s wlc"),
    "long": (
        "--add-service --tcp-service=10.0.0.1:80 --scheduler rr --persistent=50 --netmask 255.255.0.0",
        "-A -t 10.0.0.1:80 -s rr -p 50 -M 255.255.0.0",
    ),
    "joined": ("-At 10.0.0.1:80 -srr -p200", "-A -t 10.0.0.1:80 -s rr -p 200"),
    "joined server": ("-A -f 1\n-af1 -r10.1.0.1 -mw5", "-A -f 1\n-a -f 1 -r 10.1.0.1:0 -m -w 5"),
    "persistence without a value": ("-A -t 10.0.0.1 -p", "-A -t 10.0.0.1:0 -p 360"),
    "persistence before a word": ("-A -t 10.0.0.1:80 -p -s rr", "-A -t 10.0.0.1:80 -s rr -p 360"),
    "other order": ("-p 60 -s rr -t 10.0.0.1:80 -A", "-A -t 10.0.0.1:80 -s rr -p 60"),
    "negative fwmark": ("-A -f -1 -s rr", "-A -f 4294967295 -s rr"),
    "lowest fwmark": ("-A -f -2147483648 -s rr", "-A -f 2147483648 -s rr"),
    "hexadecimal fwmark": ("-A -f 0x10 -s rr", "-A -f 16 -s rr"),
    "ipv6 without brackets": ("-A -t 2001:db8::9 -s rr -p 1", "-A -t [2001:db8::9]:0 -s rr -p 1"),
    "brackets without port": ("-A -t [2001:db8::9] -s rr -p 1", "-A -t [2001:db8::9]:0 -s rr -p 1"),
    "server without port": ("-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1", "-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1:80 -g -w 1"),
    "mark without port": ("-A -f 1\n-a -f 1 -r 10.1.0.1", "-A -f 1\n-a -f 1 -r 10.1.0.1:0"),
    "ipv6 server": (
        "-A -t [2001:db8::9]:80\n-a -t [2001:db8::9]:80 -r [2001:db8::a]",
        "-A -t [2001:db8::9]:80\n-a -t [2001:db8::9]:80 -r [2001:db8::a]:80",
    ),
    "thresholds": (
        "-A -f 1\n-a -f 1 -r 10.1.0.1 --u-threshold 9 --l-threshold 5",
        "-A -f 1\n-a -f 1 -r 10.1.0.1:0 -g -w 1 -x 9 -y 5",
    ),
    "no checksum": ("-A -f 1\n-a -f 1 -r 10.1.0.1 -i --tun-nocsum", "-A -f 1\n-a -f 1 -r 10.1.0.1 --ipip --tun-type ipip"),
    "flag names": ("-A -t 10.0.0.1:80 -s sh --sched-flags flag-2,flag-1", "-A -t 10.0.0.1:80 -s sh -b sh-fallback,sh-port"),
    "windows line ends": ("-A -t 10.0.0.1:80 -s rr\r\n", "-A -t 10.0.0.1:80 -s rr"),
}


@pytest.mark.parametrize("one, other", SAME.values(), ids=SAME)
def test_same(one, other):
    assert rules.parse_table(one) == rules.parse_table(other)


REFUSED = {
    "-A -t 10.0.0.1:80 -z": "unknown word -z",
    "-A -t 10.0.0.1:80 rr": "unknown word rr",
    "-A -t 10.0.0.1:80 --frobnicate 5": "unknown word --frobnicate",
    "ip addr add 10.0.0.1/32 dev lo": "unknown word ip",
    "-t 10.0.0.1:80": "neither -A nor -a",
    "-C": "-C describes no table",
    "-D -t 10.0.0.1:80": "-D describes no table",
    "--set 900 120 300": "--set describes no table",
    "-A -a -t 10.0.0.1:80": "a second command",
    "-A": "give one of -t",
    "-A -t 10.0.0.1:80 -u 10.0.0.1:80": "give one of -t",
    "-A -t 10.0.0.1:80 -t 10.0.0.2:80": "-t is given twice",
    "-A -t": "-t needs a value",
    "-A -t 10.0.0.1:80 -s": "-s needs a value",
    "-A -t 10.0.0.1:80 -b": "-b needs a value",
    "-A -t 10.0.0.1:80 -w 5": "-w does not go with -A",
    "-A -t 10.0.0.1:http": "port http is no number: save with ipvsadm -Sn",
    "-A -t www.example.com:80": "host www.example.com is no number",
    "-A -t 10.0.0.1:70000": "port 70000 is out of range",
    "-A -t 10.0.0.1:": "port '' is no number",
    "-A -t 10.0.0.1:" + "9" * 5000: "is out of range",
    "-A -f -" + "9" * 5000: "give a whole number",
    "-A -t [2001:db8::1:80": "is no address with a port",
    "-A -t 10.0.0.1": "port: 0: port 0 stands for every port",
    "-A -t 10.0.0.1:80 -o": "one_packet: True: it is for udp",
    "-A -t 10.0.0.1:80 -p 0": "-p 0",
    "-A -t 10.0.0.1:80 -p 2678401": "persistence.timeout: '2678401'",
    "-A -t 10.0.0.1:80 -s rr -b sh-port": "scheduler_flags: 'sh-port'",
    "-A -f 0": "fwmark: '0'",
    "-A -f -2147483649": "fwmark: '-2147483649'",
    "-a -t 10.0.0.1:80 -r 10.1.0.1": "service tcp 10.0.0.1:80 was not added before",
    "-A -f 1\n-A -f 0x1": "service fwmark 1 ipv4 was there before",
    "-A -f 1\n-a -f 1": "-a needs -r",
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -s rr": "-s does not go with -a",
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -m -g": "-m and -g exclude each other",
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -g --tun-type gre": "tunnel: {",
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -i --tun-type gue": "type gue needs a port",
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -i --tun-csum --tun-remcsum": "exclude each other",
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -w -1": "weight: '-1'",
    "-A -f 1\n-a -f 1 -r 10.1.0.1\n-a -f 1 -r 10.1.0.1:0": "destination 10.1.0.1:0 was there before",
}


@pytest.mark.parametrize("text, why", REFUSED.items(), ids=REFUSED)
def test_refused_with_line_and_text(text, why):
    with pytest.raises(RulesError) as caught:
        rules.parse_table("# first\n" + text)
    last = text.splitlines()[-1]
    assert caught.value.line == 1 + len(text.splitlines())
    assert str(caught.value).startswith(f"line {caught.value.line}: {last}: ")
    assert why in str(caught.value)


def test_names_are_resolved_on_request():
    known = rules.Names(lambda *name: {("http", "tcp"): 80}[name], {"www": "10.0.0.1"}.__getitem__)
    assert rules.parse_table("-A -t www:http", known) == rules.parse_table("-A -t 10.0.0.1:80")


def test_unknown_names_are_refused():
    def unknown(*_words):
        raise OSError

    with pytest.raises(RulesError, match="port htp is not known here"):
        rules.parse_table("-A -t 10.0.0.1:htp", rules.Names(unknown, unknown))


@pytest.mark.parametrize("endpoint", ["10.0.0.1:ht\0tp", "www..example:80", "w" * 64 + ":80", "\ud800:80"])
def test_what_can_be_no_name_is_not_known(endpoint):
    with pytest.raises(RulesError, match="is not known here"):
        rules.parse_table("-A -t " + endpoint, names.SYSTEM)


BEYOND_IPVSADM = {
    "-A -f 1\n-a -f 1 -r 10.1.0.1 -x 65536": "thresholds up to 65535",
    "-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1:8080 -g": "with -g, ipvsadm gives a destination the port of its service",
    "-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1:8080 -i": "with -i, ipvsadm gives a destination the port of its service",
}


@pytest.mark.parametrize("text, why", BEYOND_IPVSADM.items(), ids=BEYOND_IPVSADM)
def test_what_ipvsadm_does_not_read_back(text, why):
    table = rules.parse_table(text)
    assert rules.parse_table(rules.render(table)) == table
    with pytest.raises(RulesError, match=why):
        rules.render(table, rules.IPVSADM)


@pytest.mark.parametrize("service, way", [("-t 10.0.0.1:80", "-m"), ("-f 1", "-g"), ("-f 1", "-i")])
def test_a_port_of_its_own_that_ipvsadm_keeps(service, way):
    table = rules.parse_table(f"-A {service}\n-a {service} -r 10.1.0.1:8080 {way}")
    assert "10.1.0.1:8080" in rules.render(table, rules.IPVSADM)


def test_what_only_a_kernel_holds_has_words_in_our_dialect_alone():
    icmp = model.Key(model.AF_INET, 1, bytes(4), 80)
    held = model.Held(model.service_of(model.AF_INET, "rr", 0, 0, 0), {})
    assert rules.render({icmp: held}) == "-A --protocol=1 0.0.0.0:80 -s rr\n"
    with pytest.raises(RulesError, match="no word for protocol 1"):
        rules.render({icmp: held}, rules.IPVSADM)


def test_a_real_file():
    text = (DATA / "ipvsadm-Sn.fwmark-tunnel.txt").read_text()
    rendered = rules.render(rules.parse_table(text))
    assert sorted(rendered.replace(" --tun-type ipip", "").splitlines()) == sorted(text.splitlines())
