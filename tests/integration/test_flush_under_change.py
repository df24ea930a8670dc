# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flushing while others make and delete entries, in the same zone and in others."""

from __future__ import annotations

import os
import sys
import typing as t
from pathlib import Path

import conntrack_command
import conntrack_table
import pytest
from module_main import call

if t.TYPE_CHECKING:
    import subprocess

    from network_namespace import Namespace

TESTS = Path(__file__).resolve().parents[1]
MANY = 5000
ROUNDS = 50  # at most, until an entry was seen to go between reading and deleting


def _churn(ns: Namespace, *zones: int) -> subprocess.Popen:
    path = os.pathsep.join([str(TESTS.parent / ".dev"), str(TESTS / "support")])
    process = ns.start(sys.executable, str(TESTS / "support/churn.py"), *map(str, zones), env={**os.environ, "PYTHONPATH": path})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _stable(ns: Namespace) -> frozenset[str]:
    """The table without the entries that are churned."""
    return frozenset(line.shown() for line in conntrack_command.lines(ns) if "src=172.16." not in line.rest)


@pytest.mark.parametrize("method", ["auto", "kernel", "entries"])
def test_a_zone_among_changing_ones(ns: Namespace, method: str) -> None:
    ns.fill(conntrack_table.many(400, lambda number: 6 + number % 2, first=1 << 20))
    others = _stable(ns)
    process = _churn(ns, 5, 6, 8)
    gone = 0
    for turn in range(ROUNDS):
        ns.fill(conntrack_table.many(MANY, lambda number: 5))
        done = call("conntrack_flush", {"netns": ns.name, "zones": ["5"], "method": method, "recount": True})
        assert not done["failed"], done
        assert _stable(ns) == others
        assert done["matched"] >= MANY
        assert done["deleted"] + done["already_gone"] == done["matched"]
        assert [row["zone"] for row in done["zones"]] == [5]
        assert done["remaining"] <= 300
        gone += done["already_gone"]
        if turn >= 2 and (gone or method != "entries"):
            break
    assert process.poll() is None, "the churning ended before its time"
    if method == "entries":
        assert gone, f"no entry vanished between reading and deleting in {ROUNDS} rounds"
    elif method == "kernel":
        assert gone == 0


def test_a_narrow_selection_in_a_changing_zone(ns: Namespace) -> None:
    """Entries of the same zone that are not selected stay, too."""
    ns.fill(conntrack_table.many(MANY, lambda number: 5))
    ns.fill([conntrack_table.entry("192.168.0.1", zone=5), conntrack_table.entry("2001:db8::1", zone=5)])
    _churn(ns, 5)
    done = call("conntrack_flush", {"netns": ns.name, "zones": ["5"], "source": ["10.0.0.0/8"]})
    assert (done["failed"], done["matched"], done["deleted"], done["already_gone"]) == (False, MANY, MANY, 0)
    assert len(_stable(ns)) == 2


def test_reading_a_changing_table(ns: Namespace) -> None:
    ns.fill(conntrack_table.many(MANY, lambda number: 5))
    _churn(ns, 5, 6)
    for _turn in range(5):
        facts = call("conntrack_facts", {"netns": ns.name, "gather_subset": ["zones", "protocols"]})["ansible_facts"]["conntrack"]
        assert {row["zone"] for row in facts["zones"]} <= {5, 6}
        assert MANY <= facts["zones"][0]["entries"] <= MANY + 300
        assert call("conntrack_info", {"netns": ns.name, "source": ["10.0.0.0/8"], "limit": 1})["matched"] == MANY
