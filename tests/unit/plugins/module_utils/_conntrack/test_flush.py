# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flushing, end to end down to the bytes, on kernels that are not at hand (``tests/support/scripted_kernel.py``)."""

from __future__ import annotations

import errno
import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import flush, presence, table
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.flush import Order
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.presence import Presence
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_selection
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import channel, kernel, namespace
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError, OptionError, Reason
from netlink_bytes import entry
from scripted_kernel import EXACT, HALF_FIXED, IGNORING, ZONELESS, ScriptedKernel

FREE = 0  # buckets of a table whose walk costs nothing, so that a flush by the kernel is the cheaper for any zone
LARGE = 262144  # and of one where deleting entry by entry is

ASSURED = 0xE


def v4(last: int) -> bytes:
    return bytes([10, 0, 0, last])


def v6(last: int) -> bytes:
    return bytes.fromhex("20010db8") + bytes(11) + bytes([last])


# CTA_ID to entry. The tens are the zone's place in the list: 0, 5, 7, 65535.
ENTRIES = {
    1: entry(v4(1), status=ASSURED, tcp_state=3, number=1),
    2: entry(v4(2), protocol=17, ports=(5353, 53), number=2),
    3: entry(v6(1), v6(2), number=3, tcp_state=1),
    11: entry(v4(1), zone=5, status=ASSURED, tcp_state=3, number=11),  # the tuple of 1
    12: entry(v4(2), zone=5, carrier="original", number=12),
    13: entry(v4(3), zone=5, carrier="reply", protocol=17, number=13),
    21: entry(v6(1), v6(2), zone=7, number=21, mark=9),
    22: entry(v4(2), zone=7, protocol=50, ports=None, number=22),
    31: entry(v4(1), zone=65535, status=0x400E, timeout=None, number=31),
}
ZONE_OF = {1: 0, 2: 0, 3: 0, 11: 5, 12: 5, 13: 5, 21: 7, 22: 7, 31: 65535}
EVERY = sorted(ENTRIES)

Make = t.Callable[..., ScriptedKernel]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Make]:
    """Puts a scripted kernel below the code; all its sockets must be closed in the end."""
    made: list[ScriptedKernel] = []

    def build(behaviour: str, numbers: t.Iterable[int] = EVERY, buckets: int = FREE, receive_buffer: int = 4 << 20) -> ScriptedKernel:
        scripted = ScriptedKernel(behaviour, [ENTRIES[number] for number in numbers], receive_buffer)
        refused = NetstateError("making a throw-away network namespace", errno.EPERM)
        monkeypatch.setattr(channel, "socket", scripted.socket_module())
        monkeypatch.setattr(namespace, "run_in_new", lambda job: scripted.run_in_new(job, lambda: refused))
        monkeypatch.setattr(presence, "look", lambda: Presence(kernel.BUILTIN, kernel.BUILTIN))
        monkeypatch.setattr(table, "buckets", lambda: buckets)
        made.append(scripted)
        return scripted

    yield build
    assert [scripted.open_now for scripted in made] == [0] * len(made)


def run(options: dict, **order: t.Any) -> dict:
    return flush.flush(Order(parse_selection(options), diff=True, **order))


def flushed(scripted: ScriptedKernel) -> list[int | None]:
    """The zones of the flush messages that the host's table got; None is one without a zone."""
    return [request.zone for request in scripted.host.requests if request.flushes()]


def changes(scripted: ScriptedKernel) -> list:
    return [request for request in scripted.host.requests if request.changes()]


# What goes is what was asked for, on every kernel and by every method


