# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traffic through a service while its destinations are exchanged; three namespaces: client, director, servers."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
import time

import pytest
from ipvs_director import Director

VIP = "10.9.0.100"
SERVER = """
import socket, sys, threading
def tcp(address):
    listener = socket.create_server((address, 8080))
    while True:
        one, _peer = listener.accept()
        threading.Thread(target=serve, args=(one, address), daemon=True).start()
def serve(one, address):
    while one.recv(100):
        one.sendall(address.encode())
def udp(address):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind((address, 8080))
    while True:
        _data, peer = one.recvfrom(100)
        one.sendto(address.encode(), peer)
for address in sys.argv[1:]:
    threading.Thread(target=tcp, args=(address,), daemon=True).start()
    threading.Thread(target=udp, args=(address,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def net(director):
    client, servers = Director(), Director()
    for side, near, far, far_side in (("c", "10.9.0.1/24", "10.9.0.2/24", client), ("s", "10.8.0.1/24", "10.8.0.11/24", servers)):
        director.command("ip", "link", "add", side, "type", "veth", "peer", "name", "e0", "netns", far_side.name)
        director.command("ip", "addr", "add", near, "dev", side)
        director.command("ip", "link", "set", side, "up")
        far_side.command("ip", "addr", "add", far, "dev", "e0")
        far_side.command("ip", "link", "set", "lo", "up")
        far_side.command("ip", "link", "set", "e0", "up")
        far_side.command("ip", "route", "add", "default", "via", near.split("/", maxsplit=1)[0])
    servers.command("ip", "addr", "add", "10.8.0.12/24", "dev", "e0")
    director.command("ip", "addr", "add", VIP + "/32", "dev", "lo")
    director.command("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    process = servers.start(sys.executable, "-c", SERVER, "10.8.0.11", "10.8.0.12")
    assert process.stdout.readline() == "ready\n"
    yield client
    servers.close()
    client.close()


def service(*addresses, protocol="tcp"):
    destinations = [{"address": address, "port": 8080, "forward": "masquerade"} for address in addresses]
    return {"protocol": protocol, "address": VIP, "port": 80, "scheduler": "rr", "destinations": destinations}


class Talk:
    """A connection of the client that never pauses; ``answers`` are the servers' addresses, in turn."""

    def __init__(self, client, kind=socket.SOCK_STREAM):
        def connect():
            one = socket.socket(socket.AF_INET, kind)
            one.settimeout(10)
            one.connect((VIP, 80))
            return one

        self.socket = client.run(connect)
        self.answers, self.error = [], None
        self._going = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while self._going:
                self.socket.sendall(b"?")
                self.answers.append(self.socket.recv(100).decode())
                time.sleep(0.02)
        except OSError as error:
            self.error = error

    def end(self):
        self._going = False
        self._thread.join()
        self.socket.close()


def once(client, kind=socket.SOCK_STREAM):
    talk = Talk(client, kind)
    while not talk.answers and not talk.error:
        time.sleep(0.01)
    talk.end()
    assert talk.error is None
    return talk.answers[0]


def test_an_exchange_breaks_no_connection(net, director):
    director.services(service("10.8.0.11"))
    talk = Talk(net)
    time.sleep(0.3)
    outcome = {}
    drain = {"connections": "active", "timeout": 60, "interval": 0.2}

    def exchange():
        outcome.update(director.services(service("10.8.0.12"), state="replaced", drain=drain))

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    deadline = time.monotonic() + 20
    while "10.8.0.11:8080 -m -w 0" not in director.rules() and time.monotonic() < deadline:
        time.sleep(0.1)
    # New connections go to the new destination, the old one lives.
    assert {once(net) for _time in range(4)} == {"10.8.0.12"}
    seen = len(talk.answers)
    time.sleep(1)
    assert exchanging.is_alive() and len(talk.answers) > seen + 5 and talk.error is None
    talk.end()
    exchanging.join(60)
    assert set(talk.answers) == {"10.8.0.11"}
    assert outcome["commands"] == [
        f"-a -t {VIP}:80 -r 10.8.0.12:8080 -m -w 1",
        f"-e -t {VIP}:80 -r 10.8.0.11:8080 -m -w 0",
        f"-d -t {VIP}:80 -r 10.8.0.11:8080",
    ]
    assert outcome["draining"] == []


@pytest.mark.thorough
def test_time_is_up_keep_then_resumed(net, director):
    director.services(service("10.8.0.11", "10.8.0.12"))
    talks = [Talk(net), Talk(net)]
    time.sleep(0.5)
    drain = {"connections": "active", "timeout": 1, "interval": 0.2, "at_timeout": "keep"}
    kept = director.services(service("10.8.0.12"), state="replaced", drain=drain)
    assert [one["destination"] for one in kept["draining"]] == ["10.8.0.11:8080"]
    assert kept["draining"][0]["active_connections"] == 1
    assert kept["commands"] == [f"-e -t {VIP}:80 -r 10.8.0.11:8080 -m -w 0"]
    again = director.services(service("10.8.0.12"), state="replaced", drain=drain)
    assert (again["changed"], len(again["draining"])) == (False, 1)
    # Wanted again: its weight is back, and its connection is still there.
    back = director.services(service("10.8.0.11", "10.8.0.12"), state="replaced")
    assert back["commands"] == [f"-e -t {VIP}:80 -r 10.8.0.11:8080 -m -w 1"]
    for talk in talks:
        talk.end()
        assert talk.error is None
    gone = director.services(service("10.8.0.12"), state="replaced", drain=dict(drain, timeout=20))
    assert gone["commands"][-1] == f"-d -t {VIP}:80 -r 10.8.0.11:8080"


