# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules as a play runs them: packed, twice, in check mode, with a diff; and by the commands of README."""

from __future__ import annotations

import json
import re
import typing as t

import conntrack_command
import mixed_table
import pytest
from mixed_table import names_left

if t.TYPE_CHECKING:
    from ansible_run import Ansible
    from network_namespace import Namespace

FLUSH = "netstate.kernel.conntrack_flush"
ONE = {name for name in mixed_table.ENTRIES if name.startswith("one")}
OTHERS = set(mixed_table.ENTRIES) - ONE
HOST = "localhost"


def test_flush_twice_and_in_check_mode(ns: Namespace, ansible: Ansible) -> None:
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    flush = {FLUSH: {"zones": [1], "netns": ns.name}}
    count = {"ansible.builtin.command": {"argv": [*ns.inside, "conntrack", "-C"]}, "changed_when": False}
    results = ansible.play(
        [
            {"name": "check", **flush, "check_mode": True, "diff": True},
            {"name": "held after check", **count},
            {"name": "flush", **flush, "diff": True},
            {"name": "held after flush", **count},
            {"name": "again", **flush, "diff": True},
            {"name": "short name", "conntrack_flush": {"zone": "2", "netns": ns.name}},
        ]
    )
    check, done, again = (results[HOST, name] for name in ("check", "flush", "again"))
    assert [results[HOST, "held after " + name]["stdout"] for name in ("check", "flush")] == [str(len(before)), str(len(before) - 11)]
    assert [(one["changed"], one["matched"], one["deleted"]) for one in (check, done, again)] == [(True, 11, 0), (True, 11, 11), (False, 0, 0)]
    assert check["method"] == done["method"] == "entries"
    assert check["diff"]["before"] == done["diff"]["before"]
    assert done["diff"] == {
        "before": {"zone 1": {"gre": 1, "icmp": 1, "icmpv6": 1, "sctp": 1, "tcp": 5, "udp": 2}},
        "after": {"zone 1": {}},
    }
    assert results[HOST, "short name"]["deleted"] == 3
    assert conntrack_command.table(ns) == {line for line in before if not mixed_table.named(line).startswith(("one", "two"))}
    assert not any(result.get("warnings") or result.get("deprecations") for result in results.values())


def test_whole_play_in_check_mode_with_diff(ns: Namespace, ansible: Ansible) -> None:
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    tasks = [
        {"name": "flush", FLUSH: {"zones": [1], "netns": ns.name}},
        {"name": "facts", "netstate.kernel.conntrack_facts": {"gather_subset": ["all"], "netns": ns.name}},
        {"name": "info", "netstate.kernel.conntrack_info": {"netns": ns.name}},
        {"name": "from facts", "ansible.builtin.debug": {"msg": "{{ ansible_facts['conntrack'].table.count }}"}},
        {"name": "defaults", FLUSH: {"all": True}},
    ]
    # The group reaches modules by their full names.
    results = ansible.play(tasks[:-1], "--check", "--diff")
    assert results[HOST, "flush"]["changed"]
    assert "diff" in results[HOST, "flush"]
    assert not results[HOST, "facts"]["changed"]
    assert results[HOST, "info"]["matched"] == len(before)
    assert str(results[HOST, "from facts"]["msg"]) == str(len(before))
    assert conntrack_command.table(ns) == before
    grouped = [{**tasks[-1], "module_defaults": {"group/netstate.kernel.all": {"netns": ns.name}}}]
    assert ansible.play(grouped, "--check")[HOST, "defaults"]["netns"] == ns.name


def test_failures_reach_the_play(ns: Namespace, ansible: Ansible) -> None:
    mixed_table.fill(ns)
    before = conntrack_command.table(ns)
    refusals: list[tuple[str, dict[str, t.Any], str]] = [
        ("zone", {"zones": "foo"}, "zones: 'foo'"),
        ("nothing", {}, "all: true"),
        ("host bits", {"source": "10.0.0.5/24"}, "source: '10.0.0.5/24'"),
        ("too many", {"zones": 1, "max_entries": 3}, "max_entries allows 3"),
        ("missing", {"zones": 1, "netns": ns.name + "-not"}, "It is never created here"),
    ]
    results = ansible.play([{"name": name, FLUSH: {"netns": ns.name, **options}} for name, options, _said in refusals])
    for name, _options, said in refusals:
        assert results[HOST, name]["failed"], name
        assert said in results[HOST, name]["msg"], name
    assert conntrack_command.table(ns) == before


@pytest.mark.parametrize("name", ["conntrack_flush", FLUSH])
def test_one_command(ns: Namespace, ansible: Ansible, name: str) -> None:
    """As README has it, where the command itself runs in the namespace."""
    mixed_table.fill(ns)
    for flags, changed, deleted, left in ((["--check", "--diff"], True, 0, set(mixed_table.ENTRIES)), ([], True, 11, OTHERS), ([], False, 0, OTHERS)):
        shown = ansible.command("ansible", "localhost", "-m", name, "-a", "zones=1", *flags, inside=ns.inside)
        result = json.loads(shown.stdout[re.search(r"=> (?=\{)", shown.stdout).end() :])  # type: ignore[union-attr]
        assert (result["changed"], result["deleted"], result["netns"]) == (changed, deleted, None)
        assert names_left(ns) == left
        assert shown.stderr == ""


@pytest.mark.parametrize("module", ["conntrack_facts", "conntrack_flush", "conntrack_info"])
def test_documentation_by_either_name(ansible: Ansible, module: str) -> None:
    for name in (module, "netstate.kernel." + module):
        assert module in ansible.command("ansible-doc", name).stdout
