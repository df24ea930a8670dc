# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One command audits a fleet of real kernels; its report is compared with the catalogue's truth, and with what was put into the guests.

``NETSTATE_PICTURES=FOLDER`` keeps the report there, to be looked at.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from kernel_matrix import mixed_fleet as mixed

CLONE = Path(__file__).resolve().parents[2]
ZONE_FINDING = {
    "exact": "conntrack-zone-flush-native",
    "ignored": "conntrack-zone-flush-wipes",
    "zone_zero_unsafe": "conntrack-zone-zero-wipes",
    "unsupported": "conntrack-zones-not-built",
}
STATUSES = {
    **dict.fromkeys((*mixed.TRUE_TO_CATALOGUE, mixed.UNTRACKED, mixed.UNREADABLE, mixed.MACHINE), "audited"),
    **dict.fromkeys((mixed.USER, mixed.BARE), "partial"),
    mixed.OFF: "unreachable",
}

Host = t.Dict[str, t.Any]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[mixed.MixedFleet]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    started = mixed.MixedFleet(tmp_path_factory.mktemp("mixed"))
    try:
        started.start()
        yield started
    except mixed.Impossible as why:
        pytest.skip(f"needs another machine: {why}")
    finally:
        started.close()


@pytest.fixture(scope="module")
def folder(fleet: mixed.MixedFleet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one command wrote its report."""
    kept = os.environ.get("NETSTATE_PICTURES")
    dest = Path(kept, "fleet") if kept else tmp_path_factory.mktemp("report")
    arguments = f"-e audit_dest={dest} --forks 12"
    environment = dict(os.environ, ANSIBLE_TIMEOUT="60", MAKEFLAGS="")
    done = subprocess.run(
        ["make", "--no-print-directory", "audit", f"INVENTORY={fleet.inventory()}", f"ARGS={arguments}"],
        cwd=str(CLONE), env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return dest


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, t.Any]:
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def hosts(report: dict[str, t.Any]) -> dict[str, Host]:
    return {one["name"]: one for one in report["hosts"]}


def findings(host: Host) -> set[str]:
    return {finding["id"] for finding in host["findings"]}


def test_every_host_is_there(hosts: dict[str, Host]) -> None:
    assert {name: one["status"] for name, one in hosts.items()} == STATUSES, {name: one["reason"] for name, one in hosts.items()}


def test_kernels(hosts: dict[str, Host], fleet: mixed.MixedFleet) -> None:
    releases = {name: fleet.hosts[name]["lab_release"] for name in hosts if name not in (mixed.OFF, mixed.MACHINE)}
    assert {name: hosts[name]["kernel"] for name in releases} == releases
    assert hosts[mixed.MACHINE]["kernel"] == os.uname().release
    assert len(set(releases.values())) >= 5


@pytest.mark.parametrize("name", mixed.TRUE_TO_CATALOGUE)
def test_the_catalogue_is_right(name: str, hosts: dict[str, Host], fleet: mixed.MixedFleet) -> None:
    truth, can, found = fleet.hosts[name]["lab_truth"], hosts[name]["capabilities"], findings(hosts[name])
    observed = {key: can[key] for key in ("zone_filter", "status_filter", "tuple_filter_ipv6")}
    assert observed == {key: truth[key] for key in observed}
    assert found & set(ZONE_FINDING.values()) == {ZONE_FINDING[truth["zone_filter"]]}
    assert ("conntrack-ipv6-filter-inverted" in found) == (truth["tuple_filter_ipv6"] == "inverted")
    assert can["conntrack"] is True and can["pyroute2"] is True
    used = {"module": "no", "builtin": "loaded"}[truth["ipvs"]]  # nothing loads the module
    assert can["ipvs"] == ("in use" if name == mixed.FILLING else used)


@pytest.mark.parametrize("name", mixed.ENTRIES)
def test_tables_that_fill_up(name: str, hosts: dict[str, Host], fleet: mixed.MixedFleet) -> None:
    table = hosts[name]["table"]
    assert (table["count"], table["max"], table["used_percent"]) == (mixed.ENTRIES[name], mixed.LIMIT, mixed.USED_PERCENT[name])
    assert table["count"] == int(fleet.run(name, "conntrack -C"))
    wanted = "conntrack-table-critical" if name == mixed.FULL else "conntrack-table-high"
    assert findings(hosts[name]) & {"conntrack-table-critical", "conntrack-table-high"} == {wanted}


def test_ipvs(hosts: dict[str, Host]) -> None:
    host = hosts[mixed.FILLING]
    assert (host["ipvs"]["services"], host["ipvs"]["destinations"]) == (mixed.SERVICES, mixed.DESTINATIONS)
    assert findings(host) >= {"ipvs-present", "ipvs-udp-timeout"}
    others = [one for name, one in hosts.items() if name not in (mixed.FILLING, mixed.BARE)]
    assert not any("ipvs-present" in findings(one) for one in others)


def test_an_ordinary_user(hosts: dict[str, Host]) -> None:
    """What everybody may read is there, and the same as root reads; the rest is not known."""
    host = hosts[mixed.USER]
    assert "audit-not-permitted" in findings(host)
    assert "not_permitted" not in host["reason"] and "CAP_NET_ADMIN" in host["reason"]
    assert host["table"]["used_percent"] == mixed.USED_PERCENT[mixed.FULL]
    assert "conntrack-table-critical" in findings(host)
    can = host["capabilities"]
    assert can["conntrack"] is True and can["zone_filter"] in (None, "unknown") and can["status_filter"] is None
    assert not findings(host) & set(ZONE_FINDING.values())


def test_a_host_without_pyroute2(hosts: dict[str, Host]) -> None:
    host = hosts[mixed.BARE]
    assert "audit-no-pyroute2" in findings(host)
    assert host["capabilities"]["pyroute2"] is False
    assert host["table"]["used_percent"] == mixed.USED_PERCENT[mixed.FILLING]
    assert host["sockets"]["sockets"] > 0
    assert host["ipvs"] is None and host["capabilities"]["ipvs"] is None
    assert host["capabilities"]["zone_filter"] in (None, "unknown")


def test_hosts_without_connection_tracking_or_its_reader(hosts: dict[str, Host]) -> None:
    without, unreadable = hosts[mixed.UNTRACKED], hosts[mixed.UNREADABLE]
    assert "conntrack-absent" in findings(without) and "conntrack-unreadable" not in findings(without)
    assert without["capabilities"]["conntrack"] is False and without["table"] is None
    assert "conntrack-unreadable" in findings(unreadable) and "conntrack-absent" not in findings(unreadable)
    assert unreadable["capabilities"]["conntrack"] is True
    assert unreadable["table"]["count"] == 0 and unreadable["table"]["max"] > 0


def test_a_host_that_is_switched_off(hosts: dict[str, Host]) -> None:
    assert findings(hosts[mixed.OFF]) == {"host-unreachable"}
    assert "ssh" in hosts[mixed.OFF]["reason"]
    assert hosts[mixed.OFF]["kernel"] is None


def test_sums(report: dict[str, t.Any], hosts: dict[str, Host], folder: Path) -> None:
    summary = report["summary"]
    assert summary["statuses"] == {status: list(STATUSES.values()).count(status) for status in summary["statuses"]}
    assert summary["entries"] == sum(one["table"]["count"] for one in hosts.values() if one["table"])
    severities = [finding["severity"] for one in hosts.values() for finding in one["findings"]]
    assert summary["findings"] == {severity: severities.count(severity) for severity in summary["findings"]}
    rows = list(csv.DictReader((folder / "report.csv").read_text().splitlines()))
    assert len([row for row in rows if row["finding"]]) == len(severities)
    assert {row["host"] for row in rows} == set(hosts)


def test_nothing_was_changed(fleet: mixed.MixedFleet) -> None:
    """The audit loads no module, and leaves no entry and no namespace behind."""
    assert fleet.run(mixed.UNTRACKED, "cut -d' ' -f1 /proc/modules | grep -c ^nf_conntrack || true").strip() == "0"
    assert "nf_conntrack_netlink" not in fleet.run(mixed.UNREADABLE, "cut -d' ' -f1 /proc/modules")
    assert fleet.run("qemu-6.1", "cut -d' ' -f1 /proc/modules | grep -c ^ip_vs || true").strip() == "0"
    for name, entries in mixed.ENTRIES.items():
        assert int(fleet.run(name, "conntrack -C")) == entries
        assert fleet.run(name, "ls /run/netns").strip() == ""
