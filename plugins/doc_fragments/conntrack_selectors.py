# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options that select conntrack entries; their argument spec is in module_utils/_conntrack/options.py."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  zones:
    description:
      - Conntrack zones, as numbers and ranges such as V(100-199), from V(0) to V(65535).
      - An entry belongs to a zone when the zone holds for both of its directions, or for one of them.
      - On a kernel without zones the task fails.
      - As with every option, V(null) is as if it were left out.
    type: list
    elements: str
  zone:
    description:
      - Another name of O(zones).
    type: list
    elements: str
  family:
    description:
      - The address family.
    type: str
    choices: [any, ipv4, ipv6]
    default: any
  protocols:
    description:
      - Layer 4 protocols, by name (V(tcp), V(udp), V(icmp), V(icmpv6), V(sctp), V(gre), V(dccp), V(udplite), V(esp), V(ah), V(igmp),
        V(ipip), V(ipv6)) or by number.
    type: list
    elements: str
  source:
    description:
      - Source addresses of the original direction, as addresses or CIDRs; V(!) in front negates.
      - An entry matches when one of the plain ones covers its address (or there are none) and no negated one does.
    type: list
    elements: str
  destination:
    description:
      - Destination addresses of the original direction; see O(source).
    type: list
    elements: str
  reply_source:
    description:
      - Source addresses of the reply direction; with destination NAT the real server. See O(source).
    type: list
    elements: str
  reply_destination:
    description:
      - Destination addresses of the reply direction; with source NAT the translated address. See O(source).
    type: list
    elements: str
  source_ports:
    description:
      - Source ports of the original direction, as numbers and ranges such as V(8000-8099).
      - Needs O(protocols), all of them protocols that carry ports.
    type: list
    elements: str
  destination_ports:
    description:
      - Destination ports of the original direction; see O(source_ports).
    type: list
    elements: str
  reply_source_ports:
    description:
      - Source ports of the reply direction; see O(source_ports).
    type: list
    elements: str
  reply_destination_ports:
    description:
      - Destination ports of the reply direction; see O(source_ports).
    type: list
    elements: str
  mark:
    description:
      - The mark as V(value) or V(value/mask), decimal or hexadecimal. Without a mask all 32 bits count.
    type: str
  status:
    description:
      - Status bits by their kernel names, such as V(ASSURED), V(SEEN_REPLY), V(SRC_NAT), V(DST_NAT), V(OFFLOAD), V(FIXED_TIMEOUT); V(!)
        in front negates.
      - An entry must have all that are named plainly and none that is negated. V(!SEEN_REPLY) selects unreplied entries.
    type: list
    elements: str
  tcp_states:
    description:
      - TCP states by their kernel names, such as V(ESTABLISHED), V(SYN_SENT), V(TIME_WAIT). Entries of other protocols do not match, nor do
        offloaded ones, which show no state.
    type: list
    elements: str
  labels:
    description:
      - Label bits (connlabels), from V(0) to V(127). An entry must have all of them.
    type: list
    elements: int
  exclude:
    description:
      - Entries to leave alone, whatever else selects them. All properties named here must hold for an entry to be left alone.
      - V(null) is as if it were left out.
      - An offloaded TCP connection shows no state; here it counts as being in any of O(exclude.tcp_states).
    type: dict
    suboptions:
      zones:
        description: As O(zones).
        type: list
        elements: str
      zone:
        description: Another name of O(exclude.zones).
        type: list
        elements: str
      family:
        description: As O(family).
        type: str
        choices: [any, ipv4, ipv6]
        default: any
      protocols:
        description: As O(protocols).
        type: list
        elements: str
      source:
        description: As O(source).
        type: list
        elements: str
      destination:
        description: As O(destination).
        type: list
        elements: str
      reply_source:
        description: As O(reply_source).
        type: list
        elements: str
      reply_destination:
        description: As O(reply_destination).
        type: list
        elements: str
      source_ports:
        description: As O(source_ports).
        type: list
        elements: str
      destination_ports:
        description: As O(destination_ports).
        type: list
        elements: str
      reply_source_ports:
        description: As O(reply_source_ports).
        type: list
        elements: str
      reply_destination_ports:
        description: As O(reply_destination_ports).
        type: list
        elements: str
      mark:
        description: As O(mark).
        type: str
      status:
        description: As O(status).
        type: list
        elements: str
      tcp_states:
        description: As O(tcp_states).
        type: list
        elements: str
      labels:
        description: As O(labels).
        type: list
        elements: int
"""
