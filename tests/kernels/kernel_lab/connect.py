# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""ssh's ProxyCommand: connects inside a named network namespace and hands ssh the socket (ProxyUseFdpass).

Used as `connect.py NAMESPACE ADDRESS PORT`. Nothing is relayed: a socket stays in the namespace it was made in.
"""

import array
import ctypes
import os
import socket
import sys
import time

CLONE_NEWNET = 0x40000000
PATIENCE = 10.0


def enter(namespace: str) -> None:
    """Join the namespace; os.setns came with Python 3.12 only."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(os.path.join("/run/netns", namespace), "rb") as handle:
        if libc.setns(handle.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns " + namespace)


def connect(address: str, port: int) -> socket.socket:
    """A connection, tried anew after ever longer waits: a guest that is just starting loses the first packets."""
    end, wait = time.monotonic() + PATIENCE, 0.2
    while True:
        try:
            connection = socket.create_connection((address, port), timeout=wait)
            connection.settimeout(None)
            return connection
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
            wait = min(wait * 1.5, PATIENCE)


def main() -> int:
    namespace, address, port = sys.argv[1:]
    try:
        enter(namespace)
        connection = connect(address, int(port))
    except OSError as error:
        print(f"{address} in the namespace {namespace}: {error}", file=sys.stderr)
        return 1
    with socket.socket(fileno=os.dup(1)) as channel:
        rights = array.array("i", [connection.fileno()])
        channel.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
