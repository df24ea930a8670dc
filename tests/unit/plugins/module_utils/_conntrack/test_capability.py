# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import capability, table
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.sieve import Kind
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import channel, namespace
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError
from netlink_bytes import entry
from scripted_kernel import EXACT, HALF_FIXED, IGNORING, ZONELESS, ScriptedKernel


def kind(zone: int, filtered: bool = True, carrier: str = "both") -> Kind:
    return Kind(filtered, 2, zone, carrier, 6, 0xE, 3, None, None)


@pytest.mark.parametrize(
    "zone, counts, others_stayed, verdict, text",
    [
        (5, {}, False, "unknown", "a dump by zone 5 alone returned nothing, which any kernel may do"),
        (0, {}, False, "unknown", "returned nothing, which any kernel may do"),
        (0, {}, True, "exact", "while entries of other zones were there before and after"),
        (5, {kind(5): 3}, False, "exact", "returned 3 entries, all flagged NLM_F_DUMP_FILTERED and of that zone"),
        (5, {kind(5): 1, kind(5, carrier="original"): 2, kind(5, carrier="reply"): 4}, False, "exact", "returned 7 entries"),
        (5, {kind(5, filtered=False): 3}, False, "ignored", "returned 3 entries without NLM_F_DUMP_FILTERED"),
        (5, {kind(5): 3, kind(5, filtered=False, carrier="reply"): 1}, False, "ignored", "returned 1 entries without"),
        (5, {kind(5, filtered=False): 3, kind(0, filtered=False): 6}, False, "ignored", "returned 9 entries without"),
        (5, {kind(5): 3, kind(7): 2}, False, "unknown", "returned 2 entries of other zones"),
        (0, {kind(0): 3}, False, "unknown", "whether zone 0 means every zone"),
        (0, {kind(0): 3}, True, "exact", "of that zone, while entries of other zones were there before and after"),
        (0, {kind(0): 3, kind(5): 1}, True, "zone_zero_unsafe", "returned 1 entries of other zones"),
        (0, {kind(5): 1}, False, "zone_zero_unsafe", "returned 1 entries of other zones"),
        (0, {kind(0, filtered=False): 3}, True, "ignored", "without NLM_F_DUMP_FILTERED"),
        (0, {kind(0, filtered=False): 3, kind(5, filtered=False): 3}, False, "ignored", "returned 6 entries"),
    ],
)
def test_judge_dump(zone: int, counts: dict[Kind, int], others_stayed: bool, verdict: str, text: str) -> None:
    found, evidence = capability.judge_dump(zone, counts, others_stayed)
    assert found == verdict
    assert text in evidence


@pytest.mark.parametrize(
    "after_one, after_zero, verdict, text",
    [
        ({0, 2}, {2}, "exact", "left 0, 2; flushing zone 0 then left 2"),
        ({0, 2}, set(), "zone_zero_unsafe", "flushing zone 0 then left nothing"),
        (set(), set(), "ignored", "flushing zone 1 of zones 0, 1, 2 left nothing"),
        # What no kernel known does is no proof.
        ({0, 1, 2}, {1, 2}, "unknown", "left 0, 1, 2;"),
        ({0, 2}, {0, 2}, "unknown", "then left 0, 2"),
        ({0, 2}, {0}, "unknown", "then left 0"),
        ({2}, {2}, "unknown", "left 2;"),
        ({0}, set(), "unknown", "left 0;"),
        ({0, 1}, {1}, "unknown", "left 0, 1;"),
    ],
)
def test_judge_flush(after_one: set[int], after_zero: set[int], verdict: str, text: str) -> None:
    found, evidence = capability.judge_flush(frozenset(after_one), frozenset(after_zero))
    assert found == verdict
    assert text in evidence


ZONE_0, ZONE_5 = entry(number=1), entry(zone=5, number=2)


