# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""A disk image with the guests' Python and pyroute2 for QEMU guests, to which the machine's own file system is slow.

The image holds copies at the paths they have on the machine; guest/start binds them over the originals, so that the interpreter's
path is the same in every guest. Reads the Python environment, writes below the cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from . import command, lock

# Parts of the standard library that no module on a managed node imports, among them most of its size.
LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "config-*", "site-packages", "dist-packages", "__pycache__")

ASK = """
import json, os, sys, sysconfig, pyroute2
library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
print(json.dumps({
    "version": sys.version,
    "executable": os.path.realpath(sys.executable),
    "library": library if sysconfig.get_config_var("Py_ENABLE_SHARED") and os.path.isfile(library) else "",
    "stdlib": os.path.realpath(sysconfig.get_path("stdlib")),
    "pyroute2": os.path.dirname(os.path.realpath(pyroute2.__file__)),
}))
"""


@dataclass(frozen=True)
class Environment:
    """Where a Python and its pyroute2 lie. `library` is empty where the interpreter is one file."""

    version: str
    executable: str
    library: str
    stdlib: str
    pyroute2: str

    def bound(self) -> tuple[str, ...]:
        """The files and folders that a guest takes from the image."""
        parts = [self.stdlib, self.executable]
        if not self.pyroute2.startswith(self.stdlib + os.sep):
            parts.append(self.pyroute2)
        if self.library:
            parts.append(self.library)
        return tuple(parts)


@dataclass(frozen=True)
class Image:
    """A disk image and what of it a guest binds over its root."""

    path: Path
    bound: tuple[str, ...]


def ask(python: Path) -> Environment:
    return Environment(**json.loads(command.run([python, "-I", "-c", ASK])))


def _fingerprints(environment: Environment) -> Iterator[str]:
    yield repr(environment)
    for path in (environment.executable, environment.stdlib):
        status = os.stat(path)
        yield f"{path} {status.st_size} {status.st_mtime_ns}"
    for source in sorted(Path(environment.pyroute2).rglob("*.py")):
        status = source.stat()
        yield f"{source} {status.st_size} {status.st_mtime_ns}"


def key(environment: Environment) -> str:
    """Names the image: another interpreter, or another pyroute2, gives another one."""
    return hashlib.sha256("\n".join(_fingerprints(environment)).encode()).hexdigest()[:16]


def _stage(environment: Environment, stage: Path, python: Path) -> None:
    """Copy what the image holds, and compile it: reading sources is what costs a guest most."""
    for folder in (environment.stdlib, environment.pyroute2):
        shutil.copytree(folder, _inside(stage, folder), symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)
    for file in filter(None, (environment.executable, environment.library)):
        target = _inside(stage, file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)
    # unchecked-hash: valid whatever the times of the copies are.
    words: list[object] = [python, "-I", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", "-s", stage, "-p", "/"]
    command.run([str(word) for word in [*words, _inside(stage, environment.stdlib), _inside(stage, environment.pyroute2)]])


def _inside(stage: Path, path: str) -> Path:
    return stage / path.lstrip("/")


def _size_mib(stage: Path) -> int:
    used = sum(path.lstat().st_size + 4096 for path in stage.rglob("*"))
    return used // 2**20 * 5 // 4 + 16


def _make(environment: Environment, python: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(".stage-*"):
        shutil.rmtree(left, ignore_errors=True)
    stage = Path(tempfile.mkdtemp(prefix=".stage-", dir=path.parent))
    try:
        root = stage / "root"
        root.mkdir()
        _stage(environment, root, python)
        command.run(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-d", root, stage / "image", f"{_size_mib(root)}M"])
        os.replace(stage / "image", path)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def image(cache: Path, python: Path) -> Image:
    """The image for this interpreter, made when it is not in the cache."""
    environment = ask(python)
    path = cache / "python" / f"{key(environment)}.ext4"
    with lock.held(cache / "locks" / "python", "the Python image"):
        if not path.exists():
            _make(environment, python, path)
    return Image(path, environment.bound())
