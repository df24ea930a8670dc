# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Packages of one Debian suite through apt, with lists of the lab's own below the cache; apt verifies the signatures.

The machine's own apt state is neither read (but for proxies and the like) nor changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import command, lock
from .failure import LabError, Unavailable
from .mirror import Mirror

EXACT_DEPENDENCY = re.compile(r"([a-z0-9][a-z0-9+.-]+) \(= ([^)]+)\)")


@dataclass(frozen=True)
class Package:
    """A package at one version. `sha256` is of its file."""

    name: str
    version: str
    depends: str = ""
    sha256: str = ""


def parse_show(text: str) -> Package:
    """The first stanza of `apt-cache show`."""
    fields: dict[str, str] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        key, separator, value = line.partition(": ")
        if separator and not line.startswith(" "):
            fields.setdefault(key, value)
    return Package(fields["Package"], fields["Version"], fields.get("Depends", ""), fields.get("SHA256", ""))


def exact_dependencies(package: Package) -> tuple[str, ...]:
    """Names of the dependencies pinned to the package's own version: parts of one kernel, unlike tools it merely uses."""
    return tuple(name for name, version in EXACT_DEPENDENCY.findall(package.depends) if version == package.version)


class Suite:
    """One suite's lists and packages below the cache folder."""

    def __init__(self, name: str, cache: Path, mirror: Mirror) -> None:
        self.name = name
        self.folder = cache / "apt" / name
        self.debs = cache / "debs"
        self.lock = cache / "locks" / f"apt-{name}"
        self.mirror = mirror

    def _options(self) -> list[str]:
        places = {
            "Dir::State": self.folder,
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "Dir::Etc::SourceList": self.folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            # The cache lies in a home folder, which apt's unprivileged user cannot enter.
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        options: list[str] = []
        for key, value in places.items():
            options += ["-o", f"{key}={value}"]
        return options

    def refresh(self, force: bool = False) -> None:
        """Read the suite's lists once; again only when forced or when the mirror changed."""
        sources = self.folder / "sources.list"
        wanted = self.mirror.sources(self.name)
        ready = self.folder / "ready"
        if ready.exists() and sources.read_text(encoding="utf-8") == wanted and not force:
            return
        ready.unlink(missing_ok=True)
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        sources.write_text(wanted, encoding="utf-8")
        print(f"reading the package lists of {self.name}", file=sys.stderr)
        # Error-Mode: a failed list would otherwise be a warning, and an old list or none would be used.
        try:
            command.run(["apt-get", *self._options(), "-o", "APT::Update::Error-Mode=any", "update"], timeout=300)
        except LabError as error:
            raise Unavailable(f"the package lists of {self.name} cannot be read: {error}") from error
        ready.touch()

    def find(self, name: str) -> Package:
        try:
            return parse_show(command.run(["apt-cache", *self._options(), "show", "--no-all-versions", name]))
        except LabError as error:
            raise LabError(f"{self.name} has no package {name}: {error}") from error

    def parts(self, name: str) -> tuple[Package, ...]:
        """The package and all that it is pinned to, as metapackages of kernels are."""
        found: dict[str, Package] = {}
        open_names = [name]
        while open_names:
            package = self.find(open_names.pop())
            found[package.name] = package
            open_names += [part for part in exact_dependencies(package) if part not in found]
        return tuple(found.values())

    def download(self, package: Package) -> Path:
        """The package's file, fetched and verified by apt unless it lies in the cache already, whole."""
        name = f"{package.name}_{package.version.replace(':', '%3a')}"
        for found in self.debs.glob(f"{name}_*.deb"):
            if hashlib.sha256(found.read_bytes()).hexdigest() == package.sha256:
                return found
        self.debs.mkdir(parents=True, exist_ok=True)
        # A file under its final name is complete and verified: it gets there by renaming.
        folder = Path(tempfile.mkdtemp(prefix=f".fetch-{self.name}.", dir=self.debs))
        try:
            print(f"fetching {package.name} {package.version} from {self.name}", file=sys.stderr)
            command.run(["apt-get", *self._options(), "download", f"{package.name}={package.version}"], cwd=folder, timeout=1800)
            fetched = next(folder.glob("*.deb"))
            return Path(shutil.move(str(fetched), str(self.debs / fetched.name)))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what a killed process left of a download; the suite's lock is held."""
        # The dot ends the suite's name: trixie-backports may be fetching meanwhile.
        for left in self.debs.glob(f".fetch-{self.name}.*"):
            shutil.rmtree(left, ignore_errors=True)

    def newest(self, name: str) -> tuple[Package, ...]:
        """The package and its pinned parts as the archive has them now, by lists that are read anew. Fetches no package."""
        with lock.held(self.lock, f"the packages of {self.name}"):
            self.refresh(force=True)
            return self.parts(name)

    def obtain(self, name: str) -> tuple[tuple[Package, Path], ...]:
        """The package and its pinned parts with their files. Waits for another process that uses the same lists."""
        with lock.held(self.lock, f"the packages of {self.name}"):
            self._sweep()
            self.refresh()
            try:
                return tuple((package, self.download(package)) for package in self.parts(name))
            except LabError:
                # The archive drops old versions: lists read long ago then name files that are gone.
                self.refresh(force=True)
                return tuple((package, self.download(package)) for package in self.parts(name))
