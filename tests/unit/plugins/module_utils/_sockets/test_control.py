# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of a far side on a Unix socket, well-behaved and not."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import control

if t.TYPE_CHECKING:
    from pathlib import Path


def serve(path: Path, parts: list[bytes], asked: list[bytes]) -> threading.Thread:
    """Answers one request in the given parts, then closes."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(1)

    def answer() -> None:
        with listener, listener.accept()[0] as connection:
            asked.append(connection.recv(1 << 16))
            with contextlib.suppress(BrokenPipeError):
                for part in parts:
                    connection.sendall(part)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(
    "parts",
    [
        [b'{"id":0,"result":"3.1.0\\n","error":null}'],
        [b'{"id":0,"result":"3.1', b'.0\\n","error"', b":null}\n"],
    ],
)
def test_result(tmp_path: Path, parts: list[bytes]) -> None:
    asked: list[bytes] = []
    thread = serve(tmp_path / "a.ctl", parts, asked)
    assert control.ask(str(tmp_path / "a.ctl"), "version", os.getpid()) == "3.1.0\n"
    thread.join(10)
    assert json.loads(asked[0]) == {"method": "version", "params": [], "id": 0}


@pytest.mark.parametrize(
    "parts, why",
    [
        ([b'{"id":0,"result":null,"error":"\\"x\\" is not a valid command"}'], "not a valid command"),
        ([b'{"id":0,"resu'], "not whole"),
        ([b""], "not whole"),
        ([b"[1]"], "1"),
        ([b'{"id":0,"result":5,"error":null}'], "None"),
        ([b"[" * 200_000 + b"}"], "cannot be decoded"),
        ([b'{"error":' * 100_000 + b"}"], "cannot be decoded"),
        ([b'{"id":0,"result":null,"error":' + b"1" * 100_000 + b"}"], ": 1{20}$"),
        ([b'{"id":0,"result":null,"error":"\\ud800"}'], r": \\ud800$"),
    ],
)
def test_refusal(tmp_path: Path, parts: list[bytes], why: str) -> None:
    serve(tmp_path / "a.ctl", parts, [])
    with pytest.raises(control.ControlError, match=why):
        control.ask(str(tmp_path / "a.ctl"), "version")


def test_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_BYTES", 1000)
    serve(tmp_path / "a.ctl", [b"x" * 2000], [])
    with pytest.raises(control.ControlError, match="too long"):
        control.ask(str(tmp_path / "a.ctl"), "version")


def test_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "SECONDS", 0.2)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "a.ctl"))
        listener.listen(1)
        with pytest.raises(control.ControlError, match="version"):
            control.ask(str(tmp_path / "a.ctl"), "version")


def test_another_process_listens(tmp_path: Path) -> None:
    serve(tmp_path / "a.ctl", [b'{"id":0,"result":"x","error":null}'], [])
    with pytest.raises(control.ControlError, match=f"process {os.getpid()} listens there, not 1"):
        control.ask(str(tmp_path / "a.ctl"), "version", 1)


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(control.ControlError, match="No such file"):
        control.ask(str(tmp_path / "absent.ctl"), "version")


def test_a_path_longer_than_an_address(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    short = tmp_path / "a.ctl"
    serve(short, [b'{"id":0,"result":"far","error":null}'], [])
    (folder / "a.ctl").symlink_to(short)
    assert control.ask(str(folder / "a.ctl"), "version") == "far"


def test_half_a_character_is_written_out(tmp_path: Path) -> None:
    serve(tmp_path / "a.ctl", [b'{"id":0,"result":"3.1 \\udc41 \xff","error":null}'], [])
    answer = control.ask(str(tmp_path / "a.ctl"), "version")
    assert answer.encode().startswith(b"3.1 \\udc41 ")


def test_a_path_that_is_no_utf8(tmp_path: Path) -> None:
    with pytest.raises(control.ControlError) as caught:
        control.ask(str(tmp_path / "\udcff.ctl"), "version")
    assert b"/\\xff.ctl: " in str(caught.value).encode()


def test_no_time_left(tmp_path: Path) -> None:
    with pytest.raises(control.ControlError, match="in time"):
        control.ask(str(tmp_path / "absent.ctl"), "version", None, time.monotonic() - 1)
