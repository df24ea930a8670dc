# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A namespace's netlink sockets as sock_diag lists them, where the kernel has that already: for long lists.

The kernel starts /proc/net/netlink over for each page, so that 100,000 sockets take it 8 seconds of CPU (seen on 6.18), and sock_diag a
tenth of a second. But a sock_diag dump loses the socket at which a datagram is full. Rows of another length fill it at another one, so the list
is dumped in several lengths until nothing new comes.
"""

from __future__ import annotations

import struct
import typing as t

from .._netlink import kernel
from .._netlink.channel import HEADER, NLM_F_DUMP, Channel, framed, read_whole
from .table import Socket

NETLINK_SOCK_DIAG = 4
_MODULE = "netlink_diag"

# linux/sock_diag.h and linux/netlink_diag.h
_BY_FAMILY = 20
_AF_NETLINK = 16
_ALL_PROTOCOLS = 255
_SHOW_MEMINFO, _SHOW_GROUPS, _SHOW_RING, _SHOW_FLAGS = 1, 2, 4, 8
_SHOWS = (
    _SHOW_MEMINFO,
    _SHOW_MEMINFO | _SHOW_FLAGS,
    _SHOW_MEMINFO | _SHOW_GROUPS,
    _SHOW_MEMINFO | _SHOW_GROUPS | _SHOW_FLAGS,
)
_REQUEST = struct.Struct("=BBHIIII")  # family protocol pad inode show cookie cookie
_ROW = struct.Struct("=BBBBIIIIII")  # family type protocol state port dst_port dst_group inode cookie cookie
_ATTRIBUTE = struct.Struct("=HH")
_ATTRIBUTE_MEMINFO = 0
_MEMINFO = struct.Struct("=9I")
_QUEUED, _DROPS = 0, 8


def is_there() -> bool:
    """Whether it can be asked without the kernel loading anything; where this module is, sock_diag itself is."""
    return not kernel.has_modules() or kernel.module_state(_MODULE) in kernel.PRESENT


def read() -> dict[int, Socket]:
    """The sockets of the calling thread's namespace by inode.

    :raises NetstateError: where the kernel does not have it, or does not answer
    """
    sockets: dict[int, Socket] = {}
    for show in _SHOWS:
        before = len(sockets)
        sockets.update(_dump(show))
        if before and len(sockets) == before:
            break
    return sockets


def parse(message: bytes) -> Socket:
    """A row of the answer, from its ``nlmsghdr`` on."""
    row = _ROW.unpack_from(message, HEADER.size)
    memory = _meminfo(message, HEADER.size + _ROW.size)
    return Socket(inode=row[7], protocol=row[2], port=row[4], queued=memory[_QUEUED], drops=memory[_DROPS])


def _meminfo(message: bytes, offset: int) -> tuple[int, ...]:
    while offset + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, offset)
        if length < _ATTRIBUTE.size or offset + length > len(message):
            break
        if kind == _ATTRIBUTE_MEMINFO and length >= _ATTRIBUTE.size + _MEMINFO.size:
            return _MEMINFO.unpack_from(message, offset + _ATTRIBUTE.size)
        offset += (length + 3) & ~3
    return (0,) * 9


def _dump(show: int) -> dict[int, Socket]:
    request = framed(_BY_FAMILY, NLM_F_DUMP, _REQUEST.pack(_AF_NETLINK, _ALL_PROTOCOLS, 0, 0, show, 0, 0))

    def collector() -> t.Callable[[bytes], None]:
        found.clear()

        def visit(message: bytes) -> None:
            socket = parse(message)
            found[socket.inode] = socket

        return visit

    found: dict[int, Socket] = {}
    read_whole("dump of the netlink sockets", request, collector, opener=lambda: Channel.open(NETLINK_SOCK_DIAG))
    return found
