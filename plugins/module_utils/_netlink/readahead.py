# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Receiving the next datagrams of a dump while the last ones are being sorted.

The kernel walks its table inside ``recvmsg``, where the interpreter's lock is free; so the walk and the sorting of what it returned
run side by side, and a dump of a large table takes the time of the longer of the two instead of their sum.
"""

from __future__ import annotations

import queue
import struct
import threading
import typing as t

AHEAD = 16  # datagrams of 32 KiB

# The closing message is 20 bytes: its nlmsghdr and an error code. It ends the last datagram.
_CLOSING_SIZE = 20
_CLOSING = struct.pack("=IH", _CLOSING_SIZE, 3)


def closes(data: bytes) -> bool:
    """Whether a datagram looks like the last one of a dump."""
    return not data or data[-_CLOSING_SIZE:].startswith(_CLOSING) or len(data) < 2 * _CLOSING_SIZE


class ReadAhead:
    """Gives the datagrams of a dump in order.

    It only ever reads ahead while more is sure to come, up to a datagram that looks like the last; should there be more after all,
    they are received on demand.

    :param receive: returns the next datagram, or raises; called in one thread at a time
    """

    def __init__(self, receive: t.Callable[[], bytes]) -> None:
        self._receive = receive
        self._ready: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()
        self._room = threading.Semaphore(AHEAD)
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._drained = True

    def next(self) -> bytes:
        if self._drained:
            data = self._receive()
            if not closes(data):
                self._start()
            return data
        item = self._ready.get()
        self._room.release()
        if isinstance(item, BaseException):
            self._drained = True
            raise item
        self._drained = closes(item)
        return item

    def close(self) -> None:
        """Ends the thread; to be called before the socket is closed."""
        self._stopped = True
        self._room.release()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        self._drained = False
        if self._thread is not None:
            self._thread.join()
        self._thread = threading.Thread(target=self._run, name="readahead", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            self._room.acquire()
            if self._stopped:
                return
            try:
                data = self._receive()
            except BaseException as error:  # for the thread that asks
                self._ready.put(error)
                return
            self._ready.put(data)
            if closes(data):
                return
