# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is loaded, what is refused, what goes over the wire."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import module_main
import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import presence, wire

SERVICE = {"fwmark": 1, "scheduler": "rr"}


@pytest.fixture
def unloaded():
    if presence.look().module == "builtin":
        pytest.skip("ip_vs is built in")
    lines = pathlib.Path("/proc/modules").read_text(encoding="ascii").splitlines()
    modules = [line.split()[0] for line in lines if line.startswith("ip_vs")]
    for _round in range(3):
        subprocess.run(["modprobe", "-rqa", *modules], check=False, stderr=subprocess.DEVNULL)
    if presence.look().module != "loadable":
        pytest.skip("ip_vs cannot be unloaded on this kernel")


def is_loaded():
    return os.path.exists("/sys/module/ip_vs/initstate")


def test_facts_load_nothing(unloaded):
    facts = module_main.call("ipvs_facts", {"gather_subset": ["all"]})["ansible_facts"]["ipvs"]
    assert (facts["available"], facts["reason"], facts["module"]) == (False, "not_loaded", "loadable")
    assert "capabilities" not in facts
    assert not is_loaded()


@pytest.mark.parametrize(
    "options, check",
    [
        ({"state": "gathered"}, False),
        ({"state": "deleted", "config": [SERVICE]}, False),
        ({"state": "overridden", "config": [], "scope": {"all": True}}, False),
        ({"config": [SERVICE]}, True),
    ],
)
def test_what_needs_no_services_loads_nothing(unloaded, options, check):
    result = module_main.call("ipvs_services", options, check)
    assert not result["failed"], result
    assert result["changed"] == check
    assert result["unavailable_reason"]
    assert not is_loaded()


def test_not_loaded_unless_allowed(unloaded):
    result = module_main.call("ipvs_services", {"config": [SERVICE], "load_modules": False})
    assert result["failed"] and result["reason"] == "not_loaded"
    result = module_main.call("ipvs_services", {"config": [dict(SERVICE, scheduler="nonesuch")]})
    assert result["failed"] and "config[0].scheduler: 'nonesuch'" in result["msg"] and "rr" in result["msg"]
    assert not is_loaded()


def test_loaded_where_services_are_to_exist(unloaded):
    result = module_main.call("ipvs_services", {"config": [SERVICE]})
    assert not result["failed"], result
    assert is_loaded()
    assert not module_main.call("ipvs_services", {"config": [SERVICE], "state": "deleted"})["failed"]


def test_a_scheduler_is_not_loaded_unless_allowed(director):
    state = presence.schedulers()["nq"]
    if state != "loadable":
        pytest.skip(f"nq is {state}")
    result = director.module("services", config=[dict(SERVICE, scheduler="nq")], load_modules=False)
    assert result["failed"] and result["option"] == "config[0].scheduler"
    assert presence.schedulers()["nq"] == "loadable"
    assert director.services(dict(SERVICE, scheduler="nq"))["changed"]


def test_facts_by_default(director):
    director.services(SERVICE)
    result = director.module("facts")
    assert set(result) <= {"ansible_facts", "failed", "changed", "warnings"} and not result.get("changed")
    facts = result["ansible_facts"]["ipvs"]
    assert facts["available"] and facts["version"] == "1.2.1"
    assert set(facts["capabilities"]["commands"]) == set(wire.COMMANDS.values()) - {"set_info"}
    assert facts["capabilities"]["ipv6"] is True and facts["capabilities"]["bulk_dump"] is False
    assert "rr" in facts["capabilities"]["schedulers"]["usable"]
    assert facts["totals"]["services"] == 1 and facts["totals"]["by_protocol"]["fwmark"] == 1
    assert facts["settings"]["timeouts"] == {"tcp": 900, "tcp_fin": 120, "udp": 300}
    assert facts["sysctls"]["conn_reuse_mode"] == 1
    assert "services" not in facts


def test_unprivileged(director):
    director.services(SERVICE)
    code = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import module_main;"
        "print(json.dumps([module_main.call('ipvs_facts', {}), module_main.call('ipvs_services', {'config': [{'fwmark': 1}]})]))"
    )
    output = director.command("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", sys.executable, "-c", code, json.dumps(sys.path))
    facts, services = json.loads(output)
    assert (facts["ansible_facts"]["ipvs"]["available"], facts["ansible_facts"]["ipvs"]["reason"]) == (False, "not_permitted")
    assert services["failed"] and (services["errno"], services["reason"]) == ("EPERM", "not_permitted")


