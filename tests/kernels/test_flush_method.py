# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""method: the kernel's flush only where it is proven, and then with the same outcome as entry by entry."""

import pytest
from kernel_matrix import tables, view

pytestmark = pytest.mark.with_zones

ZONES = pytest.mark.parametrize("zone", [1, 0])


def before_and_after(results, step):
    return view.by_command(results[f"{step}: before"], "zoned"), view.by_command(results[f"{step}: table"], "zoned")


def assert_only_the_zone_went(results, method, zone):
    flush = results[f"{method} {zone}"]
    assert not flush["failed"], flush
    assert (flush["changed"], flush["method"]) == (True, method)
    assert flush["matched"] == flush["deleted"] == len(tables.of_zones(zone))
    before, after = before_and_after(results, f"{method} {zone}")
    assert after == {name: entry for name, entry in before.items() if name not in tables.of_zones(zone)}


def assert_refused(results, zone):
    refusal = results[f"kernel {zone}"]
    assert refusal["failed"]
    assert (refusal["reason"], refusal["deleted"]) == ("unproven", 0)
    before, after = before_and_after(results, f"kernel {zone}")
    assert after == before
    assert set(after) == set(tables.ZONED)


@ZONES
def test_entries_work_on_every_kernel(kernel, results, zone):
    assert_only_the_zone_went(results, "entries", zone)


@pytest.mark.zone_filter_exact
@ZONES
def test_the_kernels_flush_works_and_agrees(kernel, results, zone):
    assert_only_the_zone_went(results, "kernel", zone)
    outcomes = [{name: results[f"{method} {zone}"][name] for name in ("matched", "deleted", "protocols", "assured")} for method in ("kernel", "entries")]
    assert outcomes[0] == outcomes[1]
    left = [set(before_and_after(results, f"{method} {zone}")[1]) for method in ("kernel", "entries")]
    assert left[0] == left[1]


@pytest.mark.zone_filter_ignored
@ZONES
def test_the_kernels_flush_is_refused_where_it_would_empty_the_table(kernel, results, zone):
    assert_refused(results, zone)
    assert results[f"kernel {zone}"]["proof"]["filter"] == "ignored"


@pytest.mark.zone_zero_unsafe
def test_a_half_fixed_kernel_flushes_zone_1_and_is_refused_zone_0(kernel, results):
    assert_only_the_zone_went(results, "kernel", 1)
    assert_refused(results, 0)
    assert results["kernel 0"]["proof"]["filter"] == "zone_zero_unsafe"
