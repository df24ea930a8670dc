# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Timeouts and sync daemons against what ipvsadm prints."""

from __future__ import annotations

import re
import time

import pytest


@pytest.fixture
def wired(director):
    director.command("ip", "link", "add", "d0", "type", "dummy")
    director.command("ip", "addr", "add", "192.0.2.1/24", "dev", "d0")
    director.command("ip", "link", "set", "d0", "up")
    yield director
    # A daemon that has only just been started takes long to stop.
    time.sleep(0.5)
    director.module("settings", master={"state": "absent"}, backup={"state": "absent"})


def daemons(director):
    return sorted(re.sub(r"\s+", " ", line) for line in director.ipvsadm("-L", "--daemon").splitlines() if "daemon" in line)


def test_timeouts(director):
    told = director.module("settings", check=True, diff=True, timeouts={"tcp": 901, "udp": 299})
    assert told["commands"] == ["--set 901 0 299"]
    assert director.ipvsadm("-L", "--timeout").strip().endswith("900 120 300")
    done = director.module("settings", timeouts={"tcp": 901, "udp": 299})
    assert done["changed"] and director.ipvsadm("-L", "--timeout").strip().endswith("901 120 299")
    assert told["after"]["timeouts"] == done["after"]["timeouts"]
    assert "timeout tcp 901\n" in told["diff"]["after"]
    assert director.module("settings", timeouts={"tcp": 901, "udp": 299})["changed"] is False


@pytest.mark.thorough
def test_a_daemon_from_nothing_to_nothing(wired):
    done = wired.module("settings", master={"interface": "d0", "syncid": 5, "ttl": 3})
    assert not done["failed"], done
    assert daemons(wired) == ["master sync daemon (mcast=d0, syncid=5, maxlen=1472, group=224.0.0.81, port=8848, ttl=3)"]
    assert done["after"]["master"]["maxlen"] == 1472
    assert wired.module("settings", master={"interface": "d0", "syncid": 5})["changed"] is False
    time.sleep(0.5)
    changed = wired.module("settings", master={"interface": "d0", "syncid": 6, "group": "224.0.0.99", "port": 9000, "maxlen": 1200})
    assert not changed["failed"], changed
    assert daemons(wired) == ["master sync daemon (mcast=d0, syncid=6, maxlen=1200, group=224.0.0.99, port=9000, ttl=3)"]
    both = wired.module("settings", backup={"interface": "d0", "syncid": 6, "maxlen": 100})
    assert both["after"]["backup"]["maxlen"] == 1024, both
    assert len(daemons(wired)) == 2
    time.sleep(0.5)
    gone = wired.module("settings", master={"state": "absent"})
    assert gone["commands"] == ["--stop-daemon master"]
    assert [line.split()[0] for line in daemons(wired)] == ["backup"]
    assert wired.module("settings", master={"state": "absent"})["changed"] is False


def test_no_interface(director):
    result = director.module("settings", timeouts={"tcp": 950}, master={"interface": "nope0"})
    assert result["failed"] and (result["errno"], result["reason"]) == ("ENODEV", "no_interface")
    assert (result["changed"], result["commands"]) == (False, [])


def test_a_daemon_that_cannot_move_stays(wired):
    assert wired.module("settings", master={"interface": "d0", "syncid": 5})["changed"]
    before = daemons(wired)
    for check in (True, False):
        result = wired.module("settings", check=check, master={"interface": "nope0"})
        assert (result.get("reason"), result["commands"]) == ("no_interface", [])
    assert daemons(wired) == before


def test_what_was_done_before_a_refusal_is_told(director):
    director.command("ip", "link", "add", "down0", "type", "dummy")
    result = director.module("settings", timeouts={"tcp": 950}, master={"interface": "down0"})
    assert result["failed"] and result["reason"] == "refused", result
    assert (result["changed"], result["commands"]) == (True, ["--set 950 0 0"])


@pytest.mark.thorough
def test_a_daemon_with_an_ipv6_group(wired):
    wired.command("ip", "address", "add", "2001:db8::1/64", "dev", "d0", "nodad")
    wanted = {"interface": "d0", "group": "FF02::99", "port": 9001}
    told = wired.module("settings", check=True, master=wanted)
    assert told["changed"] and daemons(wired) == []
    done = wired.module("settings", master=wanted)
    assert not done["failed"], done
    assert daemons(wired)[0].startswith("master sync daemon (mcast=d0, syncid=0,") and "group=ff02::99, port=9001" in daemons(wired)[0]
    assert wired.module("settings", master=wanted)["changed"] is False


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options, option",
    [
        ({"timeouts": {"tcp": 0}}, "timeouts.tcp"),
        ({"timeouts": {"udp": -1}}, "timeouts.udp"),
        ({"master": {"state": "absent", "interface": "lo"}}, "master.interface"),
        ({"backup": {"interface": "lo", "syncid": 256}}, "backup.syncid"),
        ({"master": {"interface": "lo", "group": "10.0.0.1"}}, "master.group"),
    ],
)
def test_refused_before_anything_is_sent(director, options, option):
    result = director.module("settings", **{"timeouts": {"tcp": 777}, **options})
    assert result["failed"] and result["option"] == option and option + ": " in result["msg"]
    assert director.ipvsadm("-L", "--timeout").strip().endswith("900 120 300")
