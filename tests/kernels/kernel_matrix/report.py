# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The document with what was seen on each kernel, made from the results alone. Pure."""

from __future__ import annotations

import typing as t

from . import tables, view

if t.TYPE_CHECKING:
    from .fleet import Run

HOW = {"uml": "User Mode Linux, Debian's", "uml-built": "User Mode Linux, built here", "qemu": "QEMU, Debian's"}

HEAD = """# What was seen on real kernels

Written by `make test-kernels`; changes by hand are lost. Each kernel ran as a guest of [the lab](../tests/kernels/README.md), reached by Ansible over ssh.

- *Zone filter* and what follows it are what `conntrack_facts` observed.
- *Flush of zone 1* is `conntrack_flush` with `zones: 1` on a table of {entries} entries in the zones {zones}, {members} of them in zone 1, some in one
  direction only; *others kept* are the entries of other zones that were there before and after, compared field by field.
- *Naive flush* is one message with CTA_ZONE and no questions asked, sent by the tests: how many entries of other zones it left.
"""


def document(runs: t.Sequence[Run]) -> str:
    members = tables.of_zones(1)
    zones = sorted({tables.zone_of(rest) for _source, rest in tables.ZONED.values()})
    figures = dict(entries=len(tables.ZONED), members=len(members), zones=", ".join(map(str, zones)))
    rows = [_row(run) for run in runs]
    evidence = "\n".join(f"- {run.kernel.name}: {_capabilities(run)['evidence']['zone_filter']}." for run in runs)
    return f"{HEAD.format(**figures)}\n{_table(rows)}\n## Evidence for the zone filter\n\n{evidence}\n"


def _capabilities(run: Run) -> dict[str, t.Any]:
    found: dict[str, t.Any] = run.results["facts"]["ansible_facts"]["conntrack"]["capabilities"]
    return found


def _row(run: Run) -> dict[str, str]:
    capabilities = _capabilities(run)
    return {
        "Kernel": run.kernel.name,
        "Release": run.release,
        "How": HOW[run.kernel.runs],
        "Zone filter": capabilities["zone_filter"],
        "Status filter": "yes" if capabilities["status_filter"] else "no",
        "IPv6 tuple filter": str(capabilities["tuple_filter_ipv6"]),
        "Flush of zone 1": _outcome(run, "flush 1"),
        "Others kept": _kept(run, "before", "flush 1: table"),
        "`method: kernel`, zone 1": _outcome(run, "kernel 1"),
        "zone 0": _outcome(run, "kernel 0"),
        "Naive flush of zone 1": _kept(run, "naive 1: before", "naive 1"),
        "of zone 0": _kept(run, "naive 0: before", "naive 0", 0),
    }


def _outcome(run: Run, step: str) -> str:
    result = run.results.get(step)
    if result is None:
        return "–"
    return f"refused: {result['reason']}" if result["failed"] else f"{result['deleted']} deleted ({result['method']})"


def _kept(run: Run, before: str, after: str, zone: int = 1) -> str:
    if before not in run.results or not run.kernel.truth.zones:
        return "–"
    there, left = (view.by_command(run.results[step], "zoned") for step in (before, after))
    others = {name: entry for name, entry in there.items() if name not in tables.of_zones(zone)}
    kept = sum(left.get(name) == entry for name, entry in others.items())
    return f"{kept} of {len(others)}"


def _table(rows: t.Sequence[t.Mapping[str, str]]) -> str:
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
