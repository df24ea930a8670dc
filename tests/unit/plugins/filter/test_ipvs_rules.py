# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

pytest.importorskip("ansible")

from ansible.errors import AnsibleFilterError  # noqa: E402
from ansible_collections.netstate.kernel.plugins.filter.ipvs_rules_parse import ipvs_rules_parse  # noqa: E402
from ansible_collections.netstate.kernel.plugins.filter.ipvs_rules_render import ipvs_rules_render  # noqa: E402

TEXT = "-A -t 10.0.0.1:80 -s rr\n-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 5 -x 70000\n"
LISTING = "IP Virtual Server version 1.2.1 (size=4096)\n  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"


def test_there_and_back():
    assert ipvs_rules_render(ipvs_rules_parse(TEXT)) == TEXT


def test_names():
    assert ipvs_rules_parse("-A -t 127.0.0.1:http", resolve_names=True)[0]["port"] == 80


@pytest.mark.parametrize(
    "call, why",
    [
        (lambda: ipvs_rules_parse(None), "reads a text, not NoneType"),
        (lambda: ipvs_rules_parse(LISTING, hz=0), "hz: 0: out of range"),
        (lambda: ipvs_rules_parse("-A -q"), "line 1: -A -q: unknown word -q"),
        (lambda: ipvs_rules_render("-A"), "writes a list of services, not str"),
        (lambda: ipvs_rules_render([{"fwmark": 0}]), r"config\[0\].fwmark: 0: out of range"),
        (lambda: ipvs_rules_render([], "loud"), "dialect: 'loud': give one of lossless, ipvsadm"),
        (lambda: ipvs_rules_render(ipvs_rules_parse(TEXT), "ipvsadm"), "thresholds up to 65535"),
    ],
)
def test_refused(call, why):
    with pytest.raises(AnsibleFilterError, match=why):
        call()
