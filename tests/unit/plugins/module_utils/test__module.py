# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Without pyroute2: the module's own file in a process where the import fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import module_run
import pytest

SYSTEM_PYTHON = "/usr/bin/python3"

OPTIONS = [
    ("conntrack_facts", {}),
    ("conntrack_flush", {"zones": ["5"], "netns": "no-such-namespace-here"}),
    ("conntrack_info", {"netns": "no-such-namespace-here"}),
]


@pytest.fixture
def without_pyroute2(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(module_run.WITHOUT_PYROUTE2)
    return folder


@pytest.mark.parametrize("name, options", OPTIONS)
def test_missing_pyroute2_is_told(name: str, options: dict, without_pyroute2: Path) -> None:
    result = module_run.directly(name, options, without_pyroute2)
    assert result["failed"] is True
    assert "Failed to import the required Python library (pyroute2 >= 0.5.14)" in result["msg"]


@pytest.mark.skipif(
    not os.path.exists(SYSTEM_PYTHON) or os.path.realpath(SYSTEM_PYTHON) == os.path.realpath(sys.executable),
    reason="there is no other Python as " + SYSTEM_PYTHON,
)
def test_the_systems_python_is_tried(without_pyroute2: Path, tmp_path: Path) -> None:
    pyroute2 = pytest.importorskip("pyroute2")
    # The interpreter of the task cannot import it; the system's finds it in a folder that holds nothing else.
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "pyroute2").symlink_to(Path(pyroute2.__file__).parent)
    result = module_run.by_ansible(
        "conntrack_facts",
        {"gather_subset": ["min"]},
        tmp_path,
        without_pyroute2,
        folder,
        MAY_IMPORT_PYROUTE2=os.path.realpath(SYSTEM_PYTHON),
    )
    assert result.get("msg") is None, result
    assert result["ansible_facts"]["conntrack"]["kernel"] == os.uname().release


@pytest.mark.parametrize(
    "name, options, option, text",
    [
        ("conntrack_facts", {"gather_subset": ["hardware"]}, "gather_subset", "gather_subset: 'hardware': give names of all, min"),
        ("conntrack_flush", {}, "all", "all: False: nothing is selected"),
        ("conntrack_flush", {"zones": "foo"}, "zones", "zones: 'foo': give numbers from 0 to 65535"),
        ("conntrack_flush", {"zone": 65541}, "zones", "zones: '65541': out of range"),
        ("conntrack_flush", {"zones": []}, "zones", "zones: []: an empty list"),
        ("conntrack_flush", {"zones": ["0-65535"]}, "zones", "zones: ['0-65535']: that is the whole table"),
        ("conntrack_flush", {"all": True, "zones": ["5"]}, "all", "all: True: it cannot go with"),
        ("conntrack_flush", {"all": True, "exclude": {}}, "exclude", "exclude: {}: it names nothing"),
        ("conntrack_flush", {"zones": ["5"], "exclude": {"zone": ["x"]}}, "exclude.zones", "exclude.zones: 'x': give numbers"),
        ("conntrack_flush", {"zones": ["5"], "max_entries": -1}, "max_entries", "max_entries: -1: give 0 or more"),
        ("conntrack_flush", {"source": "10.0.0.5/24", "method": "kernel"}, "source", "source: '10.0.0.5/24': host bits"),
        ("conntrack_flush", {"protocols": "tcp", "method": "kernel"}, "method", "method: 'kernel': the kernel flushes whole zones"),
        ("conntrack_flush", {"labels": [128]}, "labels", "labels: 128: give label bits"),
        ("audit_facts", {"namespaces": "a, b"}, "namespaces", "namespaces: ' b': no namespace is named so"),
        ("audit_facts", {"namespaces_limit": -1}, "namespaces_limit", "namespaces_limit: -1: give a number of namespaces"),
        ("audit_facts", {"limit": -1}, "limit", "limit: -1: give a number of processes"),
        ("conntrack_info", {"limit": -1}, "limit", "limit: -1: give 0 or more"),
        ("conntrack_info", {"destination_ports": 80}, "destination_ports", "destination_ports: ['80']: ports need protocols"),
    ],
)
def test_bad_options_are_refused_before_anything_else(name: str, options: dict, option: str, text: str, without_pyroute2: Path) -> None:
    result = module_run.directly(name, options, without_pyroute2)  # even before pyroute2 is missed
    assert (result["failed"], result["option"]) == (True, option)
    assert result["msg"].startswith(text)


@pytest.mark.parametrize(
    "name, options",
    [("conntrack_facts", {}), ("conntrack_flush", {"zones": ["5"]}), ("conntrack_info", {})],
)
def test_a_namespace_that_is_absent(name: str, options: dict) -> None:
    result = module_run.directly(name, {**options, "netns": "no-such-namespace-here"})
    assert (result["failed"], result["errno"], result["reason"]) == (True, "ENOENT", "no_namespace")
    assert result["asked"] == "entering the network namespace no-such-namespace-here"
    if name == "conntrack_flush":
        counts = (result["changed"], result["matched"], result["deleted"], result["already_gone"], result["method"], result["netns"])
        assert counts == (False, 0, 0, 0, "none", "no-such-namespace-here")
