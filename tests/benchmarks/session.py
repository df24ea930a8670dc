# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run: the machine is described, the limit raised, everything measured in a new namespace, the report written."""

from __future__ import annotations

import argparse
import dataclasses
import sys

import limit
import machine
import memory
import report
import startup
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import namespace
from comparison import Comparison
from population import Population
from scenarios import Scenarios


@dataclasses.dataclass
class Findings:
    """What a run found."""

    described: machine.Description
    population: Population
    comparisons: list[Comparison] = dataclasses.field(default_factory=list)
    figures: list[memory.Figure] = dataclasses.field(default_factory=list)
    starts: list[startup.Start] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


def hold(chosen: argparse.Namespace) -> int:
    """:returns: an exit status; a missed target is a finding, not a failure"""
    described = machine.describe()
    watch = machine.Watch()
    findings = Findings(described, Population(chosen.entries, chosen.zones, chosen.large))
    with limit.raised(chosen.entries):
        namespace.run_in_new(lambda: _measure(findings, chosen.rounds))
    text = report.written(findings, watch.others(), machine.load())
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


def _measure(findings: Findings, rounds: int) -> None:
    population = findings.population
    scenarios = Scenarios(population, rounds)
    population.fill()
    findings.comparisons += [
        scenarios.small_zone(),
        scenarios.empty_zone(),
        scenarios.old_kernel(),
        scenarios.whole_walk(),
    ]
    findings.figures += memory.of_facts()
    findings.starts += startup.measured(population.empty_zone, rounds)
    findings.comparisons.append(scenarios.all_zones())
    population.make_room()
    findings.comparisons += scenarios.large_zone()
    findings.figures += memory.of_large_flush(population)
    findings.notes += scenarios.notes
