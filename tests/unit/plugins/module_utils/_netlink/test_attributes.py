# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import attributes
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.attributes import HEAD, Picker
from hypothesis import given
from hypothesis import strategies as st

NEST, AT = 2, 4
WANTED = ((1, "I"), (2, "2s"), (7, ""))
SIZES = {1: 4, 2: 2}


def attribute(kind: int, value: bytes) -> bytes:
    return HEAD.pack(HEAD.size + len(value), kind) + value + bytes(-len(value) & 3)


def message(*inner: tuple[int, bytes], before: bytes = b"") -> bytes:
    body = before + attribute(NEST | 0x8000, b"".join(attribute(*one) for one in inner))
    return (AT + len(body)).to_bytes(AT, sys.byteorder) + body


def walked(data: bytes) -> tuple:
    """What the walk over each attribute finds, in the form that a picker gives."""
    nest = attributes.walk(data, AT, len(data)).get(NEST, b"")
    found = attributes.walk(nest, 0, len(nest))
    return (int.from_bytes(found[1], sys.byteorder) if 1 in found else None, found.get(2), found.get(7))


def test_what_is_cut_off_is_left_out():
    data = attribute(1, b"abcd") + attribute(2, b"ef")
    assert attributes.walk(data, 0, len(data)) == {1: b"abcd", 2: b"ef"}
    assert attributes.walk(data, 0, len(data) - 3) == {1: b"abcd"}
    assert attributes.walk(b"\1\0\1\0", 0, 4) == {}


INNER = st.lists(
    st.integers(1, 9).flatmap(lambda kind: st.tuples(st.just(kind), st.binary(min_size=SIZES.get(kind, 0), max_size=SIZES.get(kind, 8)))),
    unique_by=lambda one: one[0],
)
MESSAGES = st.builds(lambda inner, before: message(*inner, before=before), INNER, st.just(b"") | st.just(attribute(5, b"else")))


@given(st.lists(MESSAGES, max_size=20))
def test_a_picker_finds_what_a_walk_finds(messages):
    picker = Picker(NEST, AT, WANTED)
    expected = [walked(one) for one in messages]
    assert [picker.pick(one) for one in messages] == expected
    datagram = b"".join(messages)
    assert list(attributes.split(datagram)) == messages
    assert list(picker.pick_each(datagram)) == expected


MANY = 3 * attributes.FEW


@given(MESSAGES, st.integers(0, MANY), st.none() | MESSAGES)
def test_a_picker_finds_them_in_a_datagram_of_one_form_but_for_one(usual, place, odd):
    picker = Picker(NEST, AT, WANTED)
    messages = [usual] * MANY
    if odd is not None:
        messages.insert(place, odd)
    for _first_then_known in range(2):
        assert list(picker.pick_each(b"".join(messages))) == [walked(one) for one in messages]


SAME_LENGTH = {
    "in another order": (message((1, b"\1\0\0\0"), (3, b"\2\0\0\0")), message((3, b"\2\0\0\0"), (1, b"\1\0\0\0"))),
    "of other lengths": (message((7, b"ab"), (1, b"\1\0\0\0")), message((7, b"abc"), (1, b"\1\0\0\0"))),
    "another nest": (message((1, b"\1\0\0\0")), message((1, b"\1\0\0\0"))[:6] + b"\3\0" + message((1, b"\1\0\0\0"))[8:]),
}


@pytest.mark.parametrize("first, second", SAME_LENGTH.values(), ids=SAME_LENGTH)
def test_messages_of_one_length_and_two_forms(first, second):
    assert len(first) == len(second)
    picker = Picker(NEST, AT, WANTED)
    for one in (first, second, second, first):
        assert picker.pick(one) == walked(one)
    for many in ([first] * MANY + [second], [second] + [first] * MANY, [second] * MANY):
        assert list(picker.pick_each(b"".join(many))) == [walked(one) for one in many]


def test_values_of_messages_of_one_form():
    picker = Picker(NEST, AT, WANTED)
    many = [message((1, bytes([number, 0, 0, 0])), (7, bytes([255 - number] * 4))) for number in range(MANY)]
    for _first_then_known in range(2):
        assert list(picker.pick_each(b"".join(many))) == [walked(one) for one in many]


def test_other_lengths_with_heads_in_the_same_places():
    """Two messages that are as long together as one, and have their heads where it has its own."""
    whole = message((7, bytes(44)))
    inner = whole[len(whole) // 2 :]
    halves = (len(whole) // 2).to_bytes(AT, sys.byteorder) + whole[AT : len(whole) // 2] + (len(inner)).to_bytes(AT, sys.byteorder) + inner[AT:]
    assert len(halves) == len(whole)
    picker = Picker(NEST, AT, WANTED)
    picker.pick(whole)
    datagram = whole * MANY + halves
    assert list(picker.pick_each(datagram)) == [walked(one) for one in attributes.split(datagram)]


def test_a_value_of_another_size_is_refused():
    with pytest.raises(ValueError, match="attribute 1 has 2 bytes"):
        Picker(NEST, AT, WANTED).pick(message((1, b"ab")))
