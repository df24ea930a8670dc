# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The catalogue that is there, and the faults that one may have."""

import json

import pytest
from kernel_lab import catalogue
from kernel_lab.failure import LabError
from kernel_lab.places import CONFIGURATIONS

NAMES = (
    *("uml-5.10", "uml-6.1", "uml-6.12", "uml-7.2"),
    *("built-6.1", "built-6.12", "built-6.12-half"),
    *("qemu-5.10", "qemu-6.1", "qemu-6.12", "qemu-7.3"),
)


def row(**changes):
    truth = {"zones": True, "zone_filter": "exact", "status_filter": True, "tuple_filter_ipv6": "right", "ipvs": "module"}
    fields = {
        "name": "k",
        "series": "6.1",
        "release": "6.1.9",
        "runs": "uml",
        "suite": "s",
        "package": "p",
        "memory_mib": 256,
        "boot_seconds": 1,
        "truth": dict(truth, **changes.pop("truth", {})),
    }
    fields.update(changes)
    return fields


def parse(*rows):
    return catalogue.parse(json.dumps({"kernels": rows}))


def test_the_kernels_are_there(kernels):
    assert tuple(kernels) == NAMES


def test_places_in_the_catalogue_are_unique(kernels):
    assert sorted(kernel.index for kernel in kernels.values()) == list(range(len(kernels)))


def test_configurations_named_by_the_catalogue_exist(kernels):
    named = [name for kernel in kernels.values() for name in (kernel.config, kernel.patch) if name]
    assert named and all((CONFIGURATIONS / name).is_file() for name in named)


def test_every_kind_of_zone_filter_runs_without_emulation(kernels):
    quick = {kernel.truth.zone_filter for kernel in kernels.values() if kernel.is_uml}
    assert quick == {"exact", "ignored", "zone_zero_unsafe", "unsupported"}


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"runs": "docker"}, "runs is 'docker'"),
        ({"truth": {"zone_filter": "maybe"}}, "zone_filter is 'maybe'"),
        ({"truth": {"ipvs": "yes"}}, "ipvs is 'yes'"),
        ({"truth": {"tuple_filter_ipv6": "odd"}}, "tuple_filter_ipv6 is 'odd'"),
        ({"truth": {"zones": False}}, "exactly when it has zones"),
        ({"truth": {"zone_filter": "unsupported"}}, "exactly when it has zones"),
        ({"truth": {"colour": "red"}}, "colour"),
        ({"config": "x.config"}, "names its configuration"),
        ({"runs": "uml-built"}, "names its configuration"),
        ({"patch": "x.patch"}, "can have a patch"),
        ({"release": "6.12.1"}, "not of the series"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_row_is_named(changes, said):
    with pytest.raises(LabError, match=said) as caught:
        parse(row(**changes))
    assert "k" in str(caught.value)


def test_a_missing_field_is_named():
    fields = row()
    del fields["suite"]
    with pytest.raises(LabError, match="suite"):
        parse(fields)


def test_a_name_stands_once():
    with pytest.raises(LabError, match="twice"):
        parse(row(), row())


@pytest.mark.parametrize(
    "names, chosen",
    [
        (["all"], NAMES),
        (["uml"], NAMES[:4]),
        (["uml-built"], NAMES[4:7]),
        (["qemu"], NAMES[7:]),
        (["qemu-5.10", "uml-6.1", "qemu-5.10"], ("qemu-5.10", "uml-6.1")),
        ([], ()),
    ],
)
def test_choose(kernels, names, chosen):
    assert tuple(kernel.name for kernel in catalogue.choose(tuple(kernels.values()), names)) == chosen


def test_choose_names_what_there_is(kernels):
    with pytest.raises(LabError, match=r"no kernel 'uml-9'.*qemu-7\.3"):
        catalogue.choose(tuple(kernels.values()), ["uml-9"])


@pytest.mark.parametrize(
    "field, fetched_anew", [("suite", True), ("package", True), ("config", True), ("memory_mib", False), ("boot_seconds", False), ("release", False)]
)
def test_recipe_changes_with_what_is_fetched(field, fetched_anew):
    one, other = row(runs="uml-built", config="a"), row(runs="uml-built", config="a")
    other[field] = {"memory_mib": 1, "boot_seconds": 9, "release": "6.1.10"}.get(field, "other")
    assert (parse(one)[0].recipe() != parse(other)[0].recipe()) is fetched_anew
