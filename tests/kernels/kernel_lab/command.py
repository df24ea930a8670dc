# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright (c) netstate.kernel contributors
"""Runs a program of the machine and turns its failure into a LabError that ends with what it printed last."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Optional, Sequence, Union

from .failure import LabError

LAST_LINES = 20
# System folders first: a contributor's own PATH may hide sbin, where most of these programs live.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Word = Union[str, Path]


def last_lines(text: str, count: int = LAST_LINES) -> str:
    return "\n".join(text.rstrip().splitlines()[-count:])


def run(words: Sequence[Word], cwd: Optional[Path] = None, timeout: float = 600, log: Optional[Path] = None) -> str:
    """Run to the end and return standard output. With `log`, all output goes there instead and the answer is empty."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", PATH=PATH)
    arguments = [str(word) for word in words]
    try:
        if log is None:
            done = subprocess.run(arguments, cwd=cwd, env=environment, timeout=timeout, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            said = (done.stdout + done.stderr).decode(errors="replace")
        else:
            with log.open("ab") as sink:
                done = subprocess.run(arguments, cwd=cwd, env=environment, timeout=timeout, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
            said = log.read_text(errors="replace")
    except FileNotFoundError as error:
        raise LabError(f"{arguments[0]} is not installed (needed for: {' '.join(arguments)})") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{' '.join(arguments)} did not end within {timeout:.0f} s") from error
    if done.returncode:
        raise LabError(f"{' '.join(arguments)} failed with status {done.returncode}:\n{last_lines(said)}")
    return (done.stdout or b"").decode(errors="replace")
