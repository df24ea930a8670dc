# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""With every pyroute2: its definitions come without all the rest of it, and the rest is there for who wants it afterwards."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from ansible_collections.netstate.kernel.plugins.module_utils._netlink import library

SCRIPT = f"""
import sys
sys.path.insert(0, {str(Path(library.__file__).parents[6])!r})
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import library
assert library.IMPORT_ERROR is None, library.IMPORT_ERROR
print('pyroute2' in sys.modules)
import pyroute2.netlink
from pyroute2 import IPRoute, NetlinkError
assert pyroute2.netlink.nla and IPRoute and NetlinkError
"""


def test_the_definitions_come_alone() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    # 0.6 is a proxy of other packages, and cannot be taken apart.
    whole = importlib.metadata.version("pyroute2").startswith("0.6.")
    assert done.stdout.strip() == str(whole), done.stderr
    assert done.returncode == 0, done.stderr
