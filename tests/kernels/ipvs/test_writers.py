# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other programs write at the same time."""

from __future__ import annotations

import threading

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import snapshot
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import NetstateError

SERVICES = 60

pytestmark = pytest.mark.thorough


def wanted():
    return [
        {
            "protocol": "tcp",
            "address": f"10.0.0.{number}",
            "port": 80,
            "scheduler": "rr",
            "destinations": [{"address": f"10.1.0.{number}", "forward": "masquerade"}],
        }
        for number in range(1, SERVICES + 1)
    ]


def test_another_writer_of_other_services(director):
    """Its services come and go by the hundred while ours are read; none of ours may be missed."""
    director.services(*wanted())
    writer = director.start(
        "sh", "-c", "while :; do for n in 1 2 3 4 5 6 7 8 9; do ipvsadm -A -f $n -s rr; done; for n in 1 2 3 4 5 6 7 8 9; do ipvsadm -D -f $n; done; done"
    )
    for _round in range(8):
        result = director.services(*wanted(), state="replaced")
        assert (result["changed"], result["commands"]) == (False, [])
    writer.kill()


def test_another_writer_of_the_same_services(director):
    """It removes what we add, for a while: in the end ours are there, or the failure says why and what was done."""
    writer = director.start("sh", "-c", "for n in $(seq 40); do ipvsadm -D -t 10.0.0.5:80; ipvsadm -A -t 10.0.0.7:80 -s wrr; done 2>/dev/null")
    while writer.poll() is None:
        try:
            director.services(*wanted())
        except NetstateError as error:
            assert error.reason.slug in ("not_settled", "unreadable"), error
            assert error.reason.slug == "unreadable" or error.done["commands"]
    director.services(*wanted())
    assert director.services(*wanted(), state="replaced")["commands"] == []
    assert len(director.rules().splitlines()) == 2 * SERVICES


def test_two_of_us(director):
    """Two runs at once arrive at the same table."""
    outcomes = []

    def run():
        outcomes.append(director.services(*wanted(), state="overridden", scope={"all": True}))

    threads = [threading.Thread(target=run) for _one in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 2
    done = [command for outcome in outcomes for command in outcome["commands"]]
    assert sorted(done) == sorted(set(done)) and len(done) == 2 * SERVICES


def test_a_reading_of_many_destinations(director):
    config = wanted()[:1]
    config[0]["destinations"] = [{"address": f"10.1.{number // 200}.{number % 200 + 1}"} for number in range(300)]
    director.services(*config)
    table = director.run(snapshot.read).table
    assert [len(held.destinations) for held in table.values()] == [300]
