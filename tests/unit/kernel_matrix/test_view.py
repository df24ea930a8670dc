# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A table as conntrack(8) shows it: entries by name, without what passes."""

import pytest
from kernel_matrix import view

LINES = {
    "1": "ipv4     2 tcp      6 599 ESTABLISHED src=10.0.1.1 dst=192.0.2.1 sport=40000 dport=80 src=192.0.2.1 dst=10.0.1.1 "
    "sport=80 dport=40000 [ASSURED] mark=0 zone=1 use=1 id=2369631332",
    "1-v6-original": "ipv6     10 tcp      6 599 NONE src=2001:db8:1::3 dst=2001:db8::ffff sport=40000 dport=80 zone-orig=1 [UNREPLIED] "
    "src=2001:db8::ffff dst=2001:db8:1::3 sport=80 dport=40000 mark=0 use=1 id=1382006821",
    "0-shared": "ipv4     2 tcp      6 599 NONE src=10.9.9.9 dst=192.0.2.1 sport=40000 dport=80 [UNREPLIED] "
    "src=192.0.2.1 dst=10.9.9.9 sport=80 dport=40000 mark=0 use=1 id=5",
}


def shown(*lines):
    return {"stdout_lines": ["answer: success", *lines, f"conntrack v1.4.7 (conntrack-tools): {len(lines)} flow entries have been shown."]}


def test_entries_are_named_by_source_and_zone():
    assert set(view.by_command(shown(*LINES.values()), "zoned")) == set(LINES)


def test_time_passes_without_a_difference():
    later = [line.replace(" 599 ", " 37 ").replace("use=1", "use=2") for line in LINES.values()]
    assert view.by_command(shown(*later), "zoned") == view.by_command(shown(*LINES.values()), "zoned")


@pytest.mark.parametrize(("old", "new"), [("ESTABLISHED", "CLOSE"), ("mark=0", "mark=1"), ("id=2369631332", "id=1"), ("[ASSURED] ", "")])
def test_any_other_change_is_a_difference(old, new):
    changed = LINES["1"].replace(old, new)
    assert view.by_command(shown(changed), "zoned") != view.by_command(shown(LINES["1"]), "zoned")


def test_an_entry_of_another_zone_is_not_taken_for_one_of_this():
    with pytest.raises(KeyError):
        view.by_command(shown(LINES["1"].replace("zone=1", "zone=9")), "zoned")


def test_an_empty_table_is_empty():
    assert view.by_command(shown(), "zoned") == {}


@pytest.mark.parametrize("lines", [[], ["sh: conntrack: not found"], shown(LINES["1"])["stdout_lines"][:-1], shown()["stdout_lines"] + [LINES["1"]]])
def test_what_the_command_did_not_count_is_not_believed(lines):
    with pytest.raises(AssertionError, match="entries were read of"):
        view.by_command({"stdout_lines": lines}, "zoned")


def test_ids():
    assert view.ids(view.by_command(shown(*LINES.values()), "zoned")) == {"1": 2369631332, "1-v6-original": 1382006821, "0-shared": 5}
