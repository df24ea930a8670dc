# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook netstate.kernel.ipvs on a guest, over ssh, as a person runs it; what was seen on the way is what the tests look at."""

from __future__ import annotations

import os
import shutil
import typing as t

import pytest
from ipvs_guest import Guest, Impossible
from ipvs_story import Story

if t.TYPE_CHECKING:
    from kernel_lab.catalogue import Kernel


@pytest.fixture(scope="session")
def story(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Story]:
    """All that is done on one kernel, done."""
    if shutil.which("ipvsadm", path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
        pytest.skip("needs the command ipvsadm")
    guest = Guest(kernel.name, tmp_path_factory.mktemp(kernel.name))
    try:
        guest.up()
        story = Story(guest)
        story.tell()
        yield story
    except Impossible as error:
        pytest.skip(f"needs another machine: {error}")
    finally:
        guest.close()
