# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""A User Mode Linux kernel of the lab's own, built from Debian's source package; cached by source version, configuration and patch."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Callable

from . import command, tools
from .artifact import Artifact
from .catalogue import Kernel
from .failure import LabError
from .places import CONFIGURATIONS
from .suite import Suite
from .unpack import appearing, unpack

# Without these the kernel would boot and every test would mean something else.
MUST_BE_ON = ("NF_CONNTRACK_ZONES", "NF_CT_NETLINK", "IP_VS", "UML_NET_VECTOR", "OVERLAY_FS", "HOSTFS")


def key(version: str, configuration: bytes, patch: bytes = b"") -> str:
    """Names one build: the same source and options give the same kernel, whatever the remarks between them say."""
    options = b"\n".join(line.strip() for line in configuration.splitlines() if b"CONFIG_" in line)
    parts = [version.encode(), options, *([patch] if patch else [])]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def switched_off(config: str) -> tuple[str, ...]:
    """The options of MUST_BE_ON that a kernel's .config lacks."""
    lines = set(config.splitlines())
    return tuple(option for option in MUST_BE_ON if f"CONFIG_{option}=y" not in lines)


def _patch(kernel: Kernel) -> Path | None:
    return CONFIGURATIONS / kernel.patch if kernel.patch else None


def _folder(kernel: Kernel, cache: Path, version: str) -> Path:
    patch = _patch(kernel)
    built = key(version, (CONFIGURATIONS / kernel.config).read_bytes(), patch.read_bytes() if patch else b"")
    return cache / "built" / f"{kernel.name}-{built}"


def _log(final: Path) -> Path:
    return final.with_name(final.name + ".log")


def is_current(kernel: Kernel, cache: Path, artifact: Artifact) -> bool:
    """Whether the cached kernel was built with the configuration as it is now."""
    return Path(artifact.image).parent == _folder(kernel, cache, artifact.packages[kernel.package])


def _configure(source: Path, configuration: Path, log: Path) -> None:
    command.run(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={configuration}", "allnoconfig"], cwd=source, log=log)
    off = switched_off((source / ".config").read_text(encoding="utf-8"))
    if off:
        raise LabError(f"the configuration lost {', '.join(off)}: {configuration.name} does not fit this source")


def _make(source: Path, log: Path) -> str:
    jobs = os.cpu_count() or 1
    command.run(["make", f"-j{jobs}", "ARCH=um", "linux"], cwd=source, timeout=3600, log=log)
    return command.run(["make", "-s", "ARCH=um", "kernelrelease"], cwd=source).strip()


def _build(package: str, deb: Path, configuration: Path, patch: Path | None, final: Path) -> None:
    """Build in a scratch folder and keep the binary, its .config and its release; about 1.7 GB are used meanwhile."""
    log = _log(final)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with appearing(final) as scratch:
        unpack([deb], scratch)
        tarball = scratch / "usr" / "src" / f"{package}.tar.xz"
        command.run(["tar", "xf", tarball, "-C", scratch])
        source = scratch / package
        if patch:
            command.run(["patch", "--strip=1", "--fuzz=0", "--input", patch], cwd=source, log=log)
        _configure(source, configuration, log)
        release = _make(source, log)
        for name in ("linux", ".config"):
            shutil.copy2(source / name, scratch / name.lstrip("."))
        (scratch / "release").write_text(release + "\n", encoding="utf-8")
        shutil.rmtree(source)
        shutil.rmtree(scratch / "usr")


def fetch(kernel: Kernel, cache: Path, suite_of: Callable[[str], Suite]) -> Artifact:
    tools.ensure(tools.BUILD)
    package, deb = suite_of(kernel.suite).obtain(kernel.package)[0]
    final = _folder(kernel, cache, package.version)
    if not (final / "linux").exists():
        print(f"building {kernel.name} from {package.name} {package.version}; minutes; progress in {_log(final)}", file=sys.stderr)
        start = time.monotonic()
        _build(package.name, deb, CONFIGURATIONS / kernel.config, _patch(kernel), final)
        print(f"built {kernel.name} in {time.monotonic() - start:.0f} s", file=sys.stderr)
    release = (final / "release").read_text(encoding="utf-8").strip()
    return Artifact(str(final / "linux"), release, "", {package.name: package.version}, kernel.recipe())
