# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A socket whose far side is a list of what to answer, for faults that no kernel can be asked to make."""

from __future__ import annotations

import errno
import socket
import threading
import typing as t


class Datagram(t.NamedTuple):
    """What one ``recvmsg`` returns; the kernel's port is 0."""

    data: bytes
    flags: int = 0
    port: int = 0


Answer = t.Union[bytes, Datagram, OSError]

LOST = OSError(errno.ENOBUFS, "No buffer space available")
SILENCE = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


class ScriptedSocket:
    """Answers each receive with the next of the script; asking for more than it has is a fault of the test or the code.

    :ivar sent: each datagram that was sent
    :ivar receivers: names of the threads that received, in order
    """

    def __init__(self, *script: Answer, receive_buffer: int = 4 << 20, refuse_send: OSError | None = None) -> None:
        self.script = list(script)
        self.sent: list[bytes] = []
        self.receivers: list[str] = []
        self.closed = False
        self._receive_buffer = receive_buffer
        self._refuse_send = refuse_send

    def send(self, data: bytes) -> int:
        assert not self.closed
        if self._refuse_send:
            raise self._refuse_send
        self.sent.append(bytes(data))
        return len(data)

    def recvmsg(self, size: int) -> tuple[bytes, list, int, tuple[int, int]]:
        assert not self.closed
        self.receivers.append(threading.current_thread().name)
        assert self.script, "received more often than the script has answers"
        answer = self.script.pop(0)
        if isinstance(answer, OSError):
            raise answer
        datagram = answer if isinstance(answer, Datagram) else Datagram(answer)
        assert len(datagram.data) <= size
        return datagram.data, [], datagram.flags, (datagram.port, 0)

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        assert not self.closed

    def getsockopt(self, level: int, option: int) -> int:
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_RCVBUF)
        return self._receive_buffer

    def close(self) -> None:
        self.closed = True
