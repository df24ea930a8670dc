# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""What `fetch` leaves in the cache for one kernel: an image that starts, its modules and where they came from."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from .catalogue import Kernel


@dataclass(frozen=True)
class Artifact:
    """Paths are absolute. `modules` holds lib/modules/RELEASE and is empty where nothing is modular."""

    image: str
    release: str
    modules: str
    packages: dict[str, str]
    recipe: dict[str, str]


def _record(cache: Path, kernel: Kernel) -> Path:
    return cache / "kernels" / f"{kernel.name}.json"


def read(cache: Path, kernel: Kernel) -> Artifact | None:
    """What was fetched for the kernel, or None where nothing was, or by another recipe, or it was removed."""
    try:
        artifact = Artifact(**json.loads(_record(cache, kernel).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if artifact.recipe != kernel.recipe() or not Path(artifact.image).exists():
        return None
    return artifact


def write(cache: Path, kernel: Kernel, artifact: Artifact) -> None:
    path = _record(cache, kernel)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(artifact), indent=2) + "\n", encoding="utf-8")
    os.replace(fresh, path)
