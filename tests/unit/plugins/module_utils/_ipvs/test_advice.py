# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import advice, rules

DEFAULTS = {"expire_quiescent_template": 0, "expire_nodest_conn": 0, "conn_reuse_mode": 1, "conntrack": 0}
OLD, MIDDLE, NEW = "5.4.0-216-generic", "5.10.46", "6.12.117+deb13-amd64"

TCP = "-A -t 10.0.0.1:80"
UDP = "-A -u 10.0.0.1:53"
MARK = "-A -f 1\n-a -f 1 -r 10.1.0.1"

# Table, what differs from the default settings, the settings that are named. Each pair next to what it is without one of its halves.
PAIRS = {
    "nothing": ("", {"conn_reuse_mode": 0}, set()),
    "plain": (TCP, {}, set()),
    "persistence": (TCP + " -p", {}, {"expire_quiescent_template"}),
    "persistence, expired": (TCP + " -p", {"expire_quiescent_template": 1}, set()),
    "udp": (UDP, {}, {"expire_nodest_conn"}),
    "udp, expired": (UDP, {"expire_nodest_conn": 1}, set()),
    "weight 0": (MARK + " -w 0", {}, {"expire_nodest_conn"}),
    "weight 1": (MARK + " -w 1", {}, set()),
    "weight 0, expired": (MARK + " -w 0", {"expire_nodest_conn": 1}, set()),
    "masquerade": (MARK + " -m", {}, {"conntrack"}),
    "masquerade, tracked": (MARK + " -m", {"conntrack": 1}, set()),
    "tunnel": (MARK + " -i", {}, set()),
}

# Settings and, for each release, whether conn_reuse_mode is named; a word of the reason.
REUSE = {
    "0": ({"conn_reuse_mode": 0}, {OLD: "draining", MIDDLE: "draining", NEW: "draining"}),
    "0, tracked": ({"conn_reuse_mode": 0, "conntrack": 1}, {OLD: "but with conntrack on, 1 delays", MIDDLE: "draining", NEW: "draining"}),
    "0, expired": (
        {"conn_reuse_mode": 0, "expire_nodest_conn": 1},
        {OLD: "expire_nodest_conn does nothing", MIDDLE: "expire_nodest_conn does nothing", NEW: "new destinations get little"},
    ),
    "1": ({}, {}),
    "1, tracked": ({"conntrack": 1}, {OLD: "waits a second"}),
    "2, tracked": ({"conn_reuse_mode": 2, "conntrack": 1}, {OLD: "waits a second"}),
    "1, tracked, expired": ({"conntrack": 1, "expire_nodest_conn": 1}, {OLD: "waits a second"}),
}


def advised(text, settings, release):
    found = advice.advise({**DEFAULTS, **settings}, rules.parse_table(text), release)
    for one in found:
        assert one["value"] == {**DEFAULTS, **settings}[one["sysctl"].rsplit(".", 1)[1]]
        assert one["reason"] and "\n" not in one["reason"] and "{" not in one["reason"]
    names = [one["sysctl"] for one in found]
    assert len(set(names)) == len(names), "one word on each setting"
    return {name.rsplit(".", 1)[1]: one["reason"] for name, one in zip(names, found)}


@pytest.mark.parametrize("release", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("text, settings, names", PAIRS.values(), ids=PAIRS)
def test_a_pair_bites_and_its_halves_do_not(text, settings, names, release):
    found = advised(text, settings, release)
    found.pop("conn_reuse_mode", None)
    assert set(found) == names


@pytest.mark.parametrize("release", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("settings, reasons", REUSE.values(), ids=REUSE)
def test_reuse_of_a_port_by_kernel(settings, reasons, release):
    reason = advised(TCP, settings, release).get("conn_reuse_mode")
    assert (reason is not None) == (release in reasons)
    assert reasons.get(release, "") in (reason or "")
    assert "(5." not in (reason or "") or release in reason, "a fix is named together with the release at hand"


@pytest.mark.parametrize("text", ["", UDP])
def test_no_reuse_without_connections_that_end(text):
    for settings, _reasons in REUSE.values():
        assert "conn_reuse_mode" not in advised(text, settings, OLD)


# The first release of each side of the two fixes; what cannot be read is taken for new.
@pytest.mark.parametrize(
    "release, delays, defeats",
    [("4.18.0-553.el8", 1, 1), ("5.8.18", 1, 1), ("5.9.0", 0, 1), ("5.15.0", 0, 1), ("5.16", 0, 0), ("10.0.1", 0, 0), ("lab", 0, 0)],
)
def test_releases(release, delays, defeats):
    assert bool(advised(TCP, {"conntrack": 1}, release)) == delays
    assert ("does nothing" in advised(TCP, {"conn_reuse_mode": 0, "expire_nodest_conn": 1}, release)["conn_reuse_mode"]) == defeats


def test_a_kernel_without_the_settings():
    assert advice.advise({}, rules.parse_table(MARK + " -m -w 0\n" + UDP + " -p"), OLD) == []
