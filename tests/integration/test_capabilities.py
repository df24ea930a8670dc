# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capabilities that are told, against what these tests see when they ask the kernel themselves, in their own bytes."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import typing as t

import conntrack_command
import conntrack_table
import pytest
from module_main import call

if t.TYPE_CHECKING:
    from network_namespace import Namespace

NETFILTER = 12
NEW, GET, DELETE = (1 << 8 | number for number in (0, 1, 2))
REQUEST, ACK, DUMP = 1, 4, 0x300
TUPLE, STATUS, ZONE, LABELS, FILTER = 1, 3, 18, 22, 25


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _nest(kind: int, *attributes: bytes) -> bytes:
    return _attribute(kind | 0x8000, b"".join(attributes))


def _zone(number: int) -> bytes:
    return _attribute(ZONE, struct.pack("!H", number))


def _ask(ns: Namespace, kind: int, flags: int, family: int, *attributes: bytes) -> tuple[int, list[bytes]]:
    """Errno and messages of one answer."""
    body = struct.pack("=BBH", family, 0, 0) + b"".join(attributes)
    found = []
    with ns.run(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER)) as sock:
        sock.settimeout(30)
        sock.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1, 0) + body)
        while True:
            data = sock.recv(1 << 16)
            while data:
                length, answer = struct.unpack_from("=IH", data)
                if answer in (2, 3):  # error (0: acknowledged), done
                    return -struct.unpack_from("=i", data, 16)[0], found
                found.append(data[:length])
                data = data[(length + 3) & ~3 :]


def _told(ns: Namespace) -> dict[str, t.Any]:
    facts = call("conntrack_facts", {"gather_subset": ["capabilities"], "netns": ns.name})["ansible_facts"]["conntrack"]
    assert facts["capabilities"]["source"] == "throwaway_namespace"
    return facts["capabilities"]


def _insert(ns: Namespace, source: str, destination: str, *more: str) -> None:
    ends = ["-s", source, "-d", destination, "-p", "udp", "--sport", "1", "--dport", "2", "-t", "600"]
    ns.command("conntrack", "-I", *ends, *more)


def _zones_left(ns: Namespace) -> list[int]:
    return sorted(line.zone for line in conntrack_command.lines(ns))


def test_zone_filter(ns: Namespace) -> None:
    for zone in (0, 1, 2):
        _insert(ns, f"10.0.0.{zone}", "10.0.1.1", *(["-w", str(zone)] if zone else []))
    if _ask(ns, DELETE, ACK, 0, _zone(1))[0]:
        pytest.skip("this kernel refuses a flush by zone")
    after_one = _zones_left(ns)
    _ask(ns, DELETE, ACK, 0, _zone(0))
    after_zero = _zones_left(ns)
    seen = {"[]": "ignored", "[0, 2] [2]": "exact", "[0, 2] []": "zone_zero_unsafe"}
    told = _told(ns)
    assert told["zone_filter"] == seen["[]" if not after_one else f"{after_one} {after_zero}"]
    assert told["zones"] is True
    assert "left" in told["evidence"]["zone_filter"]


def test_tuple_filter_ipv6(ns: Namespace) -> None:
    sources = ["2001:db8::1", "2001:db8::2"]
    for source in sources:
        _insert(ns, source, "2001:db8::ffff")
    wanted = ipaddress.ip_address(sources[0]).packed
    address = _nest(TUPLE, _nest(1, _attribute(3, wanted)))
    flags = _nest(FILTER, _attribute(1, struct.pack("=I", 1)))
    error, messages = _ask(ns, GET, DUMP, socket.AF_INET6, address, flags)
    # Both addresses are in the tuples of both directions; the first one in a message is the source.
    found = {source for source in sources for message in messages if ipaddress.ip_address(source).packed in message}
    meanings = {frozenset(sources[:1]): "right", frozenset(sources[1:]): "inverted", frozenset(sources): "ignored"}
    assert _told(ns)["tuple_filter_ipv6"] == ("unsupported" if error else meanings[frozenset(found)])


def test_status_filter(ns: Namespace) -> None:
    _insert(ns, "10.0.0.1", "10.0.1.1", "-u", "SEEN_REPLY,ASSURED")
    _insert(ns, "10.0.0.2", "10.0.1.1")
    _error, messages = _ask(ns, GET, DUMP, socket.AF_INET, _attribute(STATUS, struct.pack("!I", 4)))
    assert _told(ns)["status_filter"] == (len(messages) == 1)


def test_labels(ns: Namespace) -> None:
    """ENOSPC is a kernel with labels whose namespace has no rule that uses them; EOPNOTSUPP one without."""
    _insert(ns, "10.0.0.1", "10.0.1.1")
    ends = _nest(1, _attribute(1, bytes([10, 0, 0, 1])), _attribute(2, bytes([10, 0, 1, 1])))
    protocol = _nest(2, _attribute(1, b"\x11"), _attribute(2, b"\0\1"), _attribute(3, b"\0\2"))
    error, _messages = _ask(ns, NEW, ACK, socket.AF_INET, _nest(TUPLE, ends, protocol), _attribute(LABELS, bytes(16)))
    assert _told(ns)["labels"] == (error != 95)


def test_helpers(ns: Namespace) -> None:
    helpers = _told(ns)["helpers"]
    assert set(helpers) == {"amanda", "ftp", "h323", "irc", "netbios_ns", "pptp", "sane", "sip", "snmp", "tftp"}
    for name, state in helpers.items():
        assert state in ("builtin", "loaded", "loadable", "absent")
        if os.path.isdir(f"/sys/module/nf_conntrack_{name}"):
            assert state in ("builtin", "loaded"), name
    try:
        ns.fill([conntrack_table.entry("10.0.0.1", ports=(1, 21), helper="ftp")])
        works = True
    except AssertionError:
        works = False
    assert works == (helpers["ftp"] != "absent")