@pytest.mark.parametrize("behaviour", [EXACT, HALF_FIXED, IGNORING])
@pytest.mark.parametrize("method", ["auto", "entries"])
@pytest.mark.parametrize("buckets", [FREE, LARGE])
@pytest.mark.parametrize("receive_buffer", [4 << 20, 4096])
@pytest.mark.parametrize(
    "options, gone",
    [
        ({"zones": ["5"]}, {11, 12, 13}),
        ({"zones": ["0"]}, {1, 2, 3}),
        ({"zones": ["7"]}, {21, 22}),
        ({"zones": ["65535"]}, {31}),
        ({"zones": ["9"]}, set()),
        ({"zones": ["0", "5"]}, {1, 2, 3, 11, 12, 13}),
        ({"zones": ["5", "7", "9"]}, {11, 12, 13, 21, 22}),
        ({"zones": ["5-9"]}, {11, 12, 13, 21, 22}),
        ({"zones": ["0-65534"]}, {1, 2, 3, 11, 12, 13, 21, 22}),
        ({"zones": ["1-65535"]}, {11, 12, 13, 21, 22, 31}),
        ({"all": True}, set(EVERY)),
        ({"all": True, "exclude": {"zones": ["5"]}}, {1, 2, 3, 21, 22, 31}),
        ({"zones": ["5"], "exclude": {"protocols": ["udp"]}}, {11, 12}),
        ({"zones": ["0"], "family": "ipv4"}, {1, 2}),
        ({"zones": ["0"], "family": "ipv6"}, {3}),
        ({"zones": ["5"], "protocols": ["tcp"]}, {11, 12}),
        ({"family": "ipv6"}, {3, 21}),
        ({"protocols": ["udp"]}, {2, 13}),
        ({"protocols": ["esp"]}, {22}),
        ({"source": ["10.0.0.1"]}, {1, 11, 31}),
        ({"source": ["10.0.0.1"], "zones": ["5"]}, {11}),
        ({"source": ["10.0.0.1"], "zones": ["0"]}, {1}),
        ({"mark": "9"}, {21}),
        ({"status": ["ASSURED"]}, {1, 11, 31}),
        ({"status": ["ASSURED", "!OFFLOAD"]}, {1, 11}),
        ({"tcp_states": ["SYN_SENT"]}, {3}),
        ({"protocols": ["udp"], "destination_ports": ["53"]}, {2}),
        ({"source": ["10.9.9.9"]}, set()),
    ],
)
def test_exactly_what_was_asked_for_goes(
    make: Make, behaviour: str, method: str, buckets: int, receive_buffer: int, options: dict, gone: set[int]
) -> None:
    scripted = make(behaviour, buckets=buckets, receive_buffer=receive_buffer)
    result = run(options, method=method)
    assert scripted.host.numbers() == [number for number in EVERY if number not in gone]
    assert (result["matched"], result["deleted"], result["already_gone"]) == (len(gone), len(gone), 0)
    assert result["changed"] is bool(gone)
    assert {row["zone"]: row["deleted"] for row in result["zones"] if row["matched"]} == {
        zone: sum(ZONE_OF[number] == zone for number in gone) for zone in {ZONE_OF[number] for number in gone}
    }
    if not gone:
        assert changes(scripted) == []
        assert result["method"] == "none"
    if method == "entries":
        assert flushed(scripted) == []
    again = run(options, method=method)
    assert (again["changed"], again["matched"], again["deleted"], again["method"]) == (False, 0, 0, "none")


