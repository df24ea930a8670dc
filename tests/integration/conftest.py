# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the tests on this machine's kernel: root, namespaces, Ansible with a fresh home."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t

import pytest
from ansible_run import Ansible
from network_namespace import Namespace


@pytest.fixture(scope="session")
def needs_conntrack() -> None:
    """Skips what cannot run here, and says why."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for command in ("ip", "conntrack"):
        if shutil.which(command) is None:
            pytest.skip(f"needs the command {command}")
    try:
        trial = Namespace()
    except subprocess.CalledProcessError:
        pytest.skip("network namespaces cannot be made here")
    try:
        trial.command("conntrack", "-C")
    except AssertionError as error:
        pytest.skip(f"conntrack cannot be read here: {str(error).strip()}")
    finally:
        trial.close()


@pytest.fixture
def make_namespace(needs_conntrack: None) -> t.Iterator[t.Callable[[], Namespace]]:
    """Makes namespaces that are gone after the test."""
    made: list[Namespace] = []

    def make() -> Namespace:
        made.append(Namespace())
        return made[-1]

    yield make
    for namespace in reversed(made):
        namespace.close()


@pytest.fixture
def ns(make_namespace: t.Callable[[], Namespace]) -> Namespace:
    """A fresh namespace."""
    return make_namespace()


@pytest.fixture
def needs_nft(ns: Namespace) -> None:
    if shutil.which("nft") is None:
        pytest.skip("needs the command nft")
    try:
        ns.command("nft", "list", "ruleset")
    except AssertionError as error:
        pytest.skip(f"this kernel has no nftables: {error}")


@pytest.fixture
def ansible(tmp_path_factory: pytest.TempPathFactory) -> Ansible:
    """Ansible with a fresh home folder."""
    return Ansible(tmp_path_factory.mktemp("home"))
