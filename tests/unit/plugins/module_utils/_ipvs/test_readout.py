# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import readout, rules
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.model import Connections


def test_totals():
    table = rules.parse_table(
        "-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1 -w 0\n-a -t 10.0.0.1:80 -r 10.1.0.2\n-A -u [2001:db8::1]:53\n-A -f 1 -6\n"
    )
    activity = {1: Connections(1, 2, 3), 2: Connections(4, 5, 6)}
    assert readout.totals(table, activity) == {
        "services": 3,
        "destinations": 2,
        "by_protocol": {"tcp": 1, "udp": 1, "sctp": 0, "fwmark": 1},
        "by_family": {"ipv4": 1, "ipv6": 2},
        "active_connections": 5,
        "inactive_connections": 7,
        "persistent_connections": 9,
        "destinations_weight_0": 1,
    }
