# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""audit.py [--hosts N] [--forks N ...] [--rounds N] [--synthetic N ...] [--output FILE]: what an audit costs.

The report of synthetic hosts, and the processor time of the whole audit against ansible.builtin.setup and ansible.builtin.ping on the same hosts.
Writes docs/benchmarks-audit.md, whose every figure is of the run that wrote it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

import audit_runs
from audit_runs import AUDIT, SETUP, Cost

CLONE = Path(__file__).resolve().parents[2]
ROLE = CLONE / "roles" / "audit"
MOST_OF_SETUP = 1.0

_TEXT = """\
# What an audit costs

Written by `make bench-audit`; no figure was typed by hand.

| Machine | |
|---|---|
| Kernel | {kernel} |
| Processors | {processors} |
| Python, ansible-core, pyroute2 | {python}, {core}, {pyroute2} |
| Load average (1 min) before | {before:.2f} |
| Cores used by others meanwhile | {others:.2f} |
{noise}
## The whole run

{hosts} hosts that are all this machine, by local connection. Each row is `ansible-playbook` on all of them, medians of {rounds} rounds in which
the playbooks ran in turn. Processor time is that of all processes, over the number of hosts; Ansible's start is in it. The *target's* is that of
the module's interpreter and what it starts, told by bash's `time` around it; the *controller's* is the rest, with the shells of the connection,
which over ssh would be the target's. `setup` gathers its default subset, the audit runs with its default options, and all become root (who is root
already).

| Playbook | Forks | Wall time | Processor time for each host | Controller | Target | ÷ setup |
|---|---|---|---|---|---|---|
{runs}

{verdict}

## The report

Hosts are **synthetic** (`tests/support/synthetic_fleet.py`): made-up facts, none was asked. Judging by all rules and writing all four formats, in a process
of its own. Processor time is user and system; peak memory is the process's
resident set, which includes the made-up facts.

| Hosts | Findings | Judging | Writing | Wall time, both | Peak memory | report.html |
|---|---|---|---|---|---|---|
{reports}
"""

_NOISE = """
**The machine had other work: wall times say little, and processor times are higher than on a quiet one.**
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--forks", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--synthetic", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--output", type=Path, default=CLONE / "docs" / "benchmarks-audit.md")
    parser.add_argument("--report-of", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    sys.path[:0] = [str(CLONE / ".dev"), str(CLONE / "tests" / "support")]
    if chosen.report_of:
        print(json.dumps(report_of(chosen.report_of)))
        return 0
    machine: t.Any = importlib.import_module("machine")
    before, watch = machine.load(), machine.Watch()
    with tempfile.TemporaryDirectory() as folder:
        runs = audit_runs.Runs(Path(folder), chosen.hosts)
        costs = {forks: runs.measured(forks, chosen.rounds) for forks in chosen.forks}
    reports = "\n".join(_report_row(number) for number in chosen.synthetic)
    others = watch.others()
    quiet = before <= machine.QUIET and others <= machine.QUIET_CORES
    text = _TEXT.format(
        kernel=platform.release(),
        processors=os.cpu_count(),
        python=platform.python_version(),
        core=importlib.metadata.version("ansible-core"),
        pyroute2=importlib.metadata.version("pyroute2"),
        before=before,
        others=others,
        noise="" if quiet else _NOISE,
        reports=reports,
        hosts=chosen.hosts,
        rounds=chosen.rounds,
        runs="\n".join(_run_row(name, forks, cost, one[SETUP], chosen.hosts) for forks, one in costs.items() for name, cost in one.items()),
        verdict=_verdict(costs),
    )
    chosen.output.write_text(text, encoding="utf-8")
    print(text)
    return 0


def report_of(number: int) -> dict[str, t.Any]:
    """Makes one report in this process."""
    import synthetic_fleet
    from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import render, report, rules

    ready = rules.compiled(rules.parse((ROLE / "files" / "rules.yml").read_text(encoding="utf-8"), "rules.yml"))
    results = synthetic_fleet.results(number)
    wall, start = time.monotonic(), time.process_time()
    whole = report.built(results, ready, synthetic_fleet.THRESHOLDS, synthetic_fleet.GATHERED_AT, None, "Synthetic", True)
    judged = time.process_time()
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in render.FORMATS:
            text = render.rendered(whole, (ROLE / "templates" / f"report.{kind}.j2").read_text(encoding="utf-8"), kind)
            sizes[kind] = Path(folder, kind).write_text(text, encoding="utf-8")
    return {
        "hosts": number,
        "findings": sum(whole["summary"]["findings"].values()),
        "judging": judged - start,
        "writing": time.process_time() - judged,
        "wall": time.monotonic() - wall,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "html": sizes["html"] / 1e6,
    }


def _report_row(number: int) -> str:
    done = subprocess.run([sys.executable, __file__, "--report-of", str(number)], capture_output=True, text=True, check=True)
    form = "| {hosts:,} | {findings:,} | {judging:.2f} s | {writing:.2f} s | {wall:.2f} s | {memory:.0f} MB | {html:.1f} MB |"
    return form.format(**json.loads(done.stdout))


def _run_row(name: str, forks: int, cost: Cost, setup: Cost, hosts: int) -> str:
    whole, target = cost.whole / hosts, cost.target / hosts
    return f"| {name} | {forks} | {cost.wall:.0f} s | {whole:.3f} s | {whole - target:.3f} s | {target:.3f} s | {cost.whole / setup.whole:.2f} |"


def _verdict(costs: dict[int, dict[str, Cost]]) -> str:
    ratios = {forks: one[AUDIT].whole / one[SETUP].whole for forks, one in costs.items()}
    shown = ", ".join(f"{ratio:.2f} with {forks} forks" for forks, ratio in ratios.items())
    met = all(ratio <= MOST_OF_SETUP for ratio in ratios.values())
    return f"Target: the whole audit takes at most {MOST_OF_SETUP} × the processor time of `setup`. **{'Met' if met else 'Missed'}:** {shown}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
