# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which namespaces are looked into, and what becomes of a part that cannot be read."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._audit import gather
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import kernel, library, namespace
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NO_ANSWER, NetstateError, OptionError

if t.TYPE_CHECKING:
    from pathlib import Path

NAMES = ["qrouter-1", "qrouter-2", "qdhcp-1", "Qrouter-3", "[x]"]


@pytest.mark.parametrize(
    "patterns, names",
    [
        ([], []),
        (["*"], sorted(NAMES)),
        (["qrouter-*"], ["qrouter-1", "qrouter-2"]),
        (["qrouter-*", "qrouter-1", "qd*"], ["qdhcp-1", "qrouter-1", "qrouter-2"]),
        (["qrouter-[13]"], ["qrouter-1"]),
        (["nothing"], []),
    ],
)
def test_matching(patterns: list[str], names: list[str]) -> None:
    assert gather.matching(NAMES, patterns) == names


@pytest.mark.parametrize(
    "options, said",
    [
        ((["ok", ""], 1, 1), "namespaces: '': no namespace is named so"),
        (([" "], 1, 1), "namespaces: ' ': no namespace"),
        (([" b"], 1, 1), "namespaces: ' b': no namespace"),
        ((["b\n"], 1, 1), "namespaces: 'b\n': no namespace"),
        ((["a/b*"], 1, 1), "namespaces: 'a/b\\*': no namespace"),
        (([], -1, 1), "namespaces_limit: -1: give a number"),
        (([], 1, -1), "limit: -1: give a number"),
    ],
)
def test_options_that_are_refused(options: tuple[list[str], int, int], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        gather.check(*options)


def test_options_that_are_taken() -> None:
    gather.check(["*", "a", "qrouter-[0-9a-f]*", "[", "two words"], 0, 0)


@pytest.mark.parametrize(
    "error, reason, text",
    [
        (NetstateError("dump of something", 110, NO_ANSWER), "no_answer", "dump of something failed"),
        (NetstateError("dump of \udcff"), None, "dump of \\xff failed"),
        (RecursionError("too deep"), "unexpected", "RecursionError: too deep"),
        (MemoryError(), "unexpected", "MemoryError: "),
        (OSError(5, "I/O error"), "unexpected", "OSError: [Errno 5] I/O error"),
        (OptionError("netns", "x", "no"), "unexpected", "OptionError: netns"),
        (KeyError("\ud800"), "unexpected", "KeyError: "),
    ],
)
def test_a_part_that_fails_leaves_the_others(error: Exception, reason: str | None, text: str) -> None:
    def fails() -> dict[str, t.Any]:
        raise error

    problems: dict[str, dict[str, t.Any]] = {}
    assert gather._tried({"a": fails, "b": lambda: {"reason": None}}, problems) == {"b": {"reason": None}}
    assert set(problems) == {"a"}
    assert problems["a"]["reason"] == reason
    assert problems["a"]["text"].startswith(text)
    problems["a"]["text"].encode()


@pytest.mark.parametrize(
    "reason, told",
    [(None, False), ("not_built", False), ("not_loaded", False), ("not_permitted", True), ("missing_library", True), ("unreadable", True), ("hidden", True)],
)
def test_what_could_not_be_read_is_a_problem(reason: str | None, told: bool) -> None:
    problems: dict[str, dict[str, t.Any]] = {}
    part = {"reason": reason, "reason_text": "in words"}
    assert gather._tried({"a": lambda: part}, problems) == {"a": part}
    assert problems == ({"a": {"reason": reason, "text": "in words"}} if told else {})


def test_a_namespace_whose_name_is_no_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.path.join(os.fsencode(tmp_path), b"x-\xff"), "wb"):
        pass
    monkeypatch.setattr(namespace, "DIRECTORY", str(tmp_path))
    (found,) = gather.gather(["x-*"], 1, 1)["kernel_audit"]["namespaces"]
    assert found["name"] == "x-\\xff"
    assert "x-\\xff" in found["problems"]["conntrack"]["text"]
    assert "No such file" not in found["problems"]["conntrack"]["text"], "it was opened by its bytes"
    json.dumps(found, ensure_ascii=False).encode()


def test_without_pyroute2_what_proc_tells_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "IMPORT_ERROR", "Traceback: none")
    monkeypatch.setattr(kernel, "module_state", lambda _name: kernel.LOADED)
    monkeypatch.setattr(kernel, "has_modules", lambda: True)
    monkeypatch.setattr(kernel, "has_protocol", lambda _protocol: True)
    settings = {"nf_conntrack_count": 250, "nf_conntrack_max": 1000, "nf_conntrack_buckets": 500, "nf_conntrack_expect_max": 64}
    monkeypatch.setattr(kernel, "sysctls", lambda _folder, _prefix="": settings)
    monkeypatch.setattr(kernel, "sysctl", lambda name: settings.get(name.rpartition("/")[2]))
    facts = gather.gather([], 0, 1)
    assert facts["kernel_audit"]["pyroute2"] is False
    assert facts["kernel_audit"]["problems"]["conntrack"] == {"reason": "missing_library", "text": library.MISSING.text}
    assert "pyroute2" in library.MISSING.text
    conntrack = facts["conntrack"]
    assert (conntrack["available"], conntrack["reason"], conntrack["settings"]) == (False, "missing_library", settings)
    table = {"count": 250, "max": 1000, "buckets": 500, "used_percent": 25.0, "max_per_bucket": 2.0, "expectations": None, "expectations_max": 64}
    assert conntrack["table"] == table
    assert facts["netlink_sockets"]["totals"]["sockets"] > 0


def test_uptime() -> None:
    seconds = gather.uptime()
    assert seconds is not None and seconds > 0
