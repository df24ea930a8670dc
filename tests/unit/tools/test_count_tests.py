# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/count_tests.py: which parts of the tests count as passed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "tools/count_tests.py"
PASSED = '<testcase name="a"/>'
FAILED = '<testcase name="a"><failure message="no"/></testcase>'
LACKING = '<testcase name="a"><skipped message="needs root"/></testcase>'
LEFT_OUT = '<testcase name="a"><skipped message="this kernel has no IPVS"/></testcase>'


@pytest.mark.parametrize(
    ("cases", "ended_with", "status", "last_line"),
    [
        ([PASSED], 0, 0, "1 passed, 0 failed, 0 skipped"),
        ([PASSED, FAILED], 1, 1, "1 passed, 1 failed, 0 skipped"),
        ([PASSED, LEFT_OUT], 0, 0, "1 passed, 0 failed, 1 skipped"),
        pytest.param([], 0, 1, "0 passed, 1 failed, 0 skipped", id="ran-no-test"),
        pytest.param([PASSED], 3, 1, "1 passed, 1 failed, 0 skipped", id="ended-badly-after-its-tests"),
        pytest.param([LEFT_OUT, LACKING], 0, 1, "0 passed, 1 failed, 2 skipped", id="skipped-all-of-them"),
        pytest.param([LACKING], 0, 1, "0 passed, 0 failed, 1 skipped", id="nothing-passed"),
    ],
)
def test_a_part_counts_as_what_it_did(tmp_path, cases, ended_with, status, last_line):
    (tmp_path / "part").mkdir()
    if cases:
        (tmp_path / "part/part.xml").write_text(f'<testsuite name="part">{"".join(cases)}</testsuite>', encoding="utf-8")
    done = subprocess.run([sys.executable, PROGRAM, tmp_path, f"part={ended_with}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (status, last_line), done.stderr


def test_a_part_that_this_machine_cannot_run_is_no_failure(tmp_path):
    for part, case in (("unit", PASSED), ("kernels", LACKING)):
        (tmp_path / part).mkdir()
        (tmp_path / part / "part.xml").write_text(f'<testsuite name="{part}">{case}</testsuite>', encoding="utf-8")
    done = subprocess.run([sys.executable, PROGRAM, tmp_path, "unit=0", "kernels=0"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "skipped: kernels a: needs root" in done.stdout
