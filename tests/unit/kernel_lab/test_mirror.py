# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Deriving the mirror from what apt prints, with made-up addresses."""

import pytest
from kernel_lab import mirror
from kernel_lab.failure import LabError
from kernel_lab.mirror import Mirror

LINES = [
    "http://other.example/tools|tools-bookworm",
    "http://archive.example/debian/|bookworm",
    "http://archive.example/debian/|bookworm-updates",
    "http://archive.example/debian-security/|bookworm-security",
    "",
]


def test_the_archive_of_the_machines_own_release():
    assert mirror.from_targets(LINES, "bookworm") == Mirror("http://archive.example/debian/", "http://archive.example/debian-security/")


def test_a_machine_without_a_security_archive():
    assert mirror.from_targets(LINES[:3], "bookworm") == Mirror("http://archive.example/debian/")


def test_another_release_is_refused():
    with pytest.raises(LabError, match="NETSTATE_LAB_MIRROR"):
        mirror.from_targets(LINES, "trixie")


def test_the_environment_comes_first():
    assert mirror.find({"NETSTATE_LAB_MIRROR": "http://m.example/d", "NETSTATE_LAB_SECURITY_MIRROR": "http://m.example/s"}) == Mirror(
        "http://m.example/d", "http://m.example/s"
    )


@pytest.mark.parametrize("suite, security", [("bullseye", True), ("trixie", True), ("sid", False), ("trixie-backports", False)])
def test_sources(suite, security):
    lines = Mirror("http://m.example/d", "http://m.example/s").sources(suite).splitlines()
    assert lines[0].endswith(f"http://m.example/d {suite} main")
    assert len(lines) == 1 + security
    assert all(f"signed-by={mirror.KEYRING}" in line for line in lines)