@pytest.mark.parametrize(
    "behaviour, options, method, buckets, zones, told",
    [
        # Cheaper and proven: by the kernel.
        (EXACT, {"zones": ["5"]}, "auto", FREE, [5], "exact"),
        (EXACT, {"zones": ["0"]}, "auto", FREE, [0], "exact"),
        (EXACT, {"zones": ["0", "5", "65535"]}, "auto", FREE, [0, 5, 65535], "exact"),
        (EXACT, {"zones": ["5"]}, "kernel", LARGE, [5], "exact"),
        (EXACT, {"zones": ["0"]}, "kernel", LARGE, [0], "exact"),
        (EXACT, {"zones": ["1-65535"]}, "kernel", LARGE, [5, 7, 65535], "exact"),
        (EXACT, {"zones": ["0-65534"]}, "kernel", LARGE, [0, 5, 7], "exact"),
        (HALF_FIXED, {"zones": ["5"]}, "auto", FREE, [5], "exact"),
        (HALF_FIXED, {"zones": ["1-65535"]}, "kernel", FREE, [5, 7, 65535], "exact"),
        # Not cheaper.
        (EXACT, {"zones": ["5"]}, "auto", LARGE, [], "exact"),
        # Read with all others in one walk, which proves nothing.
        (EXACT, {"zones": ["1-65535"]}, "auto", FREE, [], "unknown"),
        # Zone 0 is everything to this one.
        (HALF_FIXED, {"zones": ["0"]}, "auto", FREE, [], "zone_zero_unsafe"),
        (HALF_FIXED, {"zones": ["0", "5"]}, "auto", FREE, [5], "zone_zero_unsafe"),
        # Every zone is everything to this one.
        (IGNORING, {"zones": ["5"]}, "auto", FREE, [], "ignored"),
        (IGNORING, {"zones": ["0"]}, "auto", FREE, [], "ignored"),
        (IGNORING, {"zones": ["9", "5"]}, "auto", FREE, [], "ignored"),
        # But for zone 0, whose proof is a trial.
        (EXACT, {"zones": ["0-65534"]}, "auto", FREE, [0], "exact"),
        (IGNORING, {"zones": ["0-65534"]}, "auto", FREE, [], "ignored"),
        (HALF_FIXED, {"zones": ["0-65534"]}, "auto", FREE, [], "zone_zero_unsafe"),
        # More than zones is asked for.
        (EXACT, {"zones": ["5"], "family": "ipv4"}, "auto", FREE, [], "exact"),
        (EXACT, {"zones": ["5"], "exclude": {"mark": "77"}}, "auto", FREE, [], "exact"),
        # No filter, so none to be proven.
        (EXACT, {"all": True}, "auto", FREE, [None], "unknown"),
        (IGNORING, {"all": True}, "auto", FREE, [None], "unknown"),
        (IGNORING, {"all": True}, "kernel", LARGE, [None], "unknown"),
        (ZONELESS, {"all": True}, "kernel", LARGE, [None], "unknown"),
        (EXACT, {"all": True}, "auto", LARGE, [], "unknown"),
        (EXACT, {"all": True, "exclude": {"mark": "77"}}, "auto", FREE, [], "unknown"),
    ],
)
def test_flush_messages_that_are_sent(
    make: Make, behaviour: str, options: dict, method: str, buckets: int, zones: list, told: str
) -> None:
    scripted = make(behaviour, buckets=buckets)
    result = run(options, method=method)
    assert flushed(scripted) == zones
    assert result["proof"]["filter"] == told
    assert result["proof"]["evidence"]
    by_kernel = {row["zone"] for row in result["zones"] if row["method"] == "kernel"}
    assert by_kernel == (set(ZONE_OF.values()) if zones == [None] else set(zones))
    assert result["method"] == ("kernel" if zones and len(by_kernel) == len(result["zones"]) else "entries")


@pytest.mark.parametrize("behaviour, left", [(HALF_FIXED, []), (EXACT, [0])])
def test_zone_0_of_a_table_without_other_zones_is_tried_in_a_throwaway_namespace(make: Make, behaviour: str, left: list) -> None:
    # Here the dump alone cannot tell the two kernels apart, and another zone may appear before the flush.
    scripted = make(behaviour, [1, 2, 3])
    result = run({"zones": ["0"]})
    assert flushed(scripted) == left
    assert len(scripted.trials) == 1
    assert [request.zone for request in scripted.trials[0].requests if request.flushes()] == [1, 0]
    assert result["proof"]["filter"] == {HALF_FIXED: "zone_zero_unsafe", EXACT: "exact"}[behaviour]
    assert scripted.host.numbers() == []


def test_zone_0_goes_entry_by_entry_where_no_namespace_can_be_made(make: Make) -> None:
    scripted = make(EXACT, [1, 2, 3, 11])
    scripted.permits_namespaces = False
    result = run({"zones": ["0"]})
    assert (flushed(scripted), result["method"], result["deleted"]) == ([], "entries", 3)
    assert result["proof"]["filter"] == "unknown"
    assert "EPERM" in result["proof"]["evidence"]
    assert scripted.host.numbers() == [11]


# Refusals of method: kernel


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    "behaviour, zones, namespaces, evidence",
    [
        (IGNORING, ["5"], True, "returned 9 entries without NLM_F_DUMP_FILTERED"),
        (IGNORING, ["0"], True, "returned 9 entries without NLM_F_DUMP_FILTERED"),
        (IGNORING, ["5", "7"], True, "without NLM_F_DUMP_FILTERED"),
        (IGNORING, ["1-65535"], True, "without NLM_F_DUMP_FILTERED"),
        (IGNORING, ["9"], True, "without NLM_F_DUMP_FILTERED"),
        (HALF_FIXED, ["0"], True, "returned 6 entries of other zones"),
        (HALF_FIXED, ["0", "5"], True, "returned 6 entries of other zones"),
        (EXACT, ["0"], False, "making a throw-away network namespace failed: EPERM"),
        (EXACT, ["0", "5"], False, "making a throw-away network namespace failed: EPERM"),
    ],
)
def test_the_kernel_is_not_let_loose_unproven(
    make: Make, behaviour: str, zones: list[str], namespaces: bool, evidence: str, check: bool
) -> None:
    scripted = make(behaviour)
    scripted.permits_namespaces = namespaces
    with pytest.raises(NetstateError) as caught:
        run({"zones": zones}, method="kernel", check=check)
    assert changes(scripted) == []
    assert scripted.host.numbers() == EVERY
    result = caught.value.as_result()
    assert (result["reason"], result["changed"], result["deleted"]) == ("unproven", False, 0)
    assert evidence in result["msg"]


