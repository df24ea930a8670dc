# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A namespace's netlink sockets as /proc/net/netlink lists them: text in, values out.

The column "Pid" is a port id: the first socket that a process binds gets its process id, the others large numbers, the kernel's own
sockets and unbound ones 0. Only the inode leads to the process that holds a socket.
"""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

GENERIC = 16

# By linux/netlink.h; 1 to 3, 5 and 17 are unused or gone from the kernel.
PROTOCOLS: t.Mapping[int, str] = {
    0: "route",
    2: "usersock",
    4: "sock_diag",
    6: "xfrm",
    7: "selinux",
    8: "iscsi",
    9: "audit",
    10: "fib_lookup",
    11: "connector",
    12: "netfilter",
    14: "dnrtmsg",
    15: "kobject_uevent",
    GENERIC: "generic",
    18: "scsitransport",
    19: "ecryptfs",
    20: "rdma",
    21: "crypto",
    22: "smc",
}

_COLUMNS = 10  # sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode


@dataclasses.dataclass(frozen=True)
class Socket:
    """One row.

    :ivar port: the port id, 0 for the kernel's own sockets and for unbound ones
    :ivar queued: bytes in the receive queue
    :ivar drops: messages lost because the receive queue was full
    """

    inode: int
    protocol: int
    port: int
    queued: int
    drops: int

    @property
    def protocol_name(self) -> str:
        return PROTOCOLS.get(self.protocol, str(self.protocol))


def parse(lines: t.Iterable[str]) -> list[Socket]:
    """The rows. The headline and lines of another shape are left out."""
    sockets = []
    for line in lines:
        row = line.split()
        if len(row) >= _COLUMNS and row[1].isdigit():
            sockets.append(Socket(inode=int(row[9]), protocol=int(row[1]), port=int(row[2]), queued=int(row[4]), drops=int(row[8])))
    return sockets


def read(proc: str, most: int | None = None) -> tuple[int, dict[int, Socket]]:
    """The table of the namespace that a /proc folder (of a process or thread) shows: number of rows, and sockets by inode.

    While sockets come and go the kernel may list one twice.

    :param most: rows to read, all of them without it; the kernel's time grows with the square of their number
    :raises OSError: where there is none
    """
    with open(proc + "/net/netlink", encoding="ascii", errors="replace") as file:
        rows = parse(file if most is None else itertools.islice(file, most + 1))
    return len(rows), {socket.inode: socket for socket in rows}
