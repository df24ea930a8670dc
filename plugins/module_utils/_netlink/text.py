# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names of files and words of strangers as text that can be returned: Ansible refuses a host's whole answer for a lone surrogate. Pure."""

from __future__ import annotations

import re

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BYTES = range(0xDC80, 0xDD00)  # what surrogateescape makes of bytes that are no UTF-8


def printable(text: str) -> str:
    r"""The same, with ``\xff`` for a byte that was no UTF-8, and ``\ud800`` for the half characters that JSON can hold."""
    return _SURROGATE.sub(lambda found: _escaped(ord(found.group())), text)


def _escaped(number: int) -> str:
    return f"\\x{number - 0xDC00:02x}" if number in _BYTES else f"\\u{number:04x}"