@pytest.mark.parametrize(
    "options",
    [
        {"zones": ["5"], "family": "ipv4"},
        {"zones": ["5"], "protocols": ["tcp"]},
        {"zones": ["5"], "exclude": {"mark": "1"}},
        {"all": True, "exclude": {"zones": ["5"]}},
        {"mark": "1"},
    ],
)
def test_the_kernel_flushes_whole_zones_only(options: dict) -> None:
    with pytest.raises(OptionError, match="^method: 'kernel': the kernel flushes whole zones"):
        Order(parse_selection(options), method="kernel")


# Limits


@pytest.mark.parametrize("most, passes", [(0, False), (2, False), (3, True), (4, True)])
@pytest.mark.parametrize("behaviour", [EXACT, IGNORING])
@pytest.mark.parametrize("check", [False, True])
def test_max_entries(make: Make, behaviour: str, most: int, passes: bool, check: bool) -> None:
    scripted = make(behaviour)
    if passes:
        assert run({"zones": ["5"]}, most=most, check=check)["matched"] == 3
        return
    with pytest.raises(NetstateError) as caught:
        run({"zones": ["5"]}, most=most, check=check)
    result = caught.value.as_result()
    assert (result["reason"], result["changed"], result["matched"], result["deleted"]) == ("too_many", False, 3, 0)
    assert f"flushing 3 entries where max_entries allows {most}" in result["msg"]
    assert changes(scripted) == []
    assert scripted.host.numbers() == EVERY


def test_max_entries_of_nothing(make: Make) -> None:
    make(EXACT)
    assert run({"zones": ["9"]}, most=0)["changed"] is False


def test_max_entries_below_zero() -> None:
    with pytest.raises(OptionError, match="^max_entries: -1: "):
        Order(parse_selection({"zones": ["5"]}), most=-1)


# Entries that go by themselves, entries that cannot go


@pytest.mark.parametrize(
    "vanished, deleted", [((11,), 2), ((11, 12, 13), 0), ((13,), 2), ((1,), 3)]
)
@pytest.mark.parametrize("behaviour", [EXACT, IGNORING])
@pytest.mark.parametrize("receive_buffer", [4 << 20, 2048])
def test_entries_that_ended_meanwhile_are_already_gone(
    make: Make, behaviour: str, receive_buffer: int, vanished: tuple[int, ...], deleted: int
) -> None:
    scripted = make(behaviour, receive_buffer=receive_buffer)
    scripted.after_dump = lambda: scripted.host.remove(*vanished)
    result = run({"zones": ["5"]}, method="entries")
    assert (result["matched"], result["deleted"], result["already_gone"]) == (3, deleted, 3 - deleted)
    assert result["changed"] is (deleted > 0)
    assert result["zones"] == [{"zone": 5, "matched": 3, "deleted": deleted, "already_gone": 3 - deleted, "method": "entries"}]
    assert result["diff"]["after"] == {"zone 5": {}}
    assert scripted.host.numbers() == [number for number in EVERY if number not in (11, 12, 13, *vanished)]


def test_an_entry_that_took_the_tuple_of_another_meanwhile_stays(make: Make) -> None:
    scripted = make(EXACT, [1])

    def replace() -> None:
        scripted.host.entries = [scripted.host.entries[0]._replace(number=99)]

    scripted.after_dump = replace
    result = run({"zones": ["0"]}, method="entries")
    assert (result["deleted"], result["already_gone"]) == (0, 1)
    assert scripted.host.numbers() == [99]


