# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Options before environment before defaults, and names that fit a namespace."""

import pytest
from kernel_lab import places
from kernel_lab.failure import LabError


def test_defaults():
    chosen = places.choose({"HOME": "/home/someone"})
    assert chosen.lab == "lab"
    assert str(chosen.cache) == "/home/someone/.cache/netstate-kernel-lab"
    assert chosen.python == places.REPOSITORY / ".venv" / "bin" / "python"
    assert chosen.run.name == "lab"


def test_environment_then_options():
    environment = {"NETSTATE_LAB": "one", "NETSTATE_LAB_CACHE": "/c", "NETSTATE_LAB_PYTHON": "/p", "NETSTATE_LAB_RUN": "/r"}
    chosen = places.choose(environment)
    assert (chosen.lab, str(chosen.cache), str(chosen.python), str(chosen.run)) == ("one", "/c", "/p", "/r/one")
    chosen = places.choose(environment, lab="two", cache="/c2", python="/p2")
    assert (chosen.lab, str(chosen.cache), str(chosen.python), str(chosen.run)) == ("two", "/c2", "/p2", "/r/two")


def test_relative_folders_are_made_absolute(tmp_path, monkeypatch):
    """A guest sees these paths from another folder."""
    monkeypatch.chdir(tmp_path)
    chosen = places.choose({"NETSTATE_LAB_RUN": "r", "NETSTATE_LAB_CACHE": "c", "NETSTATE_LAB_PYTHON": "p"})
    assert (chosen.run, chosen.cache, chosen.python) == (tmp_path / "r" / "lab", tmp_path / "c", tmp_path / "p")


def test_labs_share_the_cache_and_nothing_else():
    one, two = places.choose({}, lab="one"), places.choose({}, lab="two")
    assert one.cache == two.cache
    assert one.namespace != two.namespace
    for name in ("run", "guests", "key", "host_key", "known_hosts", "control_sockets"):
        assert getattr(one, name) != getattr(two, name)


def test_control_sockets_fit_a_unix_address(kernels):
    # ssh binds NAME.RANDOM beside it first; an address holds 108 bytes with its end.
    longest = places.choose({}, lab="x" * 24).control_sockets_of(max(kernels, key=len)) / ("f" * 10 + "." + "r" * 16)
    assert len(str(longest)) < 108


@pytest.mark.parametrize("name", ["-x", "a/b", "A", "a b", "x" * 25, "..", "a_b"])
def test_a_name_that_does_not_fit_is_refused(name):
    with pytest.raises(LabError, match="name"):
        places.choose({}, lab=name)
