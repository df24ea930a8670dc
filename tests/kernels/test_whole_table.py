# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for the whole table on every kernel: both readers see the same, and all of it can be flushed."""

from kernel_matrix import tables, view


def test_both_readers_see_the_whole_table(kernel, results):
    table = "zoned" if kernel.truth.zones else "plain"
    seen = view.by_command(results["before"], table)
    read = view.by_module(results["before: info"], table)
    assert set(seen) == set(read) == set(tables.TABLES[table])
    assert view.ids(seen) == {name: entry["id"] for name, entry in read.items()}


def test_zones_and_their_directions_are_read(kernel, results):
    table = "zoned" if kernel.truth.zones else "plain"
    read = view.by_module(results["before: info"], table)
    for name, (_source, rest) in tables.TABLES[table].items():
        carrier = "original" if "original_zone" in rest else "reply" if "reply_zone" in rest else "both"
        assert (read[name]["zone"], read[name]["zone_carrier"]) == (tables.zone_of(rest), carrier), name


def test_flush_of_all(kernel, results):
    flush = results["all"]
    assert flush["changed"]
    assert flush["matched"] == flush["deleted"] > 0
    assert view.by_command(results["all: table"], "zoned" if kernel.truth.zones else "plain") == {}