@pytest.mark.parametrize(
    "receive_buffer, deleted, left",
    [
        (4 << 20, 2, [1, 2, 3, 12, 21, 22, 31]),  # zone 5 in one batch; zone 7 not reached
        (2048, 1, [1, 2, 3, 12, 13, 21, 22, 31]),  # one by one
    ],
)
def test_an_entry_that_cannot_be_deleted_fails_with_the_counts_so_far(
    make: Make, receive_buffer: int, deleted: int, left: list[int]
) -> None:
    scripted = make(IGNORING, receive_buffer=receive_buffer)
    scripted.busy = {12}
    with pytest.raises(NetstateError) as caught:
        run({"zones": ["5", "7"]})
    result = caught.value.as_result()
    assert (result["errno"], result["reason"]) == ("EBUSY", "busy")
    assert (result["changed"], result["matched"], result["deleted"], result["already_gone"]) == (True, 5, deleted, 0)
    assert [(row["zone"], row["deleted"]) for row in result["zones"]] == [(5, deleted), (7, 0)]
    assert scripted.host.numbers() == left
    assert result["netns"] is None


def test_answers_to_a_batch_that_were_lost(make: Make) -> None:
    scripted = make(IGNORING)
    scripted.lose_acknowledgements = 1
    with pytest.raises(NetstateError) as caught:
        run({"zones": ["5", "7"]})
    result = caught.value.as_result()
    assert (result["errno"], result["reason"], result["matched"], result["deleted"]) == ("ENOBUFS", "overrun", 5, 0)
    assert result["changed"] is True  # unknown, and in doubt it was carried out
    assert scripted.host.numbers() == [1, 2, 3, 21, 22, 31]  # the kernel did as it was told; zone 7 was not reached


# Tables that cannot be read whole


@pytest.mark.parametrize("options", [{"zones": ["5"]}, {"all": True}, {"zones": ["1-65535"]}])
def test_a_table_that_cannot_be_read_whole_is_left_alone(make: Make, options: dict) -> None:
    scripted = make(EXACT)
    lost = OSError(errno.ENOBUFS, "")
    scripted.faults.extend([lost] * 100)
    with pytest.raises(NetstateError) as caught:
        run(options)
    assert caught.value.as_result()["reason"] == "unreadable"
    assert changes(scripted) == []


def test_a_spoiled_dump_is_repeated(make: Make) -> None:
    scripted = make(IGNORING)
    scripted.faults.extend([None, OSError(errno.ENOBUFS, ""), None, None, OSError(errno.ENOBUFS, "")])
    result = run({"zones": ["5"]})
    assert (result["matched"], result["deleted"]) == (3, 3)
    assert scripted.host.numbers() == [1, 2, 3, 21, 22, 31]


