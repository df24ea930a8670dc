# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""count_tests.py FOLDER PART=STATUS...: adds up the JUnit files of FOLDER/PART, each part with the exit status it ended with.

Lists what failed and what was skipped, by name and with the reason. The last line is "N passed, N failed, N skipped".
Fails when anything failed, when nothing passed, when a part found no test, and when a part skipped all of its tests for another reason
than that the machine lacks something ("needs …"): a part that is silent is not a part that passed.
"""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path
from xml.etree import ElementTree


class Case(t.NamedTuple):
    name: str
    outcome: str
    reason: str


def read_case(suite: str | None, element: ElementTree.Element) -> Case:
    name = " ".join(filter(None, [suite, element.get("classname"), element.get("name")]))
    for outcome, tags in (("failed", ("failure", "error")), ("skipped", ("skipped",))):
        for tag in tags:
            child = element.find(tag)
            if child is not None:
                lines = (child.get("message") or child.text or "").strip().splitlines()
                return Case(name, outcome, lines[0] if lines else tag)
    return Case(name, "passed", "")


def read_file(path: Path) -> list[Case]:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        return [Case(str(path), "failed", f"unreadable: {error}")]
    return [read_case(suite.get("name"), element) for suite in root.iter("testsuite") for element in suite.iter("testcase")]


def read_part(folder: Path, status: int) -> list[Case]:
    cases = [case for path in sorted(folder.glob("*.xml")) for case in read_file(path)]
    if not cases:
        cases.append(Case(folder.name, "failed", "ran no test"))
    elif status and not any(case.outcome == "failed" for case in cases):
        cases.append(Case(folder.name, "failed", f"ended with status {status}"))
    elif all(case.outcome == "skipped" for case in cases) and not all(case.reason.startswith("needs ") for case in cases):
        cases.append(Case(folder.name, "failed", "skipped all of its tests"))
    return cases


def main(folder: str, *parts: str) -> int:
    cases: list[Case] = []
    for part in parts:
        name, _equals, status = part.partition("=")
        found = read_part(Path(folder, name), int(status))
        print(f"{name}: {count(found)}")
        cases += found
    for outcome in ("skipped", "failed"):
        for case in cases:
            if case.outcome == outcome:
                print(f"{outcome}: {case.name}: {case.reason}")
    print(count(cases))
    outcomes = {case.outcome for case in cases}
    return 0 if "passed" in outcomes and "failed" not in outcomes else 1


def count(cases: list[Case]) -> str:
    return ", ".join(f"{sum(case.outcome == outcome for case in cases)} {outcome}" for outcome in ("passed", "failed", "skipped"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
