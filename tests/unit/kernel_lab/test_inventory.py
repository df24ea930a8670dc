# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The inventory, read back."""

import shlex

import pytest
from kernel_lab import inventory, places
from kernel_lab.state import Guest


def guest(kernel):
    return Guest(kernel.name, 1, 1, "198.18.0.2", 22, "/venv/bin/python", kernel.release)


def members(tree, group):
    return set(tree["all"]["children"]["lab"]["children"].get(group, {"hosts": {}})["hosts"])


@pytest.fixture
def tree(where, kernels):
    return inventory.tree(where, [(kernel, guest(kernel)) for kernel in kernels.values()])


@pytest.mark.parametrize(
    "group, names",
    [
        ("zone_filter_ignored", {"built-6.1", "qemu-5.10", "qemu-6.1"}),
        ("zone_filter_exact", {"built-6.12", "qemu-6.12", "qemu-7.3"}),
        ("without_zones", {"uml-5.10", "uml-6.1", "uml-6.12", "uml-7.2"}),
        ("zone_filter_zone_zero_unsafe", {"built-6.12-half"}),
        ("with_zones", {"built-6.1", "built-6.12", "built-6.12-half", "qemu-5.10", "qemu-6.1", "qemu-6.12", "qemu-7.3"}),
        ("uml_built", {"built-6.1", "built-6.12", "built-6.12-half"}),
        ("kernel_7_3", {"qemu-7.3"}),
    ],
)
def test_groups_by_what_is_true(tree, group, names):
    assert members(tree, group) == names


def test_every_guest_has_its_truth(tree, kernels):
    hosts = tree["all"]["children"]["lab"]["hosts"]
    assert set(hosts) == set(kernels) == members(tree, "ipvs")
    assert hosts["built-6.1"]["lab_truth"] == {
        "zones": True,
        "zone_filter": "ignored",
        "status_filter": True,
        "tuple_filter_ipv6": "inverted",
        "ipvs": "builtin",
    }


def test_group_names_are_ones_that_ansible_takes(tree):
    assert all(group.isidentifier() for group in tree["all"]["children"]["lab"]["children"])


def test_yaml_reads_back_as_it_was(tree):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(inventory.yaml(tree)) == tree


def test_an_inventory_of_nothing_is_valid(where):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(inventory.yaml(inventory.tree(where, []))) == {"all": {"children": {"lab": {"hosts": {}, "children": {}}}}}


def test_ssh_arguments_survive_splitting(where, kernels):
    variables = inventory.host(where, kernels["uml-6.1"], guest(kernels["uml-6.1"]))
    words = shlex.split(variables["ansible_ssh_common_args"])
    assert any(word.startswith("ProxyCommand=") and word.endswith("%h %p") for word in words)


def test_two_labs_share_no_connection(kernels):
    one, two = (inventory.host(places.choose({}, lab=name), kernels["uml-6.1"], guest(kernels["uml-6.1"])) for name in ("one", "two"))
    assert one["ansible_host"] == two["ansible_host"]
    for variable in ("ansible_control_path_dir", "ansible_ssh_common_args", "ansible_ssh_private_key_file"):
        assert one[variable] != two[variable]


def test_two_guests_share_no_connection(where, kernels):
    """The end of one guest must not cut off what runs in another."""
    folders = {inventory.host(where, kernel, guest(kernel))["ansible_control_path_dir"] for kernel in kernels.values()}
    assert len(folders) == len(kernels)
