# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one import of pyroute2, and what to say when it is missing.

pyroute2 gives the bases of the message classes (``nfgen_msg``, ``genlmsg``, ``nla``) and their encoding and
decoding; the same bytes were seen from 0.5.14 to 0.9.7. Its sockets are not used: those of 0.9 know
no receive timeout and those up to 0.8.1 sleep nine seconds on EBUSY (see ``channel``).
"""

from __future__ import annotations

import traceback

NAME = "pyroute2"
MINIMUM = "0.5.14"

IMPORT_ERROR: str | None
try:
    from pyroute2.netlink import genlmsg, nla
    from pyroute2.netlink.nfnetlink import nfgen_msg
except Exception:  # old releases die of more than ImportError on a Python that is too new for them
    IMPORT_ERROR = traceback.format_exc()
    genlmsg = nla = nfgen_msg = object
else:
    IMPORT_ERROR = None

__all__ = ("IMPORT_ERROR", "MINIMUM", "NAME", "genlmsg", "nfgen_msg", "nla")
