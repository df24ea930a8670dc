# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Brings kernels into the cache, each once, whoever asks for it at the same time."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
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


def _newest(kernel: Kernel, suite_of: Callable[[str], Suite]) -> dict[str, str]:
    """Versions of the packages that the kernel would be made of now, as in Artifact.packages."""
    packages = suite_of(kernel.suite).newest(kernel.package)
    if kernel.libc_suite:
        packages += suite_of(kernel.libc_suite).newest(fetch_uml.LIBC)
    return {package.name: package.version for package in packages}


def _cached(places: Places, kernel: Kernel) -> Artifact | None:
    """What the cache has of the kernel, unless it was built by another configuration or patch than is here now."""
    found = artifact.read(places.cache, kernel)
    if found and kernel.runs == UML_BUILT and not fetch_built.is_current(kernel, places.cache, found):
        return None
    return found


def _make_room(cache: Path) -> None:
    """Make the cache's folder, or say what is wrong with the place."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError as error:
        raise LabError(f"the cache {cache} cannot be written: {error.strerror}; --cache or NETSTATE_LAB_CACHE names another folder") from error


def fetch(places: Places, kernel: Kernel, refresh: bool = False) -> Artifact:
    """The kernel from the cache; fetched, and built where it is one of the lab's own, when it is not there."""
    _make_room(places.cache)
    with lock.held(places.cache / "locks" / kernel.name, f"fetching {kernel.name}"):
        found = _cached(places, kernel)
        if found and not refresh:
            return found
        tools.ensure(tools.FETCH)
        suite_of = _suites(places)
        if refresh:
            newest = _newest(kernel, suite_of)
            if found and found.packages == newest:
                # It stays as it is: nothing is fetched twice, and a guest may be running from it.
                print(f"{kernel.name}: there is nothing newer than Linux {found.release}", file=sys.stderr)
                return found
        made = METHODS[kernel.runs](kernel, places.cache, suite_of)
        _check_series(kernel, made.release)
        artifact.write(places.cache, kernel, made)
        print(f"{kernel.name}: Linux {made.release} is in the cache", file=sys.stderr)
        return made
