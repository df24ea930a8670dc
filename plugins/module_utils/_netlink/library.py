# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one import of pyroute2, and what to say when it is missing.

pyroute2 gives the bases of the message classes (``nfgen_msg``, ``genlmsg``, ``nla``) and their encoding and
decoding; the same bytes were seen from 0.5.14 to 0.9.7. Its sockets are not used: those of 0.9 know
no receive timeout and those up to 0.8.1 sleep nine seconds on EBUSY (see ``channel``).

Importing any part of it runs the package's ``__init__``, which imports all of it (routing, databases, asyncio): that would be the dearest thing
that a module does. The definitions do not need it, so that they are imported without, where the release lets them be (0.6 does not).
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
import sys
import traceback
import typing as t

from .errors import Reason

NAME = "pyroute2"
MINIMUM = "0.5.14"
MISSING = Reason("missing_library", f"{NAME} >= {MINIMUM} is not installed for Python {platform.python_version()}")


def _definitions() -> tuple[t.Any, t.Any, t.Any]:
    """The three bases, with everything around them that they need."""
    netlink = importlib.import_module(NAME + ".netlink")
    nfnetlink = importlib.import_module(NAME + ".netlink.nfnetlink")
    return netlink.genlmsg, netlink.nla, nfnetlink.nfgen_msg


def _definitions_alone() -> tuple[t.Any, t.Any, t.Any] | None:
    """The three bases, imported beneath a package that was found and not run; ``None`` where that does not work.

    Nothing of it stays in ``sys.modules``: who imports pyroute2 afterwards gets all of it.
    """
    if NAME in sys.modules:
        return None
    try:
        spec = importlib.util.find_spec(NAME)
        if spec is None:
            return None
        sys.modules[NAME] = importlib.util.module_from_spec(spec)
        return _definitions()
    except Exception:  # the ordinary import tells what is wrong
        return None
    finally:
        for name in [name for name in sys.modules if name == NAME or name.startswith(NAME + ".")]:
            del sys.modules[name]


IMPORT_ERROR: str | None
try:
    genlmsg, nla, nfgen_msg = _definitions_alone() or _definitions()
except Exception:  # old releases die of more than ImportError on a Python that is too new for them
    IMPORT_ERROR = traceback.format_exc()
    genlmsg = nla = nfgen_msg = object
else:
    IMPORT_ERROR = None

__all__ = ("IMPORT_ERROR", "MINIMUM", "MISSING", "NAME", "genlmsg", "nfgen_msg", "nla")
