# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Programs that fail, hang or are not there."""

import time

import pytest
from kernel_lab import command
from kernel_lab.failure import LabError


def test_a_failed_command_ends_with_what_it_said():
    with pytest.raises(LabError, match=r"(?s)status 3:.*last words"):
        command.run(["sh", "-c", "echo last words >&2; exit 3"])


def test_an_absent_command_is_named():
    with pytest.raises(LabError, match="no-such-program is not installed"):
        command.run(["no-such-program"])


def test_a_command_that_hangs_is_ended():
    with pytest.raises(LabError, match="did not end within"):
        command.run(["sleep", "60"], timeout=0.2)


def test_the_children_of_a_command_that_hangs_end_too(tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(LabError, match="did not end within"):
        command.run(["sh", "-c", f"(sleep 0.6; touch {mark}) & wait"], timeout=0.2)
    time.sleep(0.8)
    assert not mark.exists()


def test_with_a_log_the_output_goes_there(tmp_path):
    log = tmp_path / "log"
    assert command.run(["echo", "one"], log=log) == ""
    with pytest.raises(LabError, match="(?s)status 1:.*two"):
        command.run(["sh", "-c", "echo two; exit 1"], log=log)
    assert log.read_text() == "one\ntwo\n"


def test_output_is_returned():
    assert command.run(["echo", "one"]) == "one\n"
