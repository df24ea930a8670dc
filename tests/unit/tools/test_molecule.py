# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/molecule: what it refuses before it makes anything."""

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "tools/molecule"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "RESULTS molecule|molecule-all|SCENARIO..."),
        (["results"], "RESULTS molecule|molecule-all|SCENARIO..."),
        (["results", "no_such"], "no scenario: extensions/molecule/no_such/converge.yml"),
    ],
)
def test_what_is_not_understood_is_said(tmp_path, words, said):
    arguments = [str(tmp_path / word) if word == "results" else word for word in words]
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
