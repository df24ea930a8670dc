# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options and fixtures of the tests on other kernels: which kernels, their guests, what came of each, the table of results."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import typing as t
from pathlib import Path

import pytest
from kernel_lab import catalogue
from kernel_lab.catalogue import Kernel
from kernel_matrix import mixed_fleet, report
from kernel_matrix.fleet import Fleet, Run

# A test's marks say for which kernels it is.
CONDITIONS: dict[str, t.Callable[[Kernel], bool]] = {
    "with_zones": lambda kernel: kernel.truth.zones,
    "without_zones": lambda kernel: not kernel.truth.zones,
    "zone_filter_exact": lambda kernel: kernel.truth.zone_filter == "exact",
    "zone_filter_ignored": lambda kernel: kernel.truth.zone_filter == "ignored",
    "zone_zero_unsafe": lambda kernel: kernel.truth.zone_filter == "zone_zero_unsafe",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernels", default="all", help="which kernels: names of `lab list`, all, uml, uml-built, qemu; with commas between them")
    parser.addoption("--kernel-table", type=Path, help="write the table of results to this file when every kernel of the catalogue has passed")


def pytest_configure(config: pytest.Config) -> None:
    for name in CONDITIONS:
        config.addinivalue_line("markers", f"{name}: only for kernels of which this is true")


def _chosen(config: pytest.Config) -> tuple[Kernel, ...]:
    return catalogue.choose(catalogue.load(), config.getoption("--kernels").split(","))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The audit's fleet is of guests that are up together, so that a choice of kernels has it whole or not at all."""
    if collection_path.name != "test_audit_fleet.py":
        return None
    return None if {kernel.name for kernel in _chosen(config)} >= set(mixed_fleet.GUESTS) else True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kernel" not in metafunc.fixturenames:
        return
    wanted = [CONDITIONS[mark.name] for mark in metafunc.definition.iter_markers() if mark.name in CONDITIONS]
    kernels = [kernel for kernel in _chosen(metafunc.config) if all(condition(kernel) for condition in wanted)]
    metafunc.parametrize("kernel", kernels, ids=[kernel.name for kernel in kernels], scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that none of the chosen kernels is for, which pytest would show as skipped."""
    empty = [item for item in items if "kernel" in getattr(item, "fixturenames", ()) and not isinstance(item.callspec.params["kernel"], Kernel)]
    config.hook.pytest_deselected(items=empty)
    items[:] = [item for item in items if item not in empty]


def _why_not() -> str:
    """What keeps this machine from having guests; empty if nothing does."""
    if os.geteuid() != 0:
        return "needs root"
    if platform.machine() != "x86_64" or not shutil.which("apt-get") or not shutil.which("dpkg"):
        return "needs Debian on amd64"
    if not shutil.which("conntrack"):
        return "needs the command conntrack"
    return ""


@pytest.fixture(scope="session")
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Fleet]:
    """The guests of all kernels that any test of this session is for."""
    why_not = _why_not()
    if why_not:
        pytest.skip(why_not)
    wanted = {item.callspec.params["kernel"] for item in request.session.items if "kernel" in getattr(getattr(item, "callspec", None), "params", {})}
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    # A terminated run ends like an interrupted one: builds that it started end too.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        fleet.start([kernel for kernel in catalogue.load() if kernel in wanted])
        yield fleet
        table = request.config.getoption("--kernel-table")
        if table:
            _write(table, [fleet.run_of(kernel) for kernel in catalogue.load() if kernel in wanted], request.session.testsfailed)
    finally:
        fleet.close()
        signal.signal(signal.SIGTERM, before)


def _write(table: Path, runs: list[Run], failed: int) -> None:
    if failed:
        print(f"\n{table} was left as it is: {failed} tests failed")
        return
    missing = [kernel.name for kernel in catalogue.load() if kernel.name not in [run.kernel.name for run in runs if run.results]]
    if missing:
        print(f"\n{table} was left as it is: {', '.join(missing)} did not run")
        return
    table.parent.mkdir(exist_ok=True)
    table.write_text(report.document(runs), encoding="utf-8")
    print(f"\n{table} has what was seen")


@pytest.fixture
def run(fleet: Fleet, kernel: Kernel) -> Run:
    """What came of the kernel: fails where it did not boot, and skips only where this machine cannot have it."""
    run = fleet.run_of(kernel)
    if run.impossible:
        pytest.skip(f"needs another machine: {run.impossible}")
    if run.failure:
        pytest.fail(run.failure, pytrace=False)
    return run


@pytest.fixture
def results(run: Run) -> dict[str, dict[str, t.Any]]:
    """Results by step, see kernel_matrix.steps."""
    return run.results
