# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""What is remembered of a guest between two commands: one JSON file in the guest's own folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from .places import Places
from .process import Process


@dataclass(frozen=True)
class Guest:
    """A guest that was started. `address` and `port` are where its ssh server answers, seen from the lab's namespace."""

    name: str
    pid: int
    started: int
    address: str
    port: int
    python: str
    release: str

    @property
    def process(self) -> Process:
        return Process(self.pid, self.started)


def write(places: Places, guest: Guest) -> None:
    path = places.guest(guest.name) / "state.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(guest)) + "\n", encoding="utf-8")
    os.replace(fresh, path)


def read(places: Places, name: str) -> Guest | None:
    """The guest's state; None where it was never started, or its starter died before it could say so."""
    try:
        return Guest(**json.loads((places.guest(name) / "state.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def names(places: Places) -> list[str]:
    """The guests that have a folder, whether they run or not."""
    try:
        return sorted(path.name for path in places.guests.iterdir())
    except OSError:
        return []


def console(places: Places, name: str) -> Path:
    return places.guest(name) / "console"
