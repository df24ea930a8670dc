# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Which packages are missing."""

import contextlib
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


@pytest.fixture
def installer(monkeypatch, tmp_path):
    """A machine without flex and bison, on which this process may install; what it installs."""
    absent, installed = ["bison", "flex"], []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(tools, "_present", lambda program: True)
    monkeypatch.setattr(tools, "INSTALLING", tmp_path / "lock")
    monkeypatch.setattr(tools, "missing", lambda needs: tuple(absent))
    monkeypatch.setattr(tools, "_install", lambda packages: (installed.extend(packages), absent.clear()))
    return absent, installed


def test_as_root_they_are_installed_and_the_lock_goes(installer):
    tools.ensure(tools.BUILD)
    assert installer[1] == ["bison", "flex"]
    assert not tools.INSTALLING.exists()


def test_what_another_lab_has_just_installed_is_left_to_it(installer, monkeypatch):
    absent, installed = installer

    @contextlib.contextmanager
    def wait_for_the_other(path, what, remove):
        absent.clear()
        yield

    monkeypatch.setattr(tools.lock, "held", wait_for_the_other)
    tools.ensure(tools.BUILD)
    assert installed == []
