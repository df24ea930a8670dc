# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The import of pyroute2, of packages that stand in for it, each in a fresh Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import library

# The collection's folder as it is found by its name, and nothing else of this Python's packages.
SCRIPT = """
import sys
sys.path[:0] = {paths!r}
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import library
print([library.nla, library.genlmsg, library.nfgen_msg] != [object] * 3, bool(library.IMPORT_ERROR), sorted(n for n in sys.modules if n.startswith('pyroute2')))
print((library.IMPORT_ERROR or '').strip().splitlines()[-1:])
import pyroute2
print(pyroute2.whole, sorted(n for n in sys.modules if n.startswith('pyroute2')))
"""
WHOLE = "import pyroute2.netlink\nfrom pyroute2.netlink import nla\nwhole = True\n"
NETLINK = "class nla: pass\nclass genlmsg: pass\n"
NFNETLINK = "from pyroute2.netlink import nla\nclass nfgen_msg(nla): pass\n"
ALL = ["pyroute2", "pyroute2.netlink"]


def imported(folder: Path, package: str, netlink: str, nfnetlink: str = NFNETLINK) -> list[str]:
    for place, text in (("pyroute2", package), ("pyroute2/netlink", netlink), ("pyroute2/netlink/nfnetlink", nfnetlink)):
        (folder / place).mkdir(parents=True)
        (folder / place / "__init__.py").write_text(text)
    collections = str(Path(library.__file__).parents[6])
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(paths=[str(folder), collections])], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() + done.stderr.splitlines()[-1:]


def test_the_package_itself_is_not_run(tmp_path: Path) -> None:
    """Nor is it left half imported for others."""
    assert imported(tmp_path, WHOLE, NETLINK) == ["True False []", "[]", f"True {ALL}"]


def test_one_that_needs_its_package_gets_it(tmp_path: Path) -> None:
    found = imported(tmp_path, "whole = True\n", "import pyroute2\nassert pyroute2.whole\n" + NETLINK)
    assert found == [f"True False {[*ALL, 'pyroute2.netlink.nfnetlink']}", "[]", f"True {[*ALL, 'pyroute2.netlink.nfnetlink']}"]


@pytest.mark.parametrize("netlink, said", [("raise ImportError('too old')\n", "ImportError: too old"), ("1 / 0\n", "ZeroDivisionError: division by zero")])
def test_one_that_is_broken_says_why(netlink: str, said: str, tmp_path: Path) -> None:
    assert imported(tmp_path, "whole = True\n", netlink)[:2] == ["False True ['pyroute2']", f"[{said!r}]"]
