# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps on a kernel, and the play that they become."""

import json
from pathlib import Path

import pytest
from kernel_matrix import play, steps

STEPS = pytest.mark.parametrize("named", [steps.zoned(), steps.zoneless()], ids=["zoned", "zoneless"])


@STEPS
def test_every_result_is_written_under_its_name(named):
    (made,) = play.book(named, Path("/results"))
    *tasks, last = made["tasks"]
    assert [task["name"] for task in tasks] == list(named)
    for task in tasks:
        assert f"{json.dumps(task['name'])}: {task['register']}" in last["ansible.builtin.copy"]["content"]


@STEPS
def test_no_answer_is_asked_for_twice(named):
    (made,) = play.book(named, Path("/results"))
    assert made["vars"]["ansible_ssh_retries"] == 0


def test_entries_outlive_the_slowest_play():
    assert steps.SECONDS > play.PATIENCE


def test_a_naive_flush_is_the_last_that_is_done():
    """Nothing is left after it on a dangerous kernel."""
    names = list(steps.zoned())
    assert names.index("naive 1: before") > max(place for place, name in enumerate(names) if not name.startswith("naive"))
