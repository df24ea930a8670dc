# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Reading what apt shows of a package."""

from kernel_lab.mirror import Mirror
from kernel_lab.suite import Package, Suite, exact_dependencies, parse_show

SHOWN = """Package: linux-image-amd64
Source: linux-signed-amd64 (6.1.192+3)
Version: 6.1.192-3
Depends: kmod, linux-image-6.1.0-57-amd64 (= 6.1.192-3), linux-base (>= 4.3~), tool (= 2)
Description: Linux
 Depends: nothing

Package: linux-image-amd64
Version: 6.1.176-1
"""


def test_the_first_stanza_counts():
    package = parse_show(SHOWN)
    assert (package.name, package.version) == ("linux-image-amd64", "6.1.192-3")


def test_parts_are_pinned_to_the_packages_own_version():
    assert exact_dependencies(parse_show(SHOWN)) == ("linux-image-6.1.0-57-amd64",)
    assert exact_dependencies(Package("p", "1")) == ()


def test_a_package_in_the_cache_is_not_fetched(tmp_path, monkeypatch):
    suite = Suite("trixie", tmp_path, Mirror("http://m.example/d"))
    monkeypatch.setattr("kernel_lab.command.run", lambda *args, **options: pytest_fail(args))
    suite.debs.mkdir(parents=True)
    there = suite.debs / "p_1%3a2-3_amd64.deb"
    there.touch()
    assert suite.download(Package("p", "1:2-3")) == there


def pytest_fail(args):
    raise AssertionError(f"ran {args}")


def test_apts_own_folders_are_not_used(tmp_path):
    options = Suite("trixie", tmp_path, Mirror("http://m.example/d"))._options()
    values = dict(option.split("=", 1) for option in options[1::2])
    for key in ("Dir::State", "Dir::State::status", "Dir::Cache", "Dir::Etc::SourceList"):
        assert values[key].startswith(str(tmp_path))
    assert values["Dir::Etc::SourceParts"] == "/dev/null"
