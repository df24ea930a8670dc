# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Runs in a guest: sees what its kernel does and prints it as JSON with the fields of the catalogue's truth.

It speaks netlink by itself, so the catalogue is checked without the code that the catalogue helps to check. It works in a fresh
network namespace that ends with it. Fit for any Python 3.
"""

import ctypes
import errno
import json
import os
import socket
import struct

NEW, GET, DELETE = 0x100, 0x101, 0x102
REQUEST, ACK, DUMP, CREATE = 0x1, 0x4, 0x300, 0x400
ERROR, DONE = 2, 3
CTA_TUPLE_ORIG, CTA_TUPLE_REPLY, CTA_STATUS, CTA_TIMEOUT, CTA_ZONE, CTA_FILTER, CTA_STATUS_MASK = 1, 2, 3, 7, 18, 25, 26
NESTED = 0x8000
IPS_SEEN_REPLY, IPS_ASSURED, IPS_CONFIRMED = 2, 4, 8
ZONES = (0, 1, 2)


def attribute(kind, content):
    head = struct.pack("=HH", 4 + len(content), kind)
    return head + content + b"\0" * (-len(content) % 4)


def tuple_of(kind, family, source, target):
    """A UDP tuple; addresses as text."""
    first = 1 if family == socket.AF_INET else 3
    addresses = attribute(first, socket.inet_pton(family, source)) + attribute(first + 1, socket.inet_pton(family, target))
    protocol = attribute(1, b"\x11") + attribute(2, struct.pack(">H", 1000)) + attribute(3, struct.pack(">H", 2000))
    return attribute(kind | NESTED, attribute(1 | NESTED, addresses) + attribute(2 | NESTED, protocol))


class Conntrack:
    """A conntrack netlink socket in the namespace of the process."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
        self.socket.settimeout(20)
        self.socket.bind((0, 0))

    def ask(self, kind, flags, family, body):
        """The answers as (flags, payload); raises OSError where the kernel answers an error."""
        header = struct.pack("=IHHII", 20 + len(body), kind, REQUEST | flags, 1, 0)
        self.socket.send(header + struct.pack("=BBH", family, 0, 0) + body)
        answers = []
        while True:
            data = self.socket.recv(1 << 18)
            while data:
                length, answer, answer_flags = struct.unpack("=IHH", data[:8])
                payload, data = data[16:length], data[(length + 3) & ~3 :]
                if answer == ERROR:
                    code = -struct.unpack("=i", payload[:4])[0]
                    if code:
                        raise OSError(code, os.strerror(code))
                    return answers
                if answer == DONE:
                    return answers
                answers.append((answer_flags, payload))

    def add(self, family, source, target, zone=0, status=0):
        body = tuple_of(CTA_TUPLE_ORIG, family, source, target) + tuple_of(CTA_TUPLE_REPLY, family, target, source)
        body += attribute(CTA_TIMEOUT, struct.pack(">I", 600))
        if zone:
            body += attribute(CTA_ZONE, struct.pack(">H", zone))
        self.ask(NEW, ACK | CREATE, family, body)
        if status:
            # Set on the finished entry: which bits may or must be named while it is made differs between kernels.
            self.ask(NEW, ACK, family, body + attribute(CTA_STATUS, struct.pack(">I", status)))

    def dump(self, body=b"", family=0):
        return self.ask(GET, DUMP, family, body)

    def flush(self, body=b""):
        self.ask(DELETE, ACK, 0, body)


def zone_filter(conntrack):
    """Fill three zones, flush one of them, then zone 0, and see what each time is left."""
    wanted = attribute(CTA_ZONE, struct.pack(">H", 1))
    try:
        for zone in ZONES:
            conntrack.add(socket.AF_INET, "192.0.2.1", "192.0.2.2", zone)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return "unsupported"
    before = len(conntrack.dump())
    conntrack.flush(wanted)
    left = len(conntrack.dump())
    conntrack.flush(attribute(CTA_ZONE, struct.pack(">H", 0)))
    at_last = len(conntrack.dump())
    conntrack.flush()
    seen = (before, left, at_last)
    return {(3, 2, 1): "exact", (3, 0, 0): "ignored", (3, 2, 0): "zone_zero_unsafe"}.get(seen, f"{seen} entries before and after")


def status_filter(conntrack):
    """Whether a dump by status leaves out the entries that lack it."""
    conntrack.add(socket.AF_INET, "192.0.2.1", "192.0.2.2")
    conntrack.add(socket.AF_INET, "192.0.2.1", "192.0.2.3", status=IPS_SEEN_REPLY | IPS_ASSURED | IPS_CONFIRMED)
    status = struct.pack(">I", IPS_ASSURED)
    found = len(conntrack.dump(attribute(CTA_STATUS, status) + attribute(CTA_STATUS_MASK, status)))
    conntrack.flush()
    return {1: True, 2: False}.get(found, f"{found} of 2 found")


def tuple_filter_ipv6(conntrack):
    """Which of two entries a dump by IPv6 source address returns."""
    conntrack.add(socket.AF_INET6, "2001:db8::1", "2001:db8::f")
    conntrack.add(socket.AF_INET6, "2001:db8::2", "2001:db8::f")
    source = socket.inet_pton(socket.AF_INET6, "2001:db8::1")
    addresses = attribute(3, source) + attribute(4, socket.inet_pton(socket.AF_INET6, "2001:db8::f"))
    body = attribute(CTA_TUPLE_ORIG | NESTED, attribute(1 | NESTED, addresses))
    # Flag 1: compare the source address.
    body += attribute(CTA_FILTER | NESTED, attribute(1, struct.pack("=I", 1)) + attribute(2, struct.pack("=I", 0)))
    found = [source in payload for _kind, payload in conntrack.dump(body, socket.AF_INET6)]
    conntrack.flush()
    return {(True,): "right", (False,): "inverted"}.get(tuple(found), f"{len(found)} found")


def ipvs():
    """How IPVS gets into the kernel."""
    if os.path.exists("/proc/net/ip_vs") and not os.path.exists("/sys/module/ip_vs/initstate"):
        return "builtin"
    return "module" if os.system("modprobe ip_vs") == 0 and os.path.exists("/proc/net/ip_vs") else "absent"


def main():
    way = ipvs()
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):
        raise OSError(ctypes.get_errno(), "unshare")
    conntrack = Conntrack()
    zones = zone_filter(conntrack)
    seen = {
        "zones": zones != "unsupported",
        "zone_filter": zones,
        "status_filter": status_filter(conntrack),
        "tuple_filter_ipv6": tuple_filter_ipv6(conntrack),
        "ipvs": way,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
