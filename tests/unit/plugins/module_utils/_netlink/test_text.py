# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What JSON cannot carry is written out."""

from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.text import printable


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", ""),
        ("blue", "blue"),
        ("blä", "blä"),
        (b"x-\xff\xc3".decode("utf-8", "surrogateescape"), "x-\\xff\\xc3"),
        ("\ud800", "\\ud800"),
        ("\udfff\udcff", "\\udfff\\xff"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected
    printable(text).encode()
