# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""IPVS tables for property tests: any that the option ``config`` can say."""

from __future__ import annotations

from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import model
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.model import DestinationKey, Held, Key, Tunnel
from hypothesis import strategies as st

FAMILIES = st.sampled_from([model.AF_INET, model.AF_INET6])
SCHEDULERS = st.sampled_from(["rr", "wrr", "lc", "wlc", "sh", "mh", "dh", "none"])
PORTS = st.sampled_from([53, 80]) | st.integers(1, 0xFFFF)
NEAR = {
    model.AF_INET: [bytes([10, 0, 0, last]) for last in (1, 2)],
    model.AF_INET6: [b"\x20\x01" + bytes(13) + bytes([last]) for last in (1, 2)],
}


@st.composite
def addresses(draw, family):
    """Packed addresses that a host can have; half of them a few, so that two tables meet."""
    if draw(st.booleans()):
        return draw(st.sampled_from(NEAR[family]))
    if family == model.AF_INET:
        return bytes([draw(st.sampled_from([10, 172, 192]))]) + draw(st.binary(min_size=3, max_size=3))
    return b"\x20\x01" + draw(st.binary(min_size=14, max_size=14))


@st.composite
def keys(draw):
    family = draw(FAMILIES)
    if draw(st.booleans()):
        return Key(family, fwmark=draw(st.integers(1, 3) | st.integers(1, 0xFFFFFFFF)))
    protocol = draw(st.sampled_from(sorted(model.PROTOCOL_NAMES)))
    return Key(family, protocol, draw(addresses(family)), draw(PORTS | st.just(0)))


@st.composite
def services(draw, key):
    needs_persistence = not key.fwmark and not key.port
    timeout = draw(st.integers(1 if needs_persistence else 0, model.PERSISTENCE_MOST))
    netmask = draw(st.integers(1, model.WHOLE_ADDRESS[key.family]))
    return model.service_of(
        key.family,
        draw(SCHEDULERS),
        draw(st.integers(0, 7)) << 3,
        timeout,
        netmask,
        draw(st.sampled_from(["", "sip"])),
        draw(st.booleans()) if key.fwmark or key.protocol == model.UDP else False,
    )


TUNNELS = st.one_of(
    st.just(Tunnel()),
    st.builds(Tunnel, st.just(model.GUE), PORTS, st.integers(0, 2)),
    st.builds(Tunnel, st.just(model.GRE), st.just(0), st.integers(0, 1)),
)


@st.composite
def destinations(draw, service):
    forward = draw(st.sampled_from([model.MASQUERADE, model.TUNNEL, model.DIRECT]))
    family = draw(FAMILIES) if forward == model.TUNNEL else service.family
    upper = draw(st.integers(0, model.LARGEST))
    one = model.destination_of(forward, draw(st.integers(0, model.LARGEST)), upper, draw(st.integers(0, upper)), draw(TUNNELS))
    return DestinationKey(family, draw(addresses(family)), draw(PORTS | st.just(0))), one


@st.composite
def tables(draw, most=3):
    table = {}
    for key in draw(st.lists(keys(), max_size=most, unique=True)):
        table[key] = Held(draw(services(key)), dict(draw(st.lists(destinations(key), max_size=most))))
    return table
