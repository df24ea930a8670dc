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


def destination_of(message, family):
    (found,) = wire.destinations(message, family)
    return found


@pytest.mark.parametrize("key", TABLE, ids=str)
def test_a_service_of_the_kernel(key):
    assert list(wire.services(GOLDEN[f"service {key}"])) == [(key, TABLE[key].service)]


DESTINATIONS = {str(one): (key, one) for key, held in TABLE.items() for one in held.destinations}


@pytest.mark.parametrize("name", DESTINATIONS)
def test_a_destination_of_the_kernel(name):
    key, one = DESTINATIONS[name]
    message = GOLDEN[f"destination {name}"]
    assert destination_of(message, key.family) == (one, TABLE[key].destinations[one], model.Connections(0, 0, 0))
    found = wire.nested(message, wire.DEST)
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
        assert list(wire.services(REQUESTS.new_service(key, held.service))) == [(key, held.service)]
        for destination, one in held.destinations.items():
            request = REQUESTS.new_destination(key, destination, one)
            assert destination_of(request, key.family)[:2] == (destination, one)


def changed(message, **attributes):
    """The message with values of the destination replaced, or left out where they are ``None``."""
    found = wire.nested(message, wire.DEST)
    for name, value in attributes.items():
        kind = getattr(wire, name)
        if value is None:
            del found[kind]
        else:
            found[kind] = value
    nest = b"".join(wire.attribute(kind, value) for kind, value in found.items())
    return message[: family.BODY_AT] + wire.attribute(wire.DEST, nest)


def test_a_destination_without_a_family_has_that_of_its_service():
    message = changed(GOLDEN["destination 10.1.0.1:8443"], DEST_ADDR_FAMILY=None)
    assert destination_of(message, model.AF_INET)[0] == model.DestinationKey(model.AF_INET, bytes([10, 1, 0, 1]), 8443)


def test_a_tunnel_of_another_forwarding_method_is_no_part_of_the_normal_form():
    key, one = DESTINATIONS["10.1.0.2:443"]
    message = changed(GOLDEN["destination 10.1.0.2:443"], DEST_FWD_METHOD=wire.U32.pack(model.MASQUERADE | 0x100))
    expected = TABLE[key].destinations[one]._replace(forward=model.MASQUERADE, tunnel=model.PLAIN_TUNNEL)
    assert destination_of(message, key.family)[1] == expected


def test_connections():
    message = changed(GOLDEN["destination 10.1.0.1:8443"], DEST_ACTIVE_CONNS=wire.U32.pack(3), DEST_PERSIST_CONNS=None)
    assert destination_of(message, model.AF_INET)[2] == model.Connections(3, 0, 0)


# Requests from nlmsghdr on, written down from linux/netlink.h, linux/genetlink.h and linux/ip_vs.h, little endian.
HEADER_OF = "{size}000000" + "1e00" + "{flags}" + "00000000" * 2 + "{command}010000"
SERVICE = "30000180" + "060001000200" + "0000" + "060002000600" + "0000" + "140003000a000003" + "00" * 12 + "0600040001bb" + "0000"
KEY = model.Key(model.AF_INET, 6, bytes([10, 0, 0, 3]), 443)
BYTES = {
    "services": (REQUESTS.services(), HEADER_OF.format(size="14", flags="0103", command="04")),
    "delete service": (REQUESTS.delete_service(KEY), HEADER_OF.format(size="44", flags="0100", command="03") + SERVICE),
    "destinations": (
        REQUESTS.destinations(KEY),
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


@pytest.mark.parametrize("name, text", [(b"eth0\0\0", "eth0"), ("äth0".encode() + b"\0", "äth0"), (b"\xffth0\0", "\\xffth0")])
def test_names_of_interfaces(name, text):
    assert wire.text(name) == text
