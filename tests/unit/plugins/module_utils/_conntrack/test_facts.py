# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import facts
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.sieve import Kind


def kind(zone: int = 0, carrier: str = "both", family: int = 2, protocol: int = 6, status: int = 0xE, state: int | None = 3) -> Kind:
    return Kind(False, family, zone, carrier, protocol, status, state if protocol == 6 else None, None, None)


KINDS = {
    kind(): 10,
    kind(status=0x8, state=1): 2,
    kind(zone=5): 100,
    kind(zone=5, carrier="original", protocol=17, status=0x8): 20,
    kind(zone=5, carrier="reply", protocol=17): 3,
    kind(zone=5, family=10, status=0x400E, state=None): 4,
    kind(zone=7, protocol=200, status=0x8): 12,
    kind(zone=9, family=10, protocol=58, status=0xA): 1,
    kind(zone=65535, state=11): 1,
}


def test_zones() -> None:
    assert facts.zones(KINDS) == [
        {"zone": 5, "entries": 127, "both": 104, "original": 20, "reply": 3, "assured": 107, "protocols": {"tcp": 104, "udp": 23}},
        {"zone": 0, "entries": 12, "both": 12, "original": 0, "reply": 0, "assured": 10, "protocols": {"tcp": 12}},
        {"zone": 7, "entries": 12, "both": 12, "original": 0, "reply": 0, "assured": 0, "protocols": {"200": 12}},
        {"zone": 9, "entries": 1, "both": 1, "original": 0, "reply": 0, "assured": 0, "protocols": {"icmpv6": 1}},
        {"zone": 65535, "entries": 1, "both": 1, "original": 0, "reply": 0, "assured": 1, "protocols": {"tcp": 1}},
    ]


def test_protocols() -> None:
    assert facts.protocols(KINDS) == {
        "ipv4": {
            "tcp": {"entries": 113, "states": {"ESTABLISHED": 110, "SYN_SENT": 2, "11": 1}},
            "udp": {"entries": 23},
            "200": {"entries": 12},
        },
        "ipv6": {"tcp": {"entries": 4, "states": {"OFFLOADED": 4}}, "icmpv6": {"entries": 1}},
    }


def test_of_an_empty_table() -> None:
    assert facts.zones({}) == []
    assert facts.protocols({}) == {}
