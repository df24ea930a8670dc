# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The danger is real: a zone flush that trusts the kernel, sent by code of the tests, empties the table of the kernels that are said to do so.

Without these the tests beside them would pass on a laboratory of harmless kernels.
"""

import pytest
from kernel_matrix import tables, view


def left_by_naive_flush(results, zone):
    before = view.by_command(results[f"naive {zone}: before"], "zoned")
    assert set(before) == set(tables.ZONED)
    assert "answer: success" in results[f"naive {zone}"]["stdout"]
    return set(view.by_command(results[f"naive {zone}"], "zoned"))


@pytest.mark.zone_filter_ignored
@pytest.mark.parametrize("zone", [1, 0])
def test_naive_flush_of_a_zone_empties_the_table_and_reports_success(kernel, results, zone):
    assert left_by_naive_flush(results, zone) == set()


@pytest.mark.zone_filter_exact
@pytest.mark.parametrize("zone", [1, 0])
def test_naive_flush_of_a_zone_is_harmless_where_the_filter_is_exact(kernel, results, zone):
    assert left_by_naive_flush(results, zone) == set(tables.ZONED) - tables.of_zones(zone)


@pytest.mark.zone_zero_unsafe
def test_naive_flush_of_zone_0_empties_the_table_of_a_half_fixed_kernel(kernel, results):
    assert left_by_naive_flush(results, 1) == set(tables.ZONED) - tables.of_zones(1)
    assert left_by_naive_flush(results, 0) == set()


@pytest.mark.without_zones
def test_naive_flush_is_refused_by_a_kernel_without_zones(kernel, results):
    assert "answer: not supported" in results["naive 1"]["stdout"]
    assert set(view.by_command(results["naive 1"], "plain")) == set(tables.PLAIN)
