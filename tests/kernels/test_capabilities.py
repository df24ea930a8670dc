# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""conntrack_facts observes of each kernel what is true of it."""

import pytest


@pytest.mark.parametrize("capability", ["zones", "zone_filter", "status_filter", "tuple_filter_ipv6"])
def test_capability(kernel, results, capability):
    found = results["facts"]["ansible_facts"]["conntrack"]["capabilities"]
    assert found[capability] == getattr(kernel.truth, capability), found["evidence"][capability]


def test_source_is_a_namespace_of_its_own(kernel, results):
    assert results["facts"]["ansible_facts"]["conntrack"]["capabilities"]["source"] == "throwaway_namespace"


def test_it_is_that_kernel(run):
    assert run.release == run.results["facts"]["ansible_facts"]["conntrack"]["kernel"]
    assert run.release.startswith(run.kernel.series + ".")


def test_the_catalogue_is_true(run):
    assert run.observed == f"{run.kernel.name}: as the catalogue says"
