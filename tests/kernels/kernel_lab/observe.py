# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Compares what a guest's kernel is seen to do with what the catalogue says of it. Runs guest/observe.py over ssh."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from typing import Any, Mapping

from . import command, ssh
from .catalogue import Truth
from .failure import LabError
from .places import GUEST_SCRIPTS, Places
from .state import Guest

PATIENCE = 300


def differences(truth: Truth, seen: Mapping[str, Any]) -> list[str]:
    """One line for each field in which the catalogue and the kernel disagree."""
    said = asdict(truth)
    return [f"{field}: the catalogue says {said[field]!r}, the kernel does {seen.get(field)!r}" for field in said if said[field] != seen.get(field)]


def observe(places: Places, guest: Guest) -> Mapping[str, Any]:
    """What the guest's kernel does, as the fields of Truth."""
    # By standard input: a guest keeps seeing a file of the machine as it was when it first read it.
    with (GUEST_SCRIPTS / "observe.py").open("rb") as script:
        words = ssh.words(places, guest, [guest.python, "-I", "-"])
        done = subprocess.run(words, stdin=script, capture_output=True, timeout=PATIENCE, check=False, env=command.environment())
    if done.returncode:
        raise LabError(f"{guest.name}: observing failed:\n{command.last_lines(done.stderr.decode(errors='replace'))}")
    seen: Mapping[str, Any] = json.loads(done.stdout)
    return seen