@pytest.mark.thorough
def test_time_is_up_remove(net, director):
    director.services(service("10.8.0.11", "10.8.0.12"))
    talks = [Talk(net), Talk(net)]
    time.sleep(0.5)
    drain = {"connections": "active", "timeout": 1, "interval": 0.2, "at_timeout": "remove"}
    told = director.services(service("10.8.0.12"), state="replaced", drain=drain, check=True)
    gone = director.services(service("10.8.0.12"), state="replaced", drain=drain)
    assert gone["commands"] == [f"-e -t {VIP}:80 -r 10.8.0.11:8080 -m -w 0", f"-d -t {VIP}:80 -r 10.8.0.11:8080"]
    assert (gone["draining"], gone["operations"]["drain_destination"], gone["operations"]["delete_destination"]) == ([], 1, 1)
    assert told["commands"] == gone["commands"] and "10.8.0.11" not in director.rules()
    for talk in talks:
        talk.end()
    # That of the destination which stayed was not touched.
    assert [talk.error is None for talk in talks if talk.answers[0] == "10.8.0.12"] == [True]


@pytest.mark.thorough
def test_a_persistence_template_is_waited_for_only_if_asked(net, director):
    bound = [dict(service(*addresses), persistence={"timeout": 300}) for addresses in (("10.8.0.11",), ("10.8.0.12",))]
    director.services(bound[0])
    assert once(net) == "10.8.0.11"
    drain = {"connections": "all", "timeout": 1, "interval": 0.2, "at_timeout": "keep"}
    kept = director.services(bound[1], state="replaced", drain=drain)
    assert kept["draining"][0]["persistent_connections"] == 1
    gone = director.services(bound[1], state="replaced", drain=dict(drain, connections="active"))
    assert gone["commands"] == [f"-d -t {VIP}:80 -r 10.8.0.11:8080"]


@pytest.mark.thorough
def test_a_service_is_drained_before_it_goes(net, director):
    director.services(service("10.8.0.11"))
    talk = Talk(net)
    time.sleep(0.3)
    result = director.services(
        {name: value for name, value in service().items() if name != "destinations"},
        state="deleted",
        drain={"connections": "active", "timeout": 1, "interval": 0.2},
    )
    # The time was up before the connection ended, which then went with its service.
    assert result["commands"] == [f"-e -t {VIP}:80 -r 10.8.0.11:8080 -m -w 0", f"-D -t {VIP}:80"]
    with contextlib.suppress(OSError):
        talk.end()


def test_udp_is_not_drained_unless_asked(net, director):
    director.services(service("10.8.0.11", protocol="udp"))
    assert once(net, socket.SOCK_DGRAM) == "10.8.0.11"
    result = director.services(service("10.8.0.12", protocol="udp"), state="replaced", drain={"connections": "all", "timeout": 5})
    assert result["commands"][-1] == f"-d -u {VIP}:80 -r 10.8.0.11:8080"
    assert once(net, socket.SOCK_DGRAM) == "10.8.0.12"
    drain = {"connections": "all", "timeout": 1, "interval": 0.2, "udp": True, "at_timeout": "keep"}
    kept = director.services(service("10.8.0.11", protocol="udp"), state="replaced", drain=drain)
    assert [one["destination"] for one in kept["draining"]] == ["10.8.0.12:8080"]
    assert kept["draining"][0]["inactive_connections"] + kept["draining"][0]["active_connections"] >= 1


@pytest.mark.thorough
def test_facts_of_traffic(net, director):
    director.services(service("10.8.0.11"))
    talk = Talk(net)
    time.sleep(5)  # the kernel adds its counters up every two seconds
    facts = director.module("facts", gather_subset=["all"])["ansible_facts"]["ipvs"]
    talk.end()
    assert facts["totals"]["active_connections"] == 1
    (one,) = facts["services"]
    assert one["statistics"]["connections"] == 1
    assert one["destinations"][0]["active_connections"] == 1
    assert one["destinations"][0]["statistics"]["packets_in"] > 10
    assert one["destinations"][0]["statistics"]["bytes_out"] > one["statistics"]["packets_out"] > 10
    assert facts["capabilities"]["counters_64bit"] is True


def answered(client, port):
    """The server that answers a connection from a port of the client's; it ends with a reset, so that the port can be used again at once."""

    def talk():
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.settimeout(10)
            one.bind(("10.9.0.2", port))
            one.connect((VIP, 80))
            one.sendall(b"?")
            return one.recv(100).decode()

    return client.run(talk)


@pytest.mark.thorough
@pytest.mark.parametrize("reuse, expire", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_what_is_advised_of_a_port_that_is_used_again_is_true(net, director, reuse, expire):
    """Whether a client stays with its old destination, at weight 0: this kernel does what the advice says of it."""
    director.command("sh", "-c", f"cd /proc/sys/net/ipv4/vs; echo {reuse} > conn_reuse_mode; echo {expire} > expire_nodest_conn")
    director.services(service("10.8.0.11"))
    assert answered(net, 40000) == "10.8.0.11"
    gone = service("10.8.0.11", "10.8.0.12")
    gone["destinations"][0]["weight"] = 0
    director.services(gone)
    advice = director.module("facts", gather_subset=["sysctls"])["ansible_facts"]["ipvs"]["advice"]
    (reason,) = [one["reason"] for one in advice if one["sysctl"].endswith("conn_reuse_mode")] or [""]
    stays = "may never end" in reason if not expire else "does nothing" in reason
    assert answered(net, 40000) == ("10.8.0.11" if stays else "10.8.0.12"), reason
