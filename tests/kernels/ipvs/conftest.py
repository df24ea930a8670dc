# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""IPVS on a real kernel, with ipvsadm as the judge. These tests run inside a guest of the lab: tools/ipvs-kernels starts them."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import presence
from ipvs_director import Director


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: left out of the quick part (tools/test ipvs-quick)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    why = _why_not()
    for item in items:
        # The hook sees the items of the whole session.
        if why and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=why))


def _why_not() -> str:
    if os.geteuid():
        return "needs root"
    if not shutil.which("ipvsadm"):
        return "needs the command ipvsadm"
    return "" if presence.look().module != "absent" else "needs a kernel with IPVS"


@pytest.fixture(scope="session")
def loaded() -> None:
    subprocess.run(["modprobe", "-qa", "ip_vs", "dummy", "veth"], check=False)


@pytest.fixture
def director(loaded: None) -> t.Iterator[Director]:
    one = Director()
    # Without the loopback interface the kernel takes every destination for a broadcast address.
    one.command("ip", "link", "set", "lo", "up")
    yield one
    one.close()
