# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in a guest: flushes a zone as one would who trusts the kernel, by one message with CTA_ZONE, and prints the kernel's answer.

It is the danger that conntrack_flush keeps away, so it shares no code with it.
"""

import errno
import socket
import struct
import sys

NETFILTER, CT_DELETE, CTA_ZONE = 12, 0x102, 18
REQUEST_ACK = 0x5


def flush(zone):
    attribute = struct.pack("=HH", 6, CTA_ZONE) + struct.pack(">H", zone) + b"\0\0"
    body = struct.pack("=BBH", socket.AF_UNSPEC, 0, 0) + attribute
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as channel:
        channel.settimeout(20)
        channel.bind((0, 0))
        channel.send(struct.pack("=IHHII", 16 + len(body), CT_DELETE, REQUEST_ACK, 1, 0) + body)
        answer = channel.recv(65536)
    return -struct.unpack("=i", answer[16:20])[0]


if __name__ == "__main__":
    code = flush(int(sys.argv[1]))
    print("answer:", {0: "success", errno.EOPNOTSUPP: "not supported"}.get(code, code))
