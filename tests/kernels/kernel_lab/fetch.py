# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Brings kernels into the cache, each once, whoever asks for it at the same time."""

from __future__ import annotations

import sys
from typing import Callable

from . import artifact, fetch_built, fetch_distribution, fetch_uml, lock, mirror, tools
from .artifact import Artifact
from .catalogue import QEMU, UML, UML_BUILT, Kernel
from .failure import LabError
from .places import Places
from .suite import Suite

METHODS = {UML: fetch_uml.fetch, UML_BUILT: fetch_built.fetch, QEMU: fetch_distribution.fetch}


def _suites(places: Places) -> Callable[[str], Suite]:
    where = mirror.find()
    known: dict[str, Suite] = {}

    def suite_of(name: str) -> Suite:
        return known.setdefault(name, Suite(name, places.cache, where))

    return suite_of


def _check_series(kernel: Kernel, release: str) -> None:
    if release != kernel.series and not release.startswith(f"{kernel.series}."):
        raise LabError(f"{kernel.suite} now has {release}, not {kernel.series}: the catalogue's row {kernel.name} needs another suite, or another name")


def fetch(places: Places, kernel: Kernel, refresh: bool = False) -> Artifact:
    """The kernel from the cache; fetched, and built where it is one of the lab's own, when it is not there."""
    with lock.held(places.cache / "locks" / kernel.name, f"fetching {kernel.name}"):
        found = artifact.read(places.cache, kernel)
        if found and not refresh and (kernel.runs != UML_BUILT or fetch_built.is_current(kernel, places.cache, found)):
            return found
        tools.ensure(tools.FETCH)
        made = METHODS[kernel.runs](kernel, places.cache, _suites(places), refresh)
        _check_series(kernel, made.release)
        artifact.write(places.cache, kernel, made)
        print(f"{kernel.name}: Linux {made.release} is in the cache", file=sys.stderr)
        return made
