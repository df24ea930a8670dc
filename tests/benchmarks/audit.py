# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""audit.py [--hosts N] [--forks N ...] [--synthetic N ...] [--output FILE]: what an audit costs.

The report of synthetic hosts, and the processor time of the whole audit against ansible.builtin.setup and ansible.builtin.ping on the same hosts.
Writes docs/benchmarks-audit.md, whose every figure is of the run that wrote it.
"""

from __future__ import annotations

import argparse
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

CLONE = Path(__file__).resolve().parents[2]
ROLE = CLONE / "roles" / "audit"

_TEXT = """\
# What an audit costs

Written by `tests/benchmarks/audit.py`; no figure was typed by hand.

| Machine | |
|---|---|
| Kernel | {kernel} |
| Processors | {processors} |
| Python, ansible-core | {python}, {core} |
| Load average (1 min) before and after | {before:.1f}, {after:.1f} |
{noise}
## The report

Hosts are **synthetic** (`tests/support/synthetic_fleet.py`): made-up facts, none was asked. Judging by all rules and writing all four formats, in a process
of its own. Processor time is user and system; peak memory is the process's
resident set, which includes the made-up facts.

| Hosts | Findings | Judging | Writing | Wall time, both | Peak memory | report.html |
|---|---|---|---|---|---|---|
{reports}

## The whole run

{hosts} hosts that are all this machine, by local connection: controller and target together, as they share its processors. Each row is one run of
`ansible-playbook`; the processor time is that of all its processes, and a host's share is that time over the number of hosts, start of Ansible included.

| Playbook | Forks | Wall time | Processor time | For each host | ÷ setup |
|---|---|---|---|---|---|
{runs}
"""

QUIET = 1.5
_NOISE = """
**The machine had other work: wall times say little, and processor times are higher than on a quiet one.**
"""

_PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.{module}:
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--forks", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--synthetic", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--output", type=Path, default=CLONE / "docs" / "benchmarks-audit.md")
    parser.add_argument("--report-of", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.report_of:
        print(json.dumps(report_of(chosen.report_of)))
        return 0
    before = os.getloadavg()[0]
    reports = "\n".join(_report_row(number) for number in chosen.synthetic)
    runs = "\n".join(_run_rows(chosen.hosts, chosen.forks))
    core = subprocess.run([_program("ansible"), "--version"], capture_output=True, text=True, check=True, env=_environment()).stdout.split("]")[0].split()[-1]
    text = _TEXT.format(
        kernel=platform.release(),
        processors=os.cpu_count(),
        python=platform.python_version(),
        core=core,
        before=before,
        noise="" if before < QUIET else _NOISE,
        after=os.getloadavg()[0],
        reports=reports,
        hosts=chosen.hosts,
        runs=runs,
    )
    chosen.output.write_text(text, encoding="utf-8")
    print(text)
    return 0


def report_of(number: int) -> dict[str, t.Any]:
    """Makes one report in this process."""
    sys.path[:0] = [str(CLONE / ".dev"), str(CLONE / "tests" / "support")]
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


def _run_rows(hosts: int, forks: list[int]) -> t.Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"all": {"hosts": {f"host{index}": variables for index in range(hosts)}}}
        Path(folder, "hosts.json").write_text(json.dumps(inventory), encoding="utf-8")
        for module in ("ping", "setup"):
            Path(folder, f"{module}.yml").write_text(_PLAY.format(module=module), encoding="utf-8")
        playbooks = {"`ping` (does nothing)": f"{folder}/ping.yml", "`setup`": f"{folder}/setup.yml", "audit, report included": "playbooks/audit.yml"}
        for number in forks:
            costs = {name: _cost(path, folder, number) for name, path in playbooks.items()}
            for name, (wall, processor) in costs.items():
                share = processor / costs["`setup`"][1]
                yield f"| {name} | {number} | {wall:.1f} s | {processor:.1f} s | {processor / hosts:.2f} s | {share:.2f} |"


def _cost(playbook: str, folder: str, forks: int) -> tuple[float, float]:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [_program("ansible-playbook"), playbook, "-i", f"{folder}/hosts.json", "--forks", str(forks), "-e", f"audit_dest={folder}/audit"]
    subprocess.run(command, cwd=str(CLONE), env=_environment(), stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def _environment() -> dict[str, str]:
    return dict(os.environ, ANSIBLE_CONFIG=str(CLONE / "ansible.cfg"), LC_ALL="C.UTF-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
