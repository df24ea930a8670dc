# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that holds netlink sockets: ``python netlink_holder.py GENERIC ROUTE FILES LIMIT CHILDREN``.

It opens them, and FILES descriptors of other kinds, says so in a line, and ends when its input ends, and with it its children, which hold the
same sockets.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
import typing as t

ROUTE, GENERIC = 0, 16


@contextlib.contextmanager
def holding(generic: int = 0, route: int = 0, files: int = 0, limit: int = 4096, children: int = 0, through: t.Sequence[str] = ()) -> t.Iterator[int]:
    """The pid of a new process that holds them; its soft limit of open files is ``limit``.

    :param through: a command that runs it, such as ``ip netns exec NAME``, by exec
    """
    command = [*through, sys.executable, __file__, *map(str, (generic, route, files, limit, children))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def hold(generic: int, route: int, files: int, limit: int, children: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, max(limit, hard)))
    kept = []
    for protocol, number in ((GENERIC, generic), (ROUTE, route)):
        for _socket in range(number):
            kept.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol))
            kept[-1].bind((0, 0))
    for _file in range(files):
        os.dup(2)
    for _child in range(children):
        if os.fork() == 0:
            sys.stdin.buffer.read()
            os._exit(0)
    print("ready", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    hold(*map(int, sys.argv[1:6]))
