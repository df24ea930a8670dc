# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import rules, scope
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError

SERVICES = {
    "web": "-A -t 10.0.0.1:80",
    "dns": "-A -u 10.0.0.1:53",
    "far": "-A -t 192.0.2.1:80",
    "six": "-A -t [2001:db8::1]:80",
    "mark": "-A -f 1",
    "mark6": "-A -f 1 -6",
    "other mark": "-A -f 2",
}
KEYS = {name: next(iter(rules.parse_table(text))) for name, text in SERVICES.items()}

INSIDE = [
    ({"all": True}, set(SERVICES)),
    ({"addresses": ["10.0.0.0/8"]}, {"web", "dns"}),
    ({"addresses": ["10.0.0.1", "2001:db8::/32"]}, {"web", "dns", "six"}),
    ({"addresses": ["0.0.0.0/0"]}, {"web", "dns", "far"}),
    ({"fwmarks": [1]}, {"mark", "mark6"}),
    ({"fwmarks": ["0x2"]}, {"other mark"}),
    ({"addresses": ["192.0.2.0/24"], "fwmarks": [2]}, {"far", "other mark"}),
    ({"protocols": ["tcp"]}, {"web", "far", "six"}),
    ({"protocols": ["udp", "sctp"]}, {"dns"}),
    ({"protocols": ["tcp"], "addresses": ["10.0.0.0/8"]}, {"web"}),
    ({"protocols": ["tcp"], "addresses": ["10.0.0.0/8"], "fwmarks": [1]}, {"web", "mark", "mark6"}),
    ({"families": ["ipv6"]}, {"six", "mark6"}),
    ({"families": ["ipv4"], "fwmarks": [1, 2]}, {"mark", "other mark"}),
    ({"families": ["ipv6"], "protocols": ["tcp"]}, {"six"}),
]


@pytest.mark.parametrize("option, names", INSIDE, ids=[str(option) for option, _names in INSIDE])
def test_inside(option, names):
    found = scope.parse(option)
    assert {name for name, key in KEYS.items() if key in found} == names


REFUSED = [
    (None, "scope"),
    ({}, "scope"),
    ({"all": False}, "scope"),
    ({"addresses": None}, "scope"),
    ({"addresses": []}, "scope.addresses"),
    ({"all": True, "families": ["ipv4"]}, "scope.all"),
    ({"addresses": ["10.0.0.1/8"]}, "scope.addresses"),
    ({"addresses": ["www"]}, "scope.addresses"),
    ({"addresses": ["fe80::1%eth0"]}, "scope.addresses"),
    ({"fwmarks": [0]}, "scope.fwmarks"),
    ({"protocols": ["icmp"]}, "scope.protocols"),
    ({"protocols": ["tcp"], "fwmarks": [1]}, "scope.protocols"),
    ({"families": ["inet"]}, "scope.families"),
    ({"zones": [1]}, "scope.zones"),
]


@pytest.mark.parametrize("option, named", REFUSED, ids=[str(option) for option, _named in REFUSED])
def test_refused(option, named):
    with pytest.raises(OptionError) as caught:
        scope.parse(option)
    assert caught.value.option == named
