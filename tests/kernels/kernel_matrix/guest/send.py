# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in a guest: sends netfilter netlink requests, each a word in hex, and fails with the kernel's first refusal.

Nothing but the standard library: to import more costs an emulated kernel seconds.
"""

import os
import socket
import struct
import sys

NETFILTER = 12
ACK = 4  # in the low byte of nlmsg_flags, on a little-endian machine


def main(requests):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as channel:
        channel.settimeout(20)
        channel.bind((0, 0))
        for number, request in enumerate(requests):
            message = bytearray.fromhex(request)
            message[6] |= ACK
            channel.send(message)
            code = -struct.unpack("=i", channel.recv(65536)[16:20])[0]
            if code:
                sys.exit(f"request {number}: {os.strerror(code)}")


if __name__ == "__main__":
    main(sys.argv[1:])
