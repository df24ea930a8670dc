# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import namespace
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError, OptionError


def obstacle() -> str:
    """Why no namespace can be made here; empty if one can."""
    try:
        namespace.run_in_new(lambda: None)
    except NetstateError as error:
        return str(error)
    return ""


OBSTACLE = obstacle()
needs_namespaces = pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE or "none")


@pytest.mark.parametrize(
    "netns, path",
    [
        ("blue", "/run/netns/blue"),
        ("qrouter-5a1c", "/run/netns/qrouter-5a1c"),
        ("...", "/run/netns/..."),
        ("/proc/1/ns/net", "/proc/1/ns/net"),
        ("/run/netns/blue", "/run/netns/blue"),
    ],
)
def test_path_of(netns: str, path: str) -> None:
    assert namespace.path_of(netns) == path


@pytest.mark.parametrize("netns", ["", ".", "..", "a/b", "../etc/passwd", "blue/", "a\0b"])
def test_path_of_what_is_no_name(netns: str) -> None:
    with pytest.raises(OptionError) as caught:
        namespace.path_of(netns)
    assert caught.value.option == "netns"
    assert str(caught.value).startswith("netns: ")
    assert "/run/netns" in str(caught.value)


def refused(netns: str) -> NetstateError:
    called = []
    with pytest.raises(NetstateError) as caught:
        namespace.run(netns, lambda: called.append(True))
    assert not called
    return caught.value


def test_an_absent_name_is_not_made() -> None:
    error = refused("no-such-namespace-here")
    assert (error.code, error.reason.slug if error.reason else None) == ("ENOENT", "no_namespace")
    assert "entering the network namespace no-such-namespace-here failed" in str(error)
    assert not os.path.exists("/run/netns/no-such-namespace-here")


def test_an_absent_name_shows_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace, "DIRECTORY", str(tmp_path))
    assert "There are" not in str(refused("blue"))
    for number in range(10):
        (tmp_path / f"red{number}").touch()
    assert str(refused("blue")).endswith("There are: red0, red1, red2, red3, red4, red5, red6, red7, …")


@pytest.mark.parametrize(
    "name, code, slug",
    [("absent", "ENOENT", "no_namespace"), ("file/below", "ENOTDIR", "no_namespace"), ("folder", "EISDIR", "not_a_namespace")],
)
def test_paths_that_are_none(tmp_path: Path, name: str, code: str, slug: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    error = refused(str(tmp_path / name))
    assert (error.code, error.reason.slug if error.reason else None) == (code, slug)


def test_a_file_that_is_no_namespace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    error = refused(str(tmp_path / "file"))
    # The kernel looks at the file before it looks at the permission.
    assert (error.code, error.reason.slug if error.reason else None) == ("EINVAL", "not_a_namespace")


def test_without_a_name_the_job_runs_where_it_is() -> None:
    assert namespace.run(None, threading.current_thread) is threading.current_thread()


@needs_namespaces
def test_a_new_namespace_is_gone_afterwards_and_the_caller_never_moved() -> None:
    def job() -> tuple[str, list[str]]:
        proc = namespace.own_proc()
        with open(proc + "/net/dev", encoding="ascii") as file:
            devices = [line.split(":")[0].strip() for line in file if ":" in line]
        return os.readlink(proc + "/ns/net"), devices

    before = os.readlink("/proc/self/ns/net")
    inside, devices = namespace.run_in_new(job)
    assert inside != before
    assert "lo" in devices
    assert os.readlink("/proc/self/ns/net") == os.readlink("/proc/thread-self/ns/net") == before
    assert "netns" not in [thread.name for thread in threading.enumerate()]


@needs_namespaces
def test_a_job_runs_in_the_namespace_of_a_path() -> None:
    def where() -> str:
        return os.readlink(namespace.own_proc() + "/ns/net")

    def inside() -> tuple[str, str]:
        return where(), namespace.run(f"/proc/{os.getpid()}/ns/net", where)

    new, own = namespace.run_in_new(inside)
    assert own == os.readlink("/proc/self/ns/net") != new


@needs_namespaces
def test_exceptions_of_the_job_come_through() -> None:
    def job() -> None:
        raise KeyError("job")

    with pytest.raises(KeyError, match="job"):
        namespace.run_in_new(job)
