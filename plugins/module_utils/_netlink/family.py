# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Looking up a family of generic netlink.

The lookup makes the kernel load the family's module, whoever asks: who must not load anything finds out first whether it is there.

Numbers from linux/genetlink.h.
"""

from __future__ import annotations

import errno
import struct
import typing as t

from . import attributes
from .channel import HEADER, Channel, encoded
from .errors import NetstateError, Reason
from .library import genlmsg

CONTROL = 0x10  # GENL_ID_CTRL
GET_FAMILY = 3
HEAD = 4  # genlmsghdr: command u8, version u8, reserved u16
BODY_AT = HEADER.size + HEAD

_ID, _OPERATIONS = 1, 6
_OPERATION_ID, _OPERATION_FLAGS = 1, 2
OPERATION_DUMPS = 0x4

_U16, _U32 = struct.Struct("=H"), struct.Struct("=I")


class control_msg(genlmsg):  # pylint: disable=missing-class-docstring
    prefix = "CTRL_ATTR_"
    nla_map = ((2, "CTRL_ATTR_FAMILY_NAME", "asciiz"),)


class Family(t.NamedTuple):
    """A family as this kernel has it.

    :ivar id: the message type of its requests and answers
    :ivar operations: number of a command to the kernel's flags for it
    """

    id: int
    operations: t.Mapping[int, int]


def request(name: str) -> bytes:
    """Asks for the family of that name."""
    message = control_msg()
    message["cmd"], message["version"] = GET_FAMILY, 1
    message["attrs"] = [["CTRL_ATTR_FAMILY_NAME", name]]
    return encoded(message, CONTROL, 0)


def look_up(channel: Channel, name: str, absent: Reason | None = None) -> Family:
    """The family of that name.

    :param absent: the reason to give when there is none
    :raises NetstateError: when there is none, or the kernel does not answer
    """
    asked = f"lookup of the generic netlink family {name}"
    answers = channel.ask(asked, request(name), {errno.ENOENT: absent} if absent else None)
    if not answers:
        raise NetstateError(asked, errno.ENODATA)
    return parse(answers[0])


def parse(message: bytes) -> Family:
    """Reads the kernel's answer."""
    found = attributes.walk(message, BODY_AT, len(message))
    listed = found.get(_OPERATIONS, b"")
    operations = {}
    for one in attributes.walk(listed, 0, len(listed)).values():
        operation = attributes.walk(one, 0, len(one))
        operations[_U32.unpack(operation[_OPERATION_ID])[0]] = _U32.unpack(operation[_OPERATION_FLAGS])[0]
    return Family(_U16.unpack(found[_ID])[0], operations)
