# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmarks run, report everything, and leave the host as it was. What they measure is not judged here."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
LIMIT = Path("/proc/sys/net/netfilter/nf_conntrack_max")

HOLD_AND_END = """
import limit, os, sys, time
with limit.raised(500, sys.argv[1]):
    print(open(sys.argv[1]).read())
    os.kill(os.getpid(), int(sys.argv[2]))
    time.sleep(9)
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    section = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[str]:
    before = LIMIT.read_text()
    output = tmp_path_factory.mktemp("benchmarks") / "folder" / "report.md"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert LIMIT.read_text() == before
    yield output.read_text(encoding="utf-8")


@needs_root
def test_every_scenario_has_its_line(report: str) -> None:
    found = rows(report, "Time")
    scenarios = ["zone of 200, with", "empty zone", "as on a kernel without", "facts `zones`", "all 20 zones", "method auto", "method entries"]
    assert [scenario for scenario, row in zip(scenarios, found) if scenario not in row[0]] == []
    assert len(found) == len(scenarios)
    for _scenario, ours, peer, _command, rounds, ratio, target, result in found:
        assert re.match(r"[\d,.]+ \([\d,.]+–[\d,.]+\)$", ours)
        assert re.match(r"(20 × )?[\d,.]+ \([\d,.]+–[\d,.]+\)$", peer)
        assert rounds == "1"
        assert float(ratio) > 0
        assert re.match(r"met|missed by [\d.]+ %" if target != "–" else "stated", result)


@needs_root
def test_memory_and_start_are_told(report: str) -> None:
    assert [len(row) for row in rows(report, "Size")] == [4] * 6
    assert [len(row) for row in rows(report, "Start")] == [5] * 2


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_limit_is_set_back_by_what_ends_the_run(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "nf_conntrack_max"
    path.write_text("262144\n")
    command = [sys.executable, "-c", HOLD_AND_END, str(path), str(int(ending))]
    done = subprocess.run(command, cwd=str(BENCHMARKS), stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "262644"
    assert done.returncode == 128 + ending
    assert path.read_text() == "262144\n"


def test_no_limit_stays_none(tmp_path: Path) -> None:
    path = tmp_path / "nf_conntrack_max"
    path.write_text("0\n")
    code = "import limit, sys\nwith limit.raised(500, sys.argv[1]) as most: print(most)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=str(BENCHMARKS), stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "0"
    assert path.read_text() == "0\n"
