# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A table as it was seen: by conntrack(8), which shares no code with the modules, and by conntrack_info. Pure."""

from __future__ import annotations

import re
import typing as t

from . import tables

# What passes while nothing happens to an entry.
_FLEETING = frozenset(["timeout", "use"])
_LINE = re.compile(r"ipv[46]\s+\d+\s+\S+\s+\d+\s+(?:\d+\s)?(?P<rest>.*)")
_COUNT = re.compile(r"(\d+) flow entries have been shown")


def by_command(result: t.Mapping[str, t.Any], table: str) -> dict[str, str]:
    """Name to entry from the output of ``conntrack -L -o extended,id``, whole but for its timeout and use count.

    The command's own count must agree: of a command that failed an empty table would be believed.
    """
    found: dict[str, str] = {}
    known = tables.names(table)
    for line in result["stdout_lines"]:
        match = _LINE.match(line.strip())
        if not match:
            continue  # what else the step printed, and the command's own count
        entry = re.sub(r"(?<=\s)use=\d+\s*", "", match.group("rest")).strip()
        source = re.search(r"src=(\S+)", entry)
        zone = re.search(r"zone(?:-orig|-reply)?=(\d+)", entry)
        name = known[source.group(1) if source else "", int(zone.group(1)) if zone else 0]
        assert name not in found, f"two entries look like {name}"
        found[name] = entry
    counts = [int(count) for count in _COUNT.findall("\n".join(result["stdout_lines"]))]
    assert counts == [len(found)], f"{len(found)} entries were read of {result['stdout_lines']}"
    return found


def by_module(result: t.Mapping[str, t.Any], table: str) -> dict[str, dict[str, t.Any]]:
    """Name to entry from a result of conntrack_info, without what passes."""
    known = tables.names(table)
    found = {known[entry["original"]["source"], entry["zone"]]: {k: v for k, v in entry.items() if k not in _FLEETING} for entry in result["entries"]}
    assert len(found) == len(result["entries"]) == result["matched"], "entries that look the same, or a cut answer"
    return found


def ids(entries: t.Mapping[str, str]) -> dict[str, int]:
    """Name to id of what conntrack(8) showed."""
    return {name: int(re.findall(r"\bid=(\d+)", entry)[-1]) for name, entry in entries.items()}