def test_a_table_resized_each_time_is_left_alone(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = make(EXACT)
    sizes = iter(range(1000))
    monkeypatch.setattr(table, "buckets", lambda: next(sizes))
    with pytest.raises(NetstateError, match="The table was resized each time. The table could not be read whole") as caught:
        run({"zones": ["5"]})
    assert caught.value.as_result()["reason"] == "unreadable"
    assert changes(scripted) == []


def test_a_table_resized_once_is_read_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = make(EXACT)
    sizes = iter([16, 16, 32] + [32] * 100)  # for the costs, before the walk, after it
    monkeypatch.setattr(table, "buckets", lambda: next(sizes))
    assert run({"zones": ["5"]}, method="entries")["matched"] == 3
    assert len([request for request in scripted.host.requests if request.flags & 0x300]) == 2


# Check mode


@pytest.mark.parametrize("behaviour", [EXACT, HALF_FIXED, IGNORING])
@pytest.mark.parametrize("method", ["auto", "entries"])
@pytest.mark.parametrize("buckets", [FREE, LARGE])
@pytest.mark.parametrize(
    "options, matched",
    [
        ({"zones": ["5"]}, 3),
        ({"zones": ["0"]}, 3),
        ({"zones": ["9"]}, 0),
        ({"zones": ["0", "5", "7"]}, 8),
        ({"zones": ["0-65534"]}, 8),
        ({"all": True}, 9),
        ({"all": True, "exclude": {"zones": ["0"]}}, 6),
        ({"protocols": ["udp"]}, 2),
    ],
)
def test_check_mode_sends_nothing_that_changes(
    make: Make, behaviour: str, method: str, buckets: int, options: dict, matched: int
) -> None:
    scripted = make(behaviour, buckets=buckets)
    result = run(options, method=method, check=True, recount=True)
    assert changes(scripted) == []
    assert scripted.host.numbers() == EVERY
    assert (result["changed"], result["matched"], result["deleted"]) == (matched > 0, matched, 0)
    assert result["remaining"] is None
    done = run(options, method=method)
    assert done["matched"] == matched
    assert done["method"] == result["method"]
    assert done["diff"] == result["diff"]


# Kernels without zones, without permission, without conntrack


def test_zones_on_a_kernel_without_zones(make: Make) -> None:
    scripted = make(ZONELESS, [1, 2, 3])
    with pytest.raises(NetstateError) as caught:
        run({"zones": ["0"]})
    result = caught.value.as_result()
    assert (result["errno"], result["reason"], result["proof"]["filter"]) == ("EOPNOTSUPP", "no_zones", "unsupported")
    assert changes(scripted) == []


def test_other_selectors_on_a_kernel_without_zones(make: Make) -> None:
    scripted = make(ZONELESS, [1, 2, 3])
    assert run({"protocols": ["tcp"]})["deleted"] == 2
    assert scripted.host.numbers() == [2]


def test_not_permitted(make: Make) -> None:
    scripted = make(EXACT)
    scripted.refusal = errno.EPERM
    with pytest.raises(NetstateError) as caught:
        run({"zones": ["5"]})
    result = caught.value.as_result()
    assert (result["errno"], result["reason"], result["changed"]) == ("EPERM", "not_permitted", False)


NOT_LOADED = Reason("not_loaded", "nf_conntrack is not loaded, so nothing is tracked")


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    "present, count, succeeds",
    [
        (Presence(kernel.LOADABLE, kernel.LOADABLE, NOT_LOADED), None, True),
        (Presence(kernel.ABSENT, kernel.ABSENT, NOT_LOADED), None, True),
        (Presence(kernel.LOADED, kernel.ABSENT, NOT_LOADED), 0, True),
        (Presence(kernel.LOADED, kernel.ABSENT, NOT_LOADED), 4, False),
    ],
)
def test_without_conntrack_nothing_is_opened(
    make: Make, monkeypatch: pytest.MonkeyPatch, present: Presence, count: int | None, succeeds: bool, check: bool
) -> None:
    scripted = make(EXACT)
    monkeypatch.setattr(presence, "look", lambda: present)
    monkeypatch.setattr(kernel, "sysctl", lambda name: {"net/netfilter/nf_conntrack_count": count}[name])
    if succeeds:
        result = run({"zones": ["5"]}, check=check, recount=True)
        assert (result["changed"], result["matched"], result["remaining"]) == (False, 0, None if check else 0)
        assert result["unavailable_reason"] == NOT_LOADED.text
        assert result["zones"] == [{"zone": 5, "matched": 0, "deleted": 0, "already_gone": 0, "method": "none"}]
    else:
        with pytest.raises(NetstateError) as caught:
            run({"zones": ["5"]}, check=check)
        assert caught.value.as_result()["reason"] == "not_loaded"
    assert scripted.opened == 0


@pytest.mark.parametrize(
    "check, count, outcome",
    [(True, 0, "nothing"), (False, 0, "nothing"), (True, 3, "not_loaded"), (False, 3, "read")],
)
def test_the_reader_is_loaded_only_to_flush_entries(
    make: Make, monkeypatch: pytest.MonkeyPatch, check: bool, count: int, outcome: str
) -> None:
    scripted = make(EXACT)
    monkeypatch.setattr(presence, "look", lambda: Presence(kernel.LOADED, kernel.LOADABLE, NOT_LOADED))
    monkeypatch.setattr(kernel, "sysctl", lambda _name: count)
    if outcome == "not_loaded":
        with pytest.raises(NetstateError) as caught:
            run({"zones": ["5"]}, check=check)
        assert caught.value.as_result()["reason"] == "not_loaded"
    else:
        assert run({"zones": ["5"]}, check=check)["deleted"] == (3 if outcome == "read" else 0)
    assert (scripted.opened > 0) is (outcome == "read")


@pytest.mark.parametrize("options, deleted", [({"zones": ["5"]}, 3), ({"all": True}, 9)])
def test_only_entry_by_entry_can_no_more_go_than_the_limit(make: Make, options: dict, deleted: int) -> None:
    scripted = make(EXACT, buckets=FREE)
    result = run(options, most=9)
    assert (result["method"], result["deleted"]) == ("entries", deleted)
    assert flushed(scripted) == []
    assert run({"zones": ["7"]}, method="kernel", most=9)["method"] == ("kernel" if "zones" in options else "none")


