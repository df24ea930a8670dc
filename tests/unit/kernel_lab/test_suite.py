# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Reading what apt shows of a package."""

import hashlib

import pytest
from kernel_lab.mirror import Mirror
from kernel_lab.suite import Package, Suite, exact_dependencies, parse_show

SHOWN = """Package: linux-image-amd64
Source: linux-signed-amd64 (6.1.192+3)
Version: 6.1.192-3
SHA256: 0a1b
Depends: kmod, linux-image-6.1.0-57-amd64 (= 6.1.192-3), linux-base (>= 4.3~), tool (= 2)
Description: Linux
 Depends: nothing

Package: linux-image-amd64
Version: 6.1.176-1
"""


def test_the_first_stanza_counts():
    package = parse_show(SHOWN)
    assert (package.name, package.version, package.sha256) == ("linux-image-amd64", "6.1.192-3", "0a1b")


def test_parts_are_pinned_to_the_packages_own_version():
    assert exact_dependencies(parse_show(SHOWN)) == ("linux-image-6.1.0-57-amd64",)
    assert exact_dependencies(Package("p", "1")) == ()


def fetcher(content, fetched):
    """command.run as far as `apt-get download` needs it: notes what was asked for and leaves the file."""

    def run(words, cwd, **_options):
        fetched.append(words[-1])
        (cwd / "p_1%3a2-3_amd64.deb").write_bytes(content)

    return run


@pytest.mark.parametrize(
    "cached, asked",
    [(b"whole", []), (b"who", ["p=1:2-3"]), (None, ["p=1:2-3"])],
    ids=["whole", "cut off", "absent"],
)
def test_a_package_is_fetched_unless_it_lies_whole_in_the_cache(tmp_path, monkeypatch, cached, asked):
    suite, fetched = Suite("trixie", tmp_path, Mirror("http://m.example/d")), []
    monkeypatch.setattr("kernel_lab.command.run", fetcher(b"whole", fetched))
    suite.debs.mkdir(parents=True)
    there = suite.debs / "p_1%3a2-3_amd64.deb"
    if cached is not None:
        there.write_bytes(cached)
    assert suite.download(Package("p", "1:2-3", sha256=hashlib.sha256(b"whole").hexdigest())) == there
    assert fetched == asked
    assert there.read_bytes() == b"whole"
    assert list(suite.debs.iterdir()) == [there]


def test_what_another_suite_is_fetching_is_not_swept_away(tmp_path, monkeypatch):
    suites = {name: Suite(name, tmp_path, Mirror("http://m.example/d")) for name in ("trixie", "trixie-backports")}

    def run(words, cwd, **_options):
        suites["trixie"]._sweep()
        (cwd / "p_1_all.deb").touch()

    monkeypatch.setattr("kernel_lab.command.run", run)
    assert suites["trixie-backports"].download(Package("p", "1")).exists()


def test_what_a_killed_process_left_is_swept_away(tmp_path, monkeypatch):
    suite = Suite("trixie", tmp_path, Mirror("http://m.example/d"))
    monkeypatch.setattr("shutil.rmtree", lambda *args, **options: None)  # as if killed
    monkeypatch.setattr("kernel_lab.command.run", fetcher(b"", []))
    suite.download(Package("p", "1:2-3"))
    monkeypatch.undo()
    assert len(list(suite.debs.glob(".fetch-*"))) == 1
    suite._sweep()
    assert not list(suite.debs.glob(".fetch-*"))


def test_apts_own_folders_are_not_used(tmp_path):
    options = Suite("trixie", tmp_path, Mirror("http://m.example/d"))._options()
    values = dict(option.split("=", 1) for option in options[1::2])
    for key in ("Dir::State", "Dir::State::status", "Dir::Cache", "Dir::Etc::SourceList"):
        assert values[key].startswith(str(tmp_path))
    assert values["Dir::Etc::SourceParts"] == "/dev/null"
