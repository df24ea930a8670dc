# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The kernels that the lab knows and what is true of each; reads catalogue.json, touches nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Sequence

from .failure import LabError

CATALOGUE = Path(__file__).resolve().parent.parent / "catalogue.json"

UML = "uml"
UML_BUILT = "uml-built"
QEMU = "qemu"

ALLOWED = {
    "runs": (UML, UML_BUILT, QEMU),
    "zone_filter": ("exact", "ignored", "zone_zero_unsafe", "unsupported"),
    "tuple_filter_ipv6": ("right", "inverted"),
    "ipvs": ("builtin", "module", "absent"),
}


@dataclass(frozen=True)
class Truth:
    """What the kernel does, to be asserted by tests and never decided on by the product."""

    zones: bool
    zone_filter: str
    status_filter: bool
    tuple_filter_ipv6: str
    ipvs: str


@dataclass(frozen=True)
class Kernel:
    """One row of the catalogue. `index` is its place there, from which addresses and ports follow."""

    index: int
    name: str
    series: str
    release: str
    runs: str
    suite: str
    package: str
    memory_mib: int
    boot_seconds: int
    truth: Truth
    config: str = ""
    patch: str = ""
    libc_suite: str = ""
    glibc: str = ""

    @property
    def is_uml(self) -> bool:
        return self.runs in (UML, UML_BUILT)

    def recipe(self) -> dict[str, str]:
        """The fields that decide what is fetched; a change of them makes a cached kernel stale."""
        fields = asdict(self)
        always = {key: fields[key] for key in ("series", "runs", "suite", "package", "config", "libc_suite")}
        return {**always, **({"patch": self.patch} if self.patch else {})}


def _allowed(row: str, field: str, value: str) -> str:
    if value not in ALLOWED[field]:
        raise LabError(f"catalogue: {row}: {field} is {value!r}, not one of {', '.join(ALLOWED[field])}")
    return value


def _truth(row: str, fields: dict[str, Any]) -> Truth:
    truth = Truth(**fields)
    for field in ("zone_filter", "tuple_filter_ipv6", "ipvs"):
        _allowed(row, field, getattr(truth, field))
    if truth.zones == (truth.zone_filter == "unsupported"):
        raise LabError(f"catalogue: {row}: a kernel has a zone filter exactly when it has zones")
    return truth


def _kernel(index: int, fields: dict[str, Any]) -> Kernel:
    row = str(fields.get("name", f"row {index}"))
    try:
        kernel = Kernel(index=index, **dict(fields, truth=_truth(row, fields["truth"])))
    except (KeyError, TypeError) as error:
        raise LabError(f"catalogue: {row}: {error}") from error
    _allowed(row, "runs", kernel.runs)
    if (kernel.runs == UML_BUILT) != bool(kernel.config):
        raise LabError(f"catalogue: {row}: a built kernel, and only that, names its configuration")
    if kernel.patch and kernel.runs != UML_BUILT:
        raise LabError(f"catalogue: {row}: only a kernel that is built can have a patch")
    if not kernel.release.startswith(kernel.series + "."):
        raise LabError(f"catalogue: {row}: release {kernel.release} is not of the series {kernel.series}")
    return kernel


def parse(text: str) -> tuple[Kernel, ...]:
    """The kernels of a catalogue's text. Raises LabError naming the row and the field that is wrong."""
    kernels = tuple(_kernel(index, fields) for index, fields in enumerate(json.loads(text)["kernels"]))
    names = [kernel.name for kernel in kernels]
    for name in names:
        if names.count(name) > 1:
            raise LabError(f"catalogue: {name} stands there twice")
    return kernels


def load(path: Path = CATALOGUE) -> tuple[Kernel, ...]:
    return parse(path.read_text(encoding="utf-8"))


def choose(kernels: Sequence[Kernel], names: Sequence[str]) -> tuple[Kernel, ...]:
    """The kernels so named, `all` for every one and `uml`, `uml-built` or `qemu` for every one that runs so."""
    chosen = []
    for name in names:
        found = [k for k in kernels if name in ("all", k.name, k.runs)]
        if not found:
            raise LabError(f"no kernel {name!r}; there are {', '.join(k.name for k in kernels)}")
        chosen += [kernel for kernel in found if kernel not in chosen]
    return tuple(chosen)
