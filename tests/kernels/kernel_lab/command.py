# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Runs a program of the machine and turns its failure into a LabError that ends with what it printed last."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Sequence, Union

from .failure import LabError

LAST_LINES = 20
# System folders first: a contributor's own PATH may hide sbin, where most of these programs live.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Word = Union[str, Path]


def environment() -> dict[str, str]:
    """For every program that the lab runs."""
    return dict(os.environ, LC_ALL="C.UTF-8", PATH=PATH)


def last_lines(text: str, count: int = LAST_LINES) -> str:
    return "\n".join(text.rstrip().splitlines()[-count:])


def _finish(child: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, bytes]:
    """Wait for the end and return what it printed; when that is cut short, its own children (a build has many) end too."""
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    return out or b"", err or b""


def run(words: Sequence[Word], cwd: Path | None = None, timeout: float = 600, log: Path | None = None) -> str:
    """Run to the end and return standard output. With `log`, all output goes there instead and the answer is empty."""
    arguments = [str(word) for word in words]
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(log.open("ab")) if log else subprocess.PIPE
        try:
            child = subprocess.Popen(arguments, cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True)
            out, err = _finish(child, timeout)
        except FileNotFoundError as error:
            raise LabError(f"{arguments[0]} is not installed (needed for: {' '.join(arguments)})") from error
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{' '.join(arguments)} did not end within {timeout:.0f} s") from error
    if child.returncode:
        said = log.read_text(errors="replace") if log else (out + err).decode(errors="replace")
        raise LabError(f"{' '.join(arguments)} failed with status {child.returncode}:\n{last_lines(said)}")
    return out.decode(errors="replace")
