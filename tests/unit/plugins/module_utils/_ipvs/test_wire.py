# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import messages, model, rules, wire
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import family
from hypothesis import given
from ipvs_golden import GOLDEN
from ipvs_tables import tables

# What the table was made of when the bytes were taken.
MADE_BY = """\
-A -t 10.0.0.3:443 -s mh -p 600 -M 255.255.255.0 -b mh-port --pe sip
-A -u 10.0.0.1:53 -s sh -b sh-fallback,sh-port -o
-A -t [2001:db8::1]:443 -s rr -p 600 -M 64
-A -f 16 -6 -s none
-A -f -1 -s wlc
-a -t 10.0.0.3:443 -r 10.1.0.1:8443 -m -w 0 -x 100 -y 50
-a -t 10.0.0.3:443 -r 10.1.0.2:443 -i -w 7 --tun-type gue --tun-port 6080 --tun-remcsum
-a -t 10.0.0.3:443 -r [2001:db8::5]:443 -i -w 1 --tun-type gre --tun-csum
-a -f -1 -r 10.1.0.3:0 -g -w 2147483647
"""
TABLE = rules.parse_table(MADE_BY)
REQUESTS = messages.Requests(30)


@pytest.mark.parametrize("key", TABLE, ids=str)
def test_a_service_of_the_kernel(key):
    found = wire.nested(GOLDEN[f"service {key}"])
    assert wire.service_key(found) == key
    assert wire.service(found, key.family) == TABLE[key].service


DESTINATIONS = {str(one): (key, one) for key, held in TABLE.items() for one in held.destinations}


@pytest.mark.parametrize("name", DESTINATIONS)
def test_a_destination_of_the_kernel(name):
    key, one = DESTINATIONS[name]
    found = wire.nested(GOLDEN[f"destination {name}"], wire.DEST)
    assert wire.destination_key(found, key.family) == one
    assert wire.destination(found) == TABLE[key].destinations[one]
    assert wire.connections(found) == model.Connections(0, 0, 0)
    assert set(wire.statistics(found, wire.DEST_STATS64, wire.DEST_STATS)) == set(wire.STATISTICS)


def test_the_family_of_the_kernel():
    found = family.parse(GOLDEN["family"])
    assert found.id == 30
    assert sorted(found.operations) == [number for number in sorted(wire.COMMANDS) if number != wire.SET_INFO]
    assert found.operations[wire.GET_DEST] & family.OPERATION_DUMPS


def test_statistics_of_64_bits_come_first():
    wide = wire.attribute(1, wire.U64.pack(1 << 40)) + wire.attribute(11, b"")
    narrow = wire.attribute(1, wire.U32.pack(7)) + wire.attribute(2, wire.U32.pack(9))
    both = {wire.SVC_STATS: narrow, wire.SVC_STATS64: wide}
    assert wire.statistics(both, wire.SVC_STATS64, wire.SVC_STATS) == {"connections": 1 << 40}
    del both[wire.SVC_STATS64]
    assert wire.statistics(both, wire.SVC_STATS64, wire.SVC_STATS) == {"connections": 7, "packets_in": 9}


@given(tables())
def test_config_to_bytes_and_back(table):
    for key, held in table.items():
        found = wire.nested(REQUESTS.new_service(key, held.service))
        assert (wire.service_key(found), wire.service(found, key.family)) == (key, held.service)
        for destination, one in held.destinations.items():
            found = wire.nested(REQUESTS.new_destination(key, destination, one), wire.DEST)
            assert (wire.destination_key(found, key.family), wire.destination(found)) == (destination, one)


def test_a_destination_without_a_family_has_that_of_its_service():
    found = {wire.DEST_ADDR: bytes([10, 0, 0, 1]) + bytes(12), wire.DEST_PORT: b"\0\x50"}
    assert wire.destination_key(found, model.AF_INET) == model.DestinationKey(model.AF_INET, bytes([10, 0, 0, 1]), 80)


def test_a_tunnel_of_another_forwarding_method_is_no_part_of_the_normal_form():
    key, one = DESTINATIONS["10.1.0.2:443"]
    found = wire.nested(GOLDEN["destination 10.1.0.2:443"], wire.DEST)
    found[wire.DEST_FWD_METHOD] = wire.U32.pack(model.MASQUERADE | 0x100)
    assert wire.destination(found) == TABLE[key].destinations[one]._replace(forward=model.MASQUERADE, tunnel=model.PLAIN_TUNNEL)


# Requests from nlmsghdr on, written down from linux/netlink.h, linux/genetlink.h and linux/ip_vs.h, little endian.
HEADER_OF = "{size}000000" + "1e00" + "{flags}" + "00000000" * 2 + "{command}010000"
SERVICE = "30000180" + "060001000200" + "0000" + "060002000600" + "0000" + "140003000a000003" + "00" * 12 + "0600040001bb" + "0000"
KEY = model.Key(model.AF_INET, 6, bytes([10, 0, 0, 3]), 443)
BYTES = {
    "services": (REQUESTS.services(), HEADER_OF.format(size="14", flags="0103", command="04")),
    "delete service": (REQUESTS.delete_service(KEY), HEADER_OF.format(size="44", flags="0100", command="03") + SERVICE),
    "destinations": (
        REQUESTS.destinations(messages.identity(wire.nested(GOLDEN["service tcp 10.0.0.3:443"]))),
        HEADER_OF.format(size="44", flags="0103", command="08") + SERVICE,
    ),
    "delete destination": (
        REQUESTS.delete_destination(KEY, model.DestinationKey(model.AF_INET, bytes([10, 1, 0, 1]), 80)),
        HEADER_OF.format(size="6c", flags="0100", command="07")
        + SERVICE
        + "28000280"
        + "140001000a010001"
        + "00" * 12
        + "060002000050"
        + "0000"
        + "06000b000200"
        + "0000",
    ),
    "fwmark service": (
        REQUESTS.new_service(model.Key(model.AF_INET6, fwmark=16), model.service_of(model.AF_INET6, "rr", 0, 60, 64, "", True)),
        HEADER_OF.format(size="4c", flags="0100", command="01")
        + "38000180"
        + "060001000a00"
        + "0000"
        + "0800050010000000"
        + "070006007272"
        + "0000"
        + "0c000700"
        + "050000003d000000"
        + "080008003c000000"
        + "0800090040000000",
    ),
    "timeouts": (
        REQUESTS.set_timeouts(tcp=900),
        HEADER_OF.format(size="2c", flags="0100", command="0c") + "0800040084030000" + "0800050000000000" + "0800060000000000",
    ),
    "lookup": (family.request("IPVS"), "20000000" + "1000" + "0100" + "00000000" * 2 + "03010000" + "090002004950565300" + "000000"),
}


@pytest.mark.parametrize("made, written", BYTES.values(), ids=BYTES)
def test_request_bytes(made, written):
    assert made.hex() == written


def test_a_plain_tunnel_is_left_out_and_others_are_said():
    plain = wire.nested(REQUESTS.set_destination(KEY, next(iter(TABLE[KEY].destinations)), model.destination_of(model.TUNNEL, 1)), wire.DEST)
    assert wire.DEST_TUN_TYPE not in plain
