# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""What can be said of guests without one."""

import os
from pathlib import Path

import pytest
from kernel_lab import cli, guests, observe, process, state
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
    assert guests.last_console_lines(where, "uml-6.1").splitlines() == [f"line {number}" for number in range(100 - guests.CONSOLE_LINES, 100)]
    assert guests.last_console_lines(where, "uml-5.10") == "(its console is empty)"


@pytest.fixture
def starting(where, kernels):
    """A guest that another command started and that is booting; as its process this one."""
    kernel = kernels["uml-6.1"]
    where.guest(kernel.name).mkdir(parents=True)
    own = process.identify(os.getpid())
    state.write(where, state.Guest(kernel.name, own.pid, own.started, "198.18.1.2", 22, "/python", "6.1.176"))
    return kernel, where.guest(kernel.name) / "console"


def test_up_waits_for_a_guest_whose_start_was_cut_short(where, starting, monkeypatch, capsys):
    kernel, console = starting
    tries = []

    def console_text(places, name):
        tries.append(name)
        if len(tries) == 3:
            console.write_text(f"lab: {name} is ready after 1 s\n")
        return console.read_text() if console.exists() else ""

    monkeypatch.setattr(guests, "console_text", console_text)
    monkeypatch.setattr(guests.ssh, "answers", lambda places, guest: True)
    guests.up(where, [(kernel, None)], 1)
    assert len(tries) == 3
    assert capsys.readouterr().err == "uml-6.1: was up already (Linux 6.1.176)\n"


def test_up_ends_a_guest_that_never_answers_and_shows_its_console(where, starting, monkeypatch):
    kernel, console = starting
    console.write_text("stuck here\n")
    killed = []
    monkeypatch.setattr(guests.process, "kill", killed.append)
    with pytest.raises(LabError, match="(?s)uml-6.1 did not answer within .*stuck here"):
        guests.up(where, [(kernel, None)], 1, timeout=0.1)
    assert killed == [process.identify(os.getpid())]


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
        (["run", "uml-6.1", "--"], "there is no command"),
        (["console", "uml-6.1"], "was not started"),
        (["observe", "uml-6.1"], "is not up"),
        (["down", "uml-9"], "no kernel 'uml-9'"),
        (["--lab", "A", "list"], "name"),
        (["--cache", "/dev/null", "fetch", "uml-6.1"], "the cache /dev/null cannot be written"),
    ],
)
def test_faults_are_one_line_and_status_1(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("NETSTATE_LAB_RUN", str(tmp_path))
    assert cli.main(words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_what_the_system_refuses_is_one_line_too(monkeypatch, capsys):
    monkeypatch.setattr(cli.catalogue, "load", lambda: Path("/proc/none").read_text())
    assert cli.main(["list"]) == 1
    assert capsys.readouterr().err == "lab: [Errno 2] No such file or directory: '/proc/none'\n"


@pytest.mark.parametrize(
    "words", [["up", "uml-6.1"], ["run", "uml-6.1", "--", "true"], ["observe", "uml-6.1"], ["inventory"], ["console", "uml-6.1"], ["down"]]
)
def test_without_root_guests_are_out_of_reach_and_not_absent(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("NETSTATE_LAB_RUN", str(tmp_path))
    assert cli.main(words) == 3
    assert "need root" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, ended",
    [
        (["uml-6.1"], ["uml-6.1"]),
        (["uml"], ["uml-5.10", "uml-6.1", "uml-6.12", "uml-7.2"]),
        (["all"], []),
        ([], []),
    ],
)
def test_down_ends_what_the_names_stand_for(words, ended, where, monkeypatch):
    """Without names `guests.down` ends everything, the lab with it."""
    given = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(guests, "down", lambda places, kernels, names: given.extend([names]) or [])
    monkeypatch.setattr(cli.places, "choose", lambda **options: where)
    where.run.mkdir(parents=True)
    assert cli.main(["down", *words]) == 0
    assert given == [ended]


@pytest.mark.parametrize(
    "names, left",
    [(["uml-6.1"], ["uml-6.12"]), (["uml-6.1", "uml-6.12"], None), (["uml-6.1", "uml-5.10"], ["uml-6.12"]), ([], None)],
)
def test_the_lab_goes_with_its_last_guest(names, left, where, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cli.places, "choose", lambda **options: where)
    for name in ("uml-6.1", "uml-6.12"):
        where.guest(name).mkdir(parents=True)
    assert cli.main(["down", *names]) == 0
    assert where.run.parent.exists() is (left is not None)
    assert state.names(where) == (left or [])
    assert where.run.with_name(f"{where.lab}.lock").exists() is (left is not None)


def test_down_of_a_guest_leaves_nothing_where_there_is_no_lab(where, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cli.places, "choose", lambda **options: where)
    assert cli.main(["down", "uml-6.1"]) == 0
    assert not where.run.parent.exists()


def test_list_shows_every_kernel(kernels, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NETSTATE_LAB_RUN", str(tmp_path))
    monkeypatch.setenv("NETSTATE_LAB_CACHE", str(tmp_path))
    assert cli.main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == list(kernels)
