# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Where the lab keeps what: the cache that labs share, and the run directory of one lab. Reads the environment, makes folders."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

from .failure import LabError

HERE = Path(__file__).resolve().parent.parent
REPOSITORY = HERE.parent.parent
GUEST_SCRIPTS = HERE / "guest"
CONFIGURATIONS = HERE / "config"

# A lab's name becomes part of a network namespace's name and of unix socket paths (108 bytes at most).
LAB_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,23}")


@dataclass(frozen=True)
class Places:
    """The folders of one lab and its name."""

    lab: str
    cache: Path
    run: Path
    python: Path

    @property
    def namespace(self) -> str:
        return f"kernel-lab-{self.lab}"

    @property
    def guests(self) -> Path:
        return self.run / "guests"

    def guest(self, name: str) -> Path:
        return self.guests / name

    @property
    def key(self) -> Path:
        return self.run / "id_ed25519"

    @property
    def host_key(self) -> Path:
        return self.run / "host_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.run / "known_hosts"

    @property
    def control_sockets(self) -> Path:
        return self.run / "cp"

    def control_sockets_of(self, name: str) -> Path:
        return self.control_sockets / name


def _run_base(environment: Mapping[str, str]) -> Path:
    if environment.get("NETSTATE_LAB_RUN"):
        return Path(environment["NETSTATE_LAB_RUN"])
    return Path("/run/netstate-kernel-lab")


def choose(  # pylint: disable=dangerous-default-value
    environment: Mapping[str, str] = os.environ,
    lab: str | None = None,
    cache: str | None = None,
    python: str | None = None,
) -> Places:
    """Options first, then the environment, then the defaults."""
    name = lab or environment.get("NETSTATE_LAB") or "lab"
    if not LAB_NAME.fullmatch(name):
        raise LabError(f"the lab's name {name!r} must be up to 24 of a-z, 0-9 and -, beginning with a letter or digit")
    default_cache = Path(environment.get("HOME") or "/", ".cache", "netstate-kernel-lab")
    default_python = REPOSITORY / ".venv" / "bin" / "python"
    return Places(
        lab=name,
        # The guests see these paths too, so they are made absolute; the interpreter's own link is kept, a virtual environment lives by it.
        cache=Path(os.path.abspath(cache or environment.get("NETSTATE_LAB_CACHE") or default_cache)),
        run=Path(os.path.abspath(_run_base(environment) / name)),
        python=Path(os.path.abspath(python or environment.get("NETSTATE_LAB_PYTHON") or default_python)),
    )
