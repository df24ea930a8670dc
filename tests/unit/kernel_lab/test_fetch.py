# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The pure parts of fetching: build keys, configurations, files in unpacked packages, what is in the cache."""

import pytest
from kernel_lab import artifact, fetch, fetch_built, fetch_distribution, unpack
from kernel_lab.artifact import Artifact
from kernel_lab.failure import LabError
from kernel_lab.suite import Package


def test_a_build_is_named_by_source_and_configuration():
    keys = {fetch_built.key(version, text) for version in ("6.1.1-1", "6.1.2-1") for text in (b"CONFIG_A=y\n", b"# CONFIG_A is not set\n")}
    assert len(keys) == 4
    assert fetch_built.key("6.1.1-1", b"# A remark\n\nCONFIG_A=y\n") in keys
    assert fetch_built.key("6.1.1-1", b"CONFIG_A=y\n", b"a patch") not in keys


def test_a_configuration_that_lost_zones_is_seen():
    config = "\n".join(f"CONFIG_{option}=y" for option in fetch_built.MUST_BE_ON)
    assert fetch_built.switched_off(config) == ()
    without = config.replace("CONFIG_NF_CONNTRACK_ZONES=y", "# CONFIG_NF_CONNTRACK_ZONES is not set")
    assert fetch_built.switched_off(without) == ("NF_CONNTRACK_ZONES",)


def test_the_configuration_asks_for_all_that_must_be_on(kernels):
    text = (fetch_built.CONFIGURATIONS / kernels["built-6.1"].config).read_text()
    assert fetch_built.switched_off(text) == ()


@pytest.mark.parametrize("path", ["boot/vmlinuz-6.1.0-57-amd64", "usr/lib/modules/7.3.4/vmlinuz"])
def test_the_image_is_found_in_both_layouts(tmp_path, path):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).touch()
    assert fetch_distribution.image_in(tmp_path) == tmp_path / path


def test_a_package_without_an_image_is_named(tmp_path):
    with pytest.raises(LabError, match="no vmlinuz"):
        fetch_distribution.image_in(tmp_path)


@pytest.mark.parametrize("suite, base", [("trixie-backports", "trixie"), ("bookworm", "bookworm")])
def test_support_suite(suite, base):
    assert fetch_distribution.support_suite(suite) == base


@pytest.mark.parametrize("release, fits", [("6.12.118", True), ("6.12.118+deb13-amd64", True), ("6.1.0-57-amd64", False), ("6.13.1", False)])
def test_a_suite_that_moved_on_is_noticed(kernels, release, fits):
    if fits:
        fetch._check_series(kernels["qemu-6.12"], release)
    else:
        with pytest.raises(LabError, match="another suite"):
            fetch._check_series(kernels["qemu-6.12"], release)


def test_the_cache_answers_for_the_same_recipe_only(where, kernels, tmp_path):
    kernel, image = kernels["uml-6.1"], tmp_path / "linux.uml"
    image.touch()
    made = Artifact(str(image), "6.1.176", str(tmp_path), {"p": "1"}, kernel.recipe())
    assert artifact.read(where.cache, kernel) is None
    artifact.write(where.cache, kernel, made)
    assert artifact.read(where.cache, kernel) == made
    artifact.write(where.cache, kernel, Artifact(**{**made.__dict__, "recipe": {**kernel.recipe(), "suite": "other"}}))
    assert artifact.read(where.cache, kernel) is None
    artifact.write(where.cache, kernel, made)
    image.unlink()
    assert artifact.read(where.cache, kernel) is None


@pytest.fixture
def archive(monkeypatch, tmp_path):
    """An archive whose newest versions are set by the test; what is fetched from it, in order."""

    class Archive:
        def __init__(self):
            self.versions = {"user-mode-linux": "1", "libc6": "1"}
            self.fetched = []

        def newest(self, name):
            return (Package(name, self.versions[name]),)

        def method(self, kernel, cache, suite_of):
            self.fetched.append(kernel.name)
            image = tmp_path / "image"
            image.touch()
            return Artifact(str(image), kernel.release, "", dict(self.versions), kernel.recipe())

    archive = Archive()
    monkeypatch.setattr(fetch, "_suites", lambda places: lambda name: archive)
    monkeypatch.setattr(fetch.tools, "ensure", lambda *needs: None)
    monkeypatch.setitem(fetch.METHODS, "uml", archive.method)
    return archive


@pytest.mark.parametrize(
    "versions, times",
    [({}, 1), ({"user-mode-linux": "2"}, 2), ({"libc6": "2"}, 2)],
)
def test_refresh_fetches_what_is_newer_and_nothing_twice(where, kernels, archive, versions, times):
    kernel = kernels["uml-6.12"]
    fetch.fetch(where, kernel)
    archive.versions = {**archive.versions, **versions}
    fetch.fetch(where, kernel)
    assert archive.fetched == [kernel.name]
    made = fetch.fetch(where, kernel, refresh=True)
    assert archive.fetched == [kernel.name] * times
    assert made.packages == archive.versions


def test_a_cache_that_cannot_be_is_named(where, kernels):
    where.cache.write_text("a file")
    with pytest.raises(LabError, match=rf"{where.cache} cannot be written: .*--cache"):
        fetch.fetch(where, kernels["uml-6.1"])


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    with pytest.raises(RuntimeError), unpack.appearing(tmp_path / "k") as scratch:
        (scratch / "half").touch()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".k-left").mkdir()
    with unpack.appearing(tmp_path / "k") as scratch:
        (scratch / "whole").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["k"]
    assert (tmp_path / "k" / "whole").exists()
