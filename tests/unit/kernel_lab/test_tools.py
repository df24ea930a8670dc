# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Which packages are missing."""

import os

import pytest
from kernel_lab import tools
from kernel_lab.failure import LabError


def test_missing_names_packages_once():
    present = {"ip", "ssh", "unshare", "modprobe", "perl"}.__contains__
    assert tools.missing([tools.GUEST, tools.UML_GUEST], present) == ("dropbear-bin", "ethtool", "openssh-client", "openssh-sftp-server")


def test_nothing_missing_runs_nothing(monkeypatch):
    monkeypatch.setattr(tools, "missing", lambda needs: ())
    monkeypatch.setattr(tools, "_install", lambda packages: pytest.fail("installed"))
    tools.ensure(tools.BUILD)


def test_without_root_the_packages_are_named(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(tools, "missing", lambda needs: ("flex", "bison"))
    with pytest.raises(LabError, match="install these packages: flex bison"):
        tools.ensure(tools.BUILD)
