# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""What is remembered of a guest."""

import pytest
from kernel_lab import state
from kernel_lab.state import Guest

GUEST = Guest("uml-6.1", 12, 34, "198.18.1.2", 22, "/venv/bin/python", "6.1.176")


def test_what_was_written_is_read(where):
    where.guest("uml-6.1").mkdir(parents=True)
    state.write(where, GUEST)
    assert state.read(where, "uml-6.1") == GUEST
    assert state.names(where) == ["uml-6.1"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}', '{"pid": 1, "odd": 2}'])
def test_a_state_that_was_cut_off_is_none(where, text):
    folder = where.guest("uml-6.1")
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(text)
    assert state.read(where, "uml-6.1") is None
    assert state.names(where) == ["uml-6.1"]


def test_no_lab_has_no_guests(where):
    assert state.names(where) == []
    assert state.read(where, "uml-6.1") is None
