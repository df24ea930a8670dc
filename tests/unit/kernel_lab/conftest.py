# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Makes the lab's package importable: it lies beside its command, outside of the collection's Python."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernels"))

from kernel_lab import catalogue, places  # noqa: E402


@pytest.fixture(scope="session")
def kernels():
    return {kernel.name: kernel for kernel in catalogue.load()}


@pytest.fixture
def where(tmp_path):
    environment = {"NETSTATE_LAB_RUN": str(tmp_path / "run"), "NETSTATE_LAB_CACHE": str(tmp_path / "cache"), "NETSTATE_LAB_PYTHON": sys.executable}
    return places.choose(environment, lab="unit")
