# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark runs; what it measures is no matter here."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"


def test_a_small_table_is_measured_both_ways(director):
    line = director.command(sys.executable, str(BENCHMARKS / "ipvs_guest.py"), "1", "12x3")
    (result,) = json.loads(line)["results"]
    assert result["shape"] == [12, 3]
    assert set(result["seconds"]) == {"load_ours", "load_peer", "read", "gather", "unchanged", "peer"}
    assert all(len(seconds) == 1 for seconds in result["seconds"].values())
    assert set(result["memory"]) == {"gather", "unchanged", "load"}
    assert director.rules() == ""


def test_a_table_that_is_not_what_was_meant_is_no_measurement(director):
    code = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import ipvs_guest; ipvs_guest.expect(ipvs_guest.Shape(2, 1), 3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "3 services and destinations were seen" in done.stderr
