#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: conntrack_info
short_description: Read conntrack entries
author:
  - netstate maintainers (@netstate)
description:
  - Returns the connection tracking entries that the options select, with all that the kernel says of them.
  - The selection is that of M(netstate.kernel.conntrack_flush), so that one can look first at what a flush would delete; without any option that
    selects, it is the whole table.
  - Loads no kernel module and changes nothing.
options:
  limit:
    description:
      - Return at most this many entries. RV(matched) counts all.
    type: int
    default: 1000
  sort:
    description:
      - Which come first and, with O(limit), which are returned. V(timeout) is those that end soonest, V(packets) and V(bytes) those with the most of both
        directions, as far as the kernel counts them. V(none) is the order of the table, which means nothing.
    type: str
    choices: [none, timeout, packets, bytes]
    default: none
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.info_module
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.conntrack_selectors
  - netstate.kernel.netns
  - netstate.kernel.pyroute2
seealso:
  - module: netstate.kernel.conntrack_facts
  - module: netstate.kernel.conntrack_flush
"""

EXAMPLES = r"""
- name: Read the ten entries of a zone that carried most
  netstate.kernel.conntrack_info:
    zones: 5
    sort: bytes
    limit: 10
  become: true
  register: talkers

- name: Count the unreplied DNS queries, without their entries
  netstate.kernel.conntrack_info:
    protocols: udp
    destination_ports: 53
    status: '!SEEN_REPLY'
    limit: 0
  become: true
  register: unreplied
"""

RETURN = r"""
matched:
  description: How many entries are selected.
  returned: always
  type: int
entries:
  description: Of those, at most O(limit).
  returned: always
  type: list
  elements: dict
  contains:
    family:
      description: V(ipv4) or V(ipv6).
      type: str
      returned: always
    protocol:
      description: Layer 4 protocol, by name or number.
      type: str
      returned: always
    zone:
      description: Its zone.
      type: int
      returned: always
    zone_carrier:
      description: Where the zone holds, V(both) directions, V(original) or V(reply).
      type: str
      returned: always
    original:
      description:
        - The tuple of the original direction, C(source) and C(destination), and by protocol C(source_port) and C(destination_port),
          C(icmp_type), C(icmp_code) and C(icmp_id), or C(source_key) and C(destination_key) (GRE).
      type: dict
      returned: always
      sample: {source: 10.0.0.1, destination: 192.0.2.1, source_port: 40000, destination_port: 443}
    reply:
      description: The tuple of the reply direction.
      type: dict
      returned: always
    status:
      description: Names of the status bits that are set.
      type: list
      elements: str
      returned: always
    tcp_state:
      description: State of a TCP connection, V(null) for others and once offloaded.
      type: str
      returned: always
    sctp_state:
      description: State of an SCTP association.
      type: str
      returned: always
    sctp_tags:
      description: Its verification tags, C(original) and C(reply).
      type: dict
      returned: always
    dccp_state:
      description: State of a DCCP connection.
      type: str
      returned: always
    timeout:
      description: Seconds left, V(null) once offloaded.
      type: int
      returned: always
    mark:
      description: Its mark.
      type: int
      returned: always
    labels:
      description: Label bits that are set.
      type: list
      elements: int
      returned: always
    id:
      description: The kernel's id of the entry, as C(conntrack -L -o id) shows it.
      type: int
      returned: always
    helper:
      description: Name of its helper.
      type: str
      returned: always
    counters:
      description: C(packets) and C(bytes) for C(original) and C(reply), V(null) while the kernel keeps none.
      type: dict
      returned: always
    timestamps:
      description: C(start) and C(stop) in ISO 8601 (UTC), V(null) while the kernel keeps none.
      type: dict
      returned: always
    use:
      description: References the kernel holds to it.
      type: int
      returned: always
netns:
  description: The namespace that was asked for, V(null) for that of the module.
  returned: always
  type: str
unavailable_reason:
  description: Why there are no entries to be read (conntrack is not loaded, say); V(null) else.
  returned: always
  type: str
asked:
  description: What was being asked of the kernel.
  returned: on failure
  type: str
errno:
  description: The kernel's answer, by name.
  returned: on failure
  type: str
reason:
  description: The likely cause, such as V(not_permitted), V(no_zones), V(no_namespace), V(unreadable); V(null) if none is known.
  returned: on failure
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import info
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.options import ONE_NAME, selector_spec
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_query


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            limit=dict(type="int", default=1000),
            sort=dict(type="str", choices=["none", "timeout", "packets", "bytes"], default="none"),
            netns=dict(type="str"),
            **selector_spec(),
        ),
        mutually_exclusive=ONE_NAME,
        supports_check_mode=True,
    )
    params = module.params

    def job() -> dict:
        query = info.Query(parse_query(params), params["limit"], params["sort"])
        _module.require_pyroute2(module)
        return info.inspect(query, params["netns"])

    _module.run(module, job)


if __name__ == "__main__":
    main()