READING = {wire.GET_SERVICE, wire.GET_DEST, wire.GET_DAEMON, wire.GET_CONFIG, wire.GET_INFO}


def commands_sent(director, *calls):
    """The IPVS commands that modules send, as strace sees them; each call is name, options, check mode."""
    code = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import module_main\n"
        "for call in json.loads(sys.argv[2]): print(module_main.call(*call))"
    )
    arguments = json.dumps([[f"ipvs_{name}", options, check] for name, options, check in calls])
    watch = ["strace", "-f", "-xx", "-e", "trace=sendto,sendmsg", "-s", "4096"]
    done = subprocess.run(
        [*director.inside, *watch, sys.executable, "-c", code, json.dumps(sys.path), arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "PTRACE" in done.stderr or "sendto" not in done.stderr:
        pytest.skip("strace does not work here")
    assert done.stdout.count("'failed': False") == len(calls), done.stdout
    assert done.stdout.count("'changed': True") == len(calls), done.stdout
    family = director.run(lambda: presence.attach(presence.open_channel()).id)
    # strace takes the header apart, and names the type where it knows the family.
    message = r'nlmsg_type=(IPVS|0x[0-9a-f]+)[^}]*\}, "\\x([0-9a-f]{2})'
    lines = [line for line in done.stderr.splitlines() if "sendto(" in line]
    found = [match for line in lines for match in re.findall(message, line)]
    return [int(command, 16) for kind, command in found if kind == "IPVS" or int(kind, 16) == family]


def test_check_mode_sends_no_change(director):
    director.command("ip", "link", "add", "d0", "type", "dummy")
    director.ipvsadm("-A", "-f", "9", "-s", "rr")
    director.ipvsadm("-a", "-f", "9", "-r", "10.1.0.1")
    held = {"fwmark": 9, "scheduler": "rr"}
    drain = {"connections": "all", "timeout": 1, "interval": 0.2}
    calls = [
        ("services", {"config": [SERVICE]}),
        ("services", {"config": [dict(held, destinations=[{"address": "10.1.0.2"}])], "state": "replaced", "drain": drain}),
        ("services", {"config": [SERVICE], "state": "overridden", "scope": {"all": True}}),
        ("services", {"config": [held], "state": "deleted"}),
        ("settings", {"timeouts": {"udp": 299}, "master": {"interface": "d0"}}),
    ]
    sent = commands_sent(director, *[(name, options, True) for name, options in calls])
    assert sent and set(sent) <= READING
    assert director.rules() == "-A -f 9 -s rr\n-a -f 9 -r 10.1.0.1:0 -g -w 1\n"
    # The watch sees changes where there are some.
    sent = commands_sent(director, ("services", {"config": [SERVICE]}, False))
    assert wire.NEW_SERVICE in sent


REFUSALS = {
    "port 0": ({"protocol": "tcp", "address": "10.0.0.1", "port": 0}, "config[1].port"),
    "gue": (
        {"fwmark": 1, "destinations": [{"address": "10.1.0.1", "forward": "tunnel", "tunnel": {"type": "gue"}}]},
        "config[1].destinations[0].tunnel",
    ),
    "family": ({"fwmark": 1, "destinations": [{"address": "2001:db8::1"}]}, "config[1].destinations[0].address"),
}


@pytest.mark.parametrize("service, option", REFUSALS.values(), ids=REFUSALS)
def test_refused_before_anything_is_sent(director, service, option):
    result = director.module("services", config=[{"fwmark": 5}, service])
    assert result["failed"] and result["option"] == option
    assert director.rules() == ""


def test_a_refusal_of_the_kernel_tells_what_was_done(director):
    director.command("ip", "link", "set", "lo", "down")
    director.command("ip", "addr", "add", "10.1.0.9/32", "dev", "lo")
    director.command("ip", "link", "set", "lo", "up")
    director.command("ip", "link", "add", "d0", "type", "dummy")
    director.command("ip", "addr", "add", "10.2.0.1/24", "dev", "d0")
    director.command("ip", "link", "set", "d0", "up")
    # The broadcast address of a network, which only the kernel knows.
    result = director.module("services", config=[dict(SERVICE, destinations=[{"address": "10.2.0.255"}])])
    assert result["failed"] and (result["errno"], result["reason"]) == ("EINVAL", "refused")
    assert "-a -f 1 -r 10.2.0.255:0" in result["msg"]
    assert result["commands"] == ["-A -f 1 -s rr"]
    assert [one["fwmark"] for one in result["after"]] == [1]
