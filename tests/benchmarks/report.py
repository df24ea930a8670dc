# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as Markdown. Every figure comes from the run."""

from __future__ import annotations

import typing as t

import machine
from markdown_table import table

if t.TYPE_CHECKING:
    from session import Findings

_AUDIT = "What an audit of a fleet costs is [measured by a run of its own](benchmarks-audit.md).\n"

_METHOD = """\
Written by `make bench`; no figure was typed by hand. Ours is the modules' code called in a running Python, from parsed options to the
result, without Ansible's start (below). The peer is the `conntrack` command of conntrack-tools, its start included, its output
discarded. Both are measured in turn in one run, in a network namespace of its own; before each measurement the entries that the last
one took are made again, and the counts that ours and the peer report are checked. The table shows medians of wall time with the least
and the most in brackets; a ratio is ours ÷ peer, of the medians.

The table holds {entries:,} entries in all scenarios: {zones} zones of {share:,} each, or, for the large zone, {rest} of these and one of
{large:,}. All are IPv4, TCP, established and assured.
"""


def written(findings: Findings, others: float, load: float) -> str:
    """The document.

    :param others: cores used by other processes during the run
    :param load: the load average at its end
    """
    parts = ["# Benchmarks\n", _AUDIT, _method(findings), _machine(findings.described, others, load), _comparisons(findings)]
    return "\n".join(parts + [_figures(findings), _starts(findings)])


def _method(findings: Findings) -> str:
    population = findings.population
    return _METHOD.format(
        entries=population.entries,
        zones=population.zones,
        share=population.share,
        large=population.large,
        rest=population.zones - population.large // population.share,
    )


def _machine(described: machine.Description, others: float, load: float) -> str:
    loads = f"{described.load:.2f} before, {load:.2f} at the end of the run, which itself keeps one to two cores busy"
    rows = list(described.rows) + [
        ("Load average (1 min)", loads),
        ("Cores used by others meanwhile", f"{others:.2f}"),
    ]
    text = table(["Machine", ""], rows)
    if described.load <= machine.QUIET and others <= machine.QUIET_CORES:
        return text
    limits = f"a load average of at most {machine.QUIET} before the run, and {machine.QUIET_CORES} cores used by others meanwhile"
    return f"{text}\n**The machine was not quiet ({limits}): the ratios are not valid.**\n"


def _comparisons(findings: Findings) -> str:
    rows = [
        (
            one.scenario,
            one.ours.shown(),
            (f"{one.calls} × " if one.calls > 1 else "") + one.theirs.shown(),
            f"`{one.command}`",
            str(len(one.ours.seconds)),
            f"{one.ratio:.{4 if one.ratio < 0.02 else 3}f}",
            "–" if one.target is None else f"≤ {one.target}",
            one.verdict(),
        )
        for one in findings.comparisons
    ]
    head = ["Scenario", "Ours, ms", "Peer, ms", "Peer's command", "Rounds", "Ratio", "Target", "Result"]
    notes = "".join(f"- {note}\n" for note in findings.notes)
    return f"## Time\n\n{table(head, rows)}\n{notes}"


def _figures(findings: Findings) -> str:
    rows = [
        (one.what, one.shown(one.size), "–" if one.most is None else f"≤ {one.shown(one.most)}", one.verdict())
        for one in findings.figures
    ]
    text = "Growth of the resident set at its peak, in a fresh process, beyond what Python and the imports take."
    return f"## Size\n\n{text}\n\n{table(['What', 'Measured', 'Target', 'Result'], rows)}"


def _starts(findings: Findings) -> str:
    rows = [
        (one.what, one.times.shown(), one.without_what, one.without.shown(), f"{(one.times.median - one.without.median) * 1000:.0f}")
        for one in findings.starts
    ]
    head = ["Start of", "ms", "Against", "ms", "Difference of the medians, ms"]
    return f"## Start\n\nStated, without a target.\n\n{table(head, rows)}"
