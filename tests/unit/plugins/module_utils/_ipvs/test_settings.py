# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import messages, settings, wire
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.settings import Daemon, Settings
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError
from ipvs_golden import GOLDEN

REQUESTS = messages.Requests(30)
MASTER = Daemon("eth0", 5, 1472, "224.0.0.81", 8848, 1)
HELD = Settings({"tcp": 900, "tcp_fin": 120, "udp": 300}, {"master": MASTER})
START = "--start-daemon master --mcast-interface eth0 --syncid 5"

PLANS = {
    "nothing": ({}, []),
    "the same": ({"timeouts": {"tcp": 900}, "master": {"interface": "eth0", "syncid": 5}}, []),
    "one timeout": ({"timeouts": {"tcp": 900, "udp": 30}}, ["--set 0 0 30"]),
    "stop": ({"master": {"state": "absent"}}, ["--stop-daemon master"]),
    "stopped": ({"backup": {"state": "absent"}}, []),
    "start": ({"backup": {"interface": "eth0"}}, ["--start-daemon backup --mcast-interface eth0 --syncid 0"]),
    "change keeps the rest": (
        {"master": {"interface": "eth0", "ttl": 3}},
        ["--stop-daemon master", START + " --sync-maxlen 1472 --mcast-group 224.0.0.81 --mcast-port 8848 --mcast-ttl 3"],
    ),
    "the same group": ({"master": {"interface": "eth0", "group": "224.0.0.81"}}, []),
    "group in other words": (
        {"backup": {"interface": "e", "group": "FF02:0::99"}},
        ["--start-daemon backup --mcast-interface e --syncid 0 --mcast-group ff02::99"],
    ),
}


@pytest.mark.parametrize("options, commands", PLANS.values(), ids=PLANS)
def test_plan(options, commands):
    wanted = settings.parse(options)
    steps = settings.plan(wanted, HELD)
    assert [step.command for step in steps] == commands
    assert settings.plan(wanted, settings.foretold(HELD, steps)) == []


REFUSED = [
    ({"timeouts": {"tcp": 0}}, "timeouts.tcp"),
    ({"timeouts": {"udp": 2147484}}, "timeouts.udp"),
    ({"master": {"state": "present"}}, "master.interface"),
    ({"master": {"interface": "a/b"}}, "master.interface"),
    ({"master": {"interface": "averylonginterface"}}, "master.interface"),
    ({"master": {"state": "absent", "ttl": 1}}, "master.ttl"),
    ({"backup": {"interface": "e", "syncid": 256}}, "backup.syncid"),
    ({"backup": {"interface": "e", "maxlen": 0}}, "backup.maxlen"),
    ({"backup": {"interface": "e", "port": 0}}, "backup.port"),
    ({"backup": {"interface": "e", "ttl": 256}}, "backup.ttl"),
    ({"backup": {"interface": "e", "group": "10.0.0.1"}}, "backup.group"),
    ({"backup": {"interface": "e", "group": "x"}}, "backup.group"),
    ({"backup": {"interface": "e", "group": "2001:db8::1"}}, "backup.group"),
    ({"backup": {"interface": "e", "group": "ff02::99%e"}}, "backup.group"),
]


@pytest.mark.parametrize("options, option", REFUSED, ids=[str(one) for one, _option in REFUSED])
def test_refused(options, option):
    with pytest.raises(OptionError) as caught:
        settings.parse(options)
    assert caught.value.option == option


def test_a_backup_has_room_for_1024_bytes():
    wanted = settings.parse({"backup": {"interface": "eth0", "maxlen": 100}})
    assert wanted.daemons["backup"]["maxlen"] == 1024


def test_a_daemon_of_the_kernel():
    found = settings.decoded(wire.nested(GOLDEN["daemon"], wire.DAEMON))
    assert found == Daemon("d0", 5, 1472, "224.0.0.81", 8848, 3)


@pytest.mark.parametrize("group", ["224.0.0.99", "ff02::99"])
def test_a_daemon_there_and_back(group):
    daemon = Daemon("eth0", 7, 1400, group, 9000, 9)
    request = settings.request(REQUESTS, settings.Step("", "master", daemon))
    values = wire.nested(request, wire.DAEMON)
    assert settings.decoded(values) == daemon
    assert wire.U32.unpack(values[wire.DAEMON_STATE]) == (1,)


def test_told_in_the_form_of_the_options():
    told = HELD.told()
    assert told["backup"] == {"state": "absent"}
    assert settings.plan(settings.parse(told), HELD) == []
