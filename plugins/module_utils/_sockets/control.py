# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Asking an Open vSwitch daemon over its control socket, as ovs-appctl does: JSON-RPC 1.0 over a Unix socket.

What the daemon answers is data of a stranger: it is bounded in size and time.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import time
import typing as t

from .._netlink.text import printable

SECONDS = 3.0
MOST_BYTES = 8 << 20  # 65,000 ports are 5 MB
_MOST_DIGITS = 20
_LONGEST_PATH = 107  # of sockaddr_un
_CREDENTIALS = struct.Struct("=iII")  # pid, uid, gid of who listens


class ControlError(Exception):
    """The daemon was not asked, or did not give a result; the text says why."""


def ask(path: str, method: str, pid: int | None = None, deadline: float | None = None) -> str:
    """The text that ``ovs-appctl METHOD`` would print.

    :param pid: the daemon; a path into a container may lead to the socket of another, by a link
    :param deadline: on the monotonic clock; without it ``SECONDS`` from now

    :raises ControlError: when the socket cannot be used, the daemon refuses, or it takes too long
    """
    if deadline is None:
        deadline = time.monotonic() + SECONDS
    asked = f"{method} over {printable(path)}"
    request = json.dumps({"method": method, "params": [], "id": 0}).encode()
    try:
        with _connected(path, _left(deadline)) as connection:
            _check_peer(connection, pid)
            connection.sendall(request)
            result, refusal = _understood(_receive(connection, deadline))
    except OSError as error:
        raise ControlError(f"{asked}: {error.strerror or error}") from None
    except (RecursionError, MemoryError) as error:  # nested by the ten thousand
        raise ControlError(f"{asked}: the answer cannot be decoded ({type(error).__name__})") from None
    if result is None:
        raise ControlError(f"{asked}: {refusal}")
    return result


def _understood(answer: t.Any) -> tuple[str | None, str]:
    """The result, or ``None`` and why there is none."""
    if isinstance(answer, dict) and not answer.get("error") and isinstance(answer.get("result"), str):
        return printable(answer["result"]), ""
    return None, printable(str(answer.get("error") if isinstance(answer, dict) else answer).strip()[:200])


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise OSError("no whole answer in time")
    return left


@contextlib.contextmanager
def _connected(path: str, seconds: float) -> t.Iterator[socket.socket]:
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC))
        connection.settimeout(seconds)
        if len(os.fsencode(path)) > _LONGEST_PATH:
            folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, folder)
            path = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        connection.connect(path)
        yield connection


def _check_peer(connection: socket.socket, pid: int | None) -> None:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    peer = _CREDENTIALS.unpack(credentials)[0]
    if pid is not None and peer != pid:
        raise OSError(f"process {peer} listens there, not {pid}")


def _receive(connection: socket.socket, deadline: float) -> t.Any:
    """One JSON object; nothing on the wire tells its length."""
    received = bytearray()
    while len(received) < MOST_BYTES:
        connection.settimeout(_left(deadline))
        part = connection.recv(1 << 16)
        received += part
        if not part or part.rstrip().endswith(b"}"):
            try:
                return json.loads(received.decode("utf-8", "replace"), parse_int=_number)
            except ValueError:
                if not part:
                    raise OSError("the answer is not whole") from None
    raise OSError("the answer is too long")


def _number(digits: str) -> int:
    """Pythons before 3.8.14 take minutes for as many digits as an answer may have."""
    return int(digits[:_MOST_DIGITS])
