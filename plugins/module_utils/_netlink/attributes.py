# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The attributes of a message, by walking its bytes. Pure.

Layout from linux/netlink.h: ``nlattr`` is length u16 and type u16, in the order of the host; a value is padded to 4 bytes.
"""

from __future__ import annotations

import struct

HEAD = struct.Struct("=HH")
TYPE_MASK = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER


def walk(data: bytes, start: int, end: int) -> dict[int, bytes]:
    """Type to value, of the attributes from ``start`` to ``end``. What is cut off is left out; of two of one type the last stays."""
    found = {}
    unpack = HEAD.unpack_from
    while end - start >= 4:
        length, kind = unpack(data, start)
        if length < 4 or start + length > end:
            break
        found[kind & TYPE_MASK] = data[start + 4 : start + length]
        start += (length + 3) & ~3
    return found