def test_an_offloaded_connection_is_in_no_state_that_is_wanted_and_in_any_that_is_kept(make: Make) -> None:
    # 31 is offloaded: it shows no state.
    scripted = make(EXACT, [1, 3, 31])
    assert run({"tcp_states": ["ESTABLISHED"]}, check=True)["matched"] == 1
    run({"protocols": ["tcp"], "exclude": {"tcp_states": ["SYN_SENT"]}})
    assert scripted.host.numbers() == [3, 31]


# The rest of the result


def test_result_of_a_flush_in_full(make: Make) -> None:
    make(EXACT, buckets=LARGE)
    assert run({"zones": ["5", "7", "9", "100-200"]}, recount=True) == {
        "changed": True,
        "matched": 5,
        "deleted": 5,
        "already_gone": 0,
        "remaining": 0,
        "method": "entries",
        "zones": [
            {"zone": 5, "matched": 3, "deleted": 3, "already_gone": 0, "method": "entries"},
            {"zone": 7, "matched": 2, "deleted": 2, "already_gone": 0, "method": "entries"},
            {"zone": 9, "matched": 0, "deleted": 0, "already_gone": 0, "method": "none"},
        ],
        "protocols": {"tcp": 3, "udp": 1, "esp": 1},
        "assured": 1,
        "proof": {"filter": "unknown", "evidence": "no dump by one zone alone was made: entries go one by one, by their own bytes"},
        "unavailable_reason": None,
        "diff": {
            "before": {"zone 5": {"tcp": 2, "udp": 1}, "zone 7": {"tcp": 1, "esp": 1}},
            "after": {"zone 5": {}, "zone 7": {}},
        },
        "netns": None,
    }


def test_diff_shows_what_stays_in_a_zone(make: Make) -> None:
    make(IGNORING)
    assert run({"zones": ["0", "5"], "protocols": ["udp"]})["diff"] == {
        "before": {"zone 0": {"tcp": 2, "udp": 1}, "zone 5": {"tcp": 2, "udp": 1}},
        "after": {"zone 0": {"tcp": 2}, "zone 5": {"tcp": 2}},
    }


@pytest.mark.parametrize("behaviour", [EXACT, IGNORING])
def test_recount_shows_entries_made_meanwhile(make: Make, behaviour: str) -> None:
    scripted = make(behaviour, [1, 11])
    made = []

    def traffic() -> None:
        if not made:
            made.extend(ScriptedKernel(EXACT, [ENTRIES[12]]).host.entries)
            scripted.host.entries += made

    scripted.after_dump = traffic
    result = run({"zones": ["5"]}, method="entries", recount=True)
    assert (result["matched"], result["deleted"], result["remaining"]) == (1, 1, 1)
    assert scripted.host.numbers() == [1, 12]


def test_an_empty_table_needs_no_dump(make: Make) -> None:
    scripted = make(EXACT, [])
    result = run({"zones": ["5"]})
    assert (result["changed"], result["method"], result["proof"]["filter"]) == (False, "none", "unknown")
    assert not [request for request in scripted.host.requests if request.flags & 0x300]


@pytest.mark.parametrize("flagged, told", [(False, "unknown"), (True, "exact")])
def test_an_empty_zone_proves_something_where_the_end_of_the_dump_is_flagged(make: Make, flagged: bool, told: str) -> None:
    scripted = make(EXACT)
    scripted.flags_end_of_empty_dump = flagged
    assert run({"zones": ["9"]})["proof"]["filter"] == told


@pytest.mark.parametrize(
    "entries, held, buckets, cheaper",
    [
        # 0.06 us a bucket, 0.25 us an entry passed over, 1.8 us an entry flushed, 7 us an entry deleted
        (1000, 500000, 262144, False),  # 143 ms more than it saves
        (27000, 500000, 262144, False),
        (28000, 500000, 262144, True),
        (200000, 500000, 262144, True),
        (0, 0, 0, False),
        (1, 1, 0, True),
        (1, 1, 262144, False),
        (3024, 0, 262144, False),
        (3025, 0, 262144, True),
    ],
)
def test_flush_is_cheaper(entries: int, held: int, buckets: int, cheaper: bool) -> None:
    assert flush.flush_is_cheaper(entries, held, buckets) is cheaper
