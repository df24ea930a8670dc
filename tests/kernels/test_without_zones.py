# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""On a kernel without zones a zone is refused with the reason, and all other selectors work."""

import pytest
from kernel_matrix import tables, view

pytestmark = pytest.mark.without_zones

UDP = {"plain-udp", "plain6-udp"}


def left(results, step):
    return view.by_command(results[step], "plain")


@pytest.mark.parametrize("step", ["flush 1", "flush 0", "info of a zone"])
def test_a_zone_is_refused_with_the_reason(kernel, results, step):
    refusal = results[step]
    assert refusal["failed"]
    assert (refusal["reason"], refusal["errno"]) == ("no_zones", "EOPNOTSUPP")


@pytest.mark.parametrize("step", ["flush 1", "flush 0"])
def test_a_refused_flush_deletes_nothing(kernel, results, step):
    assert (results[step]["changed"], results[step]["deleted"], results[step]["proof"]["filter"]) == (False, 0, "unsupported")
    assert left(results, f"{step}: table") == left(results, "before")


def test_check_mode_tells_and_leaves_everything(kernel, results):
    check = results["check"]
    assert (check["changed"], check["matched"], check["deleted"]) == (True, len(UDP), 0)
    assert left(results, "check: table") == left(results, "before")


def test_a_protocol_goes_and_the_rest_stays_entry_by_entry(kernel, results):
    flush = results["protocol"]
    assert flush["changed"]
    assert (flush["matched"], flush["deleted"], flush["remaining"]) == (len(UDP), len(UDP), 0)
    assert left(results, "protocol: table") == {name: entry for name, entry in left(results, "before").items() if name not in UDP}
    before, after = (view.by_module(results[step], "plain") for step in ("before: info", "protocol: info"))
    assert after == {name: entry for name, entry in before.items() if name not in UDP}


def test_a_second_run_changes_nothing(kernel, results):
    assert (results["again"]["changed"], results["again"]["matched"]) == (False, 0)
    assert left(results, "again: table") == left(results, "protocol: table")


@pytest.mark.parametrize(
    ("step", "gone", "left_before"),
    [("network", {"net", "net-far"}, "again: table"), ("network6", {"net6"}, "network: table")],
)
def test_a_network_goes_and_the_rest_stays(kernel, results, step, gone, left_before):
    assert results[step]["deleted"] == len(gone)
    assert gone < set(tables.PLAIN)
    assert left(results, f"{step}: table") == {name: entry for name, entry in left(results, left_before).items() if name not in gone}
