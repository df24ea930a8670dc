# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""conntrack_flush of a zone takes the entries of that zone, in whatever direction it holds, and nothing else: on every kernel with zones."""

import pytest
from kernel_matrix import steps, tables, view

pytestmark = pytest.mark.with_zones

ALL = set(tables.ZONED)


def table(results, step):
    return view.by_command(results[step], "zoned")


def info(results, step):
    return view.by_module(results[step], "zoned")


def without(entries, names):
    return {name: entry for name, entry in entries.items() if name not in names}


def test_check_mode_tells_and_leaves_everything(kernel, results):
    check, flush = results["check"], results["flush 1"]
    assert check["changed"]
    assert check["deleted"] == 0
    assert check["matched"] == flush["matched"] == len(tables.of_zones(1))
    assert table(results, "check: table") == table(results, "before")


def test_zone_1_goes_and_the_rest_stays_entry_by_entry(kernel, results):
    flush = results["flush 1"]
    assert flush["changed"]
    assert (flush["matched"], flush["deleted"], flush["remaining"]) == (len(tables.of_zones(1)),) * 2 + (0,)
    assert table(results, "flush 1: table") == without(table(results, "before"), tables.of_zones(1))
    assert info(results, "flush 1: info") == without(info(results, "before: info"), tables.of_zones(1))


def test_a_second_run_changes_nothing(kernel, results):
    again = results["again"]
    assert (again["changed"], again["matched"], again["deleted"]) == (False, 0, 0)
    assert table(results, "again: table") == table(results, "flush 1: table")


def test_zone_0_goes_and_the_rest_stays_entry_by_entry(kernel, results):
    flush = results["flush 0"]
    assert flush["changed"]
    assert flush["matched"] == flush["deleted"] == len(tables.of_zones(0))
    assert table(results, "flush 0: table") == without(table(results, "before"), tables.of_zones(0, 1))
    assert info(results, "flush 0: info") == without(info(results, "before: info"), tables.of_zones(0, 1))


def test_an_empty_zone_changes_nothing(kernel, results):
    flush = results["empty zone"]
    assert (flush["changed"], flush["matched"], flush["deleted"]) == (False, 0, 0)
    assert [row["zone"] for row in flush["zones"]] == [steps.EMPTY_ZONE]
    assert table(results, "empty zone: table") == table(results, "flush 0: table")


def test_two_zones_go_and_the_rest_stays(kernel, results):
    flush = results["two zones"]
    assert {row["zone"]: row["deleted"] for row in flush["zones"]} == {zone: len(tables.of_zones(zone)) for zone in (2, 65535)}
    assert table(results, "two zones: table") == without(table(results, "before"), tables.of_zones(0, 1, 2, 65535))


@pytest.mark.zone_filter_ignored
def test_the_proof_says_that_the_filter_is_ignored(kernel, results):
    for step in ("check", "flush 1", "flush 0"):
        assert results[step]["proof"]["filter"] == "ignored", results[step]["proof"]
        assert results[step]["method"] == "entries"


@pytest.mark.zone_filter_exact
def test_the_proof_says_that_the_filter_is_exact(kernel, results):
    assert results["flush 1"]["proof"]["filter"] == "exact", results["flush 1"]["proof"]
