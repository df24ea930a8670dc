# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""What can be said of guests without one."""

import os

import pytest
from kernel_lab import cli, command, guests, observe
from kernel_lab.catalogue import Truth
from kernel_lab.failure import LabError

TRUTH = Truth(zones=True, zone_filter="ignored", status_filter=True, tuple_filter_ipv6="inverted", ipvs="builtin")


@pytest.mark.parametrize(
    "console, ready",
    [
        ("", False),
        ("Kernel panic\n", False),
        ("lab: uml-6.12 is ready after 1.2 s\n", False),
        ("noise\nlab: uml-6.1 is ready after 1.2 s\n", True),
    ],
)
def test_is_ready(console, ready):
    assert guests.is_ready(console, "uml-6.1") is ready


def test_a_failed_guest_shows_its_last_lines(where):
    where.guest("uml-6.1").mkdir(parents=True)
    (where.guest("uml-6.1") / "console").write_text("".join(f"line {number}\r\n" for number in range(100)))
    assert guests.last_console_lines(where, "uml-6.1").splitlines() == [f"line {number}" for number in range(100 - command.LAST_LINES, 100)]
    assert guests.last_console_lines(where, "uml-5.10") == "(its console is empty)"


def test_guests_need_a_python(where, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    there = where.__class__(where.lab, where.cache, where.run, where.run / "nowhere")
    with pytest.raises(LabError, match="make env"):
        guests.check(there)


def test_guests_need_root(where, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="root"):
        guests.check(where)


def test_a_blank_in_a_path_is_refused(where, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(LabError, match="blank"):
        guests.check(where.__class__(where.lab, where.cache, where.run / "a b", where.python))


@pytest.mark.parametrize(
    "seen, lines",
    [
        ({"zones": True, "zone_filter": "ignored", "status_filter": True, "tuple_filter_ipv6": "inverted", "ipvs": "builtin"}, []),
        (
            {"zones": True, "zone_filter": "exact", "status_filter": True, "tuple_filter_ipv6": "inverted", "ipvs": "builtin"},
            ["zone_filter: the catalogue says 'ignored', the kernel does 'exact'"],
        ),
        (
            {"zones": True, "zone_filter": "ignored", "status_filter": True, "tuple_filter_ipv6": "inverted"},
            ["ipvs: the catalogue says 'builtin', the kernel does None"],
        ),
    ],
)
def test_differences_between_catalogue_and_kernel(seen, lines):
    assert observe.differences(TRUTH, seen) == lines


@pytest.mark.parametrize(
    "words, said",
    [
        (["up", "uml-9"], "no kernel 'uml-9'"),
        (["run", "uml-6.1", "--", "true"], "is not up"),
        (["console", "uml-6.1"], "was not started"),
        (["--lab", "A", "list"], "name"),
    ],
)
def test_faults_are_one_line_and_status_1(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NETSTATE_LAB_RUN", str(tmp_path))
    assert cli.main(words) == 1
    assert said in capsys.readouterr().err


def test_list_shows_every_kernel(kernels, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NETSTATE_LAB_RUN", str(tmp_path))
    monkeypatch.setenv("NETSTATE_LAB_CACHE", str(tmp_path))
    assert cli.main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == list(kernels)