def scripted(monkeypatch: pytest.MonkeyPatch, behaviour: str, entries: list[bytes], namespaces: bool) -> ScriptedKernel:
    kernel = ScriptedKernel(behaviour, entries)
    kernel.permits_namespaces = namespaces
    refused = NetstateError("making a throw-away network namespace", errno.EPERM)
    monkeypatch.setattr(channel, "socket", kernel.socket_module())
    monkeypatch.setattr(namespace, "run_in_new", lambda job: kernel.run_in_new(job, lambda: refused))
    monkeypatch.setattr(table, "buckets", lambda: 16)
    return kernel


@pytest.mark.parametrize(
    "behaviour, entries, zones, zone_filter",
    [
        (EXACT, [], True, "unknown"),
        (EXACT, [ZONE_0], True, "unknown"),
        (EXACT, [ZONE_0, ZONE_5], True, "exact"),
        (EXACT, [ZONE_5], True, "exact"),
        (HALF_FIXED, [ZONE_0], True, "unknown"),
        (HALF_FIXED, [ZONE_0, ZONE_5], True, "zone_zero_unsafe"),
        (HALF_FIXED, [ZONE_5], True, "zone_zero_unsafe"),
        (IGNORING, [ZONE_0], True, "ignored"),
        (IGNORING, [ZONE_5], True, "ignored"),
        (IGNORING, [], True, "unknown"),
        (ZONELESS, [ZONE_0], False, "unsupported"),
        (ZONELESS, [], False, "unsupported"),
    ],
)
def test_observing_the_live_table_where_no_namespace_can_be_made(
    monkeypatch: pytest.MonkeyPatch, behaviour: str, entries: list[bytes], zones: bool, zone_filter: str
) -> None:
    kernel = scripted(monkeypatch, behaviour, entries, namespaces=False)
    observed = capability.observe()
    assert (observed.source, observed.zones, observed.zone_filter) == ("live_table", zones, zone_filter)
    assert (observed.status_filter, observed.tuple_filter_ipv6, observed.labels) == (None, None, None)
    assert observed.evidence["zone_filter"]
    assert not [request for request in kernel.host.requests if request.changes()]
    assert kernel.open_now == 0


def test_observing_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, EXACT, [], namespaces=False).refusal = errno.EPERM
    observed = capability.observe()
    assert (observed.source, observed.zones, observed.zone_filter) == ("none", None, "unknown")
    assert "EPERM" in observed.evidence["zone_filter"]


@pytest.mark.parametrize(
    "behaviour, verdict",
    [(EXACT, "exact"), (HALF_FIXED, "zone_zero_unsafe"), (IGNORING, "ignored")],
)
def test_trial_of_the_zone_filter(monkeypatch: pytest.MonkeyPatch, behaviour: str, verdict: str) -> None:
    kernel = scripted(monkeypatch, behaviour, [ZONE_0, ZONE_5], namespaces=True)
    assert capability.zone_filter_in_throwaway()[0] == verdict
    assert kernel.host.requests == []
    assert kernel.host.numbers() == [1, 2]
    assert kernel.open_now == 0


def test_trial_of_the_zone_filter_without_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, ZONELESS, [], namespaces=True)
    with pytest.raises(NetstateError) as caught:
        capability.zone_filter_in_throwaway()
    assert caught.value.reason is not None
    assert caught.value.reason.slug == "no_zones"


@pytest.mark.parametrize(
    "behaviour, refusal, has",
    [(EXACT, 0, True), (IGNORING, 0, True), (ZONELESS, 0, False), (EXACT, errno.EPERM, None), (EXACT, errno.ENOMEM, None)],
)
def test_has_zones(monkeypatch: pytest.MonkeyPatch, behaviour: str, refusal: int, has: bool | None) -> None:
    scripted(monkeypatch, behaviour, [], namespaces=False).refusal = refusal
    with channel.Channel.open() as open_channel:
        assert capability.has_zones(open_channel) is has
