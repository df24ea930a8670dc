# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Peak memory, each measured in a fresh process: how far the resident set grew beyond what imports had taken.

As a script: memory.py JOB [ARGUMENT...] does one job and prints what it took as JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import subprocess
import sys
import typing as t

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import facts
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.flush import AUTO, ENTRIES, Order, flush
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_selection
from comparison import verdict
from population import Population

MIB = 1 << 20
KIB = 1 << 10


@dataclasses.dataclass(frozen=True)
class Figure:
    """A size in bytes.

    :ivar most: the largest size aimed at; ``None`` for one that is stated only
    """

    what: str
    size: int
    unit: int
    most: int | None = None

    def shown(self, size: int) -> str:
        return f"{size / self.unit:.1f} {'MiB' if self.unit == MIB else 'KiB'}"

    def verdict(self) -> str:
        return "stated" if self.most is None else verdict(self.size, self.most)


def of_facts() -> list[Figure]:
    usual = _in_child("facts", *facts.DEFAULT)
    walking = _in_child("facts", *facts.WALKING)
    zones = _in_child("facts", *(facts.DEFAULT + ("zones",)))
    return [
        Figure("peak growth, default facts", usual["grown"], MIB, 30 * MIB),
        Figure("peak growth, facts `zones` and `protocols`", walking["grown"], MIB, 30 * MIB),
        Figure("JSON of the default facts", usual["json"], KIB, 64 * KIB),
        Figure("JSON of the default facts and `zones`", zones["json"], KIB),
    ]


def of_large_flush(population: Population) -> list[Figure]:
    figures = []
    for method in (AUTO, ENTRIES):
        population.restore(population.large_zone)
        taken = _in_child("flush", str(population.large_zone), method)
        what = f"peak growth, flush of a zone of {population.large:,}, method {method}"
        figures.append(Figure(what, taken["grown"], MIB))
    return figures


def _in_child(*arguments: str) -> dict[str, int]:
    done = subprocess.run([sys.executable, __file__] + list(arguments), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _taken(job: t.Callable[[], t.Any]) -> dict[str, int]:
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # makes the peak what is resident now
    before = _status("VmRSS")
    result = job()
    return {"grown": _status("VmHWM") - before, "json": len(json.dumps(result))}


def _status(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        found = re.search(rf"^{name}:\s+(\d+) kB$", file.read(), re.MULTILINE)
    assert found, name
    return int(found.group(1)) * KIB


def main(job: str, *arguments: str) -> None:
    jobs: dict[str, t.Callable[..., t.Any]] = {
        "facts": lambda *subsets: facts.gather(subsets),
        "flush": lambda zone, method: flush(Order(parse_selection({"zones": [zone]}), method)),
    }
    print(json.dumps(_taken(lambda: jobs[job](*arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
