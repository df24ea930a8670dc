#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: conntrack_facts
short_description: Gather facts about a kernel's connection tracking
author:
  - netstate maintainers (@netstate)
description:
  - Returns as P(ansible.builtin.setup#module)-style facts what the connection tracking of this kernel can do, how full its table is and how it is
    set, under RV(ansible_facts.conntrack).
  - Capabilities are observed, not derived from the kernel's version, which proves nothing on distribution kernels. A few entries are made and flushed
    in a throw-away network namespace; where none may be made, the live table is read.
  - Loads no kernel module and changes nothing. On a host without conntrack, or without the permission to read it, the facts say so and the
    module succeeds.
options:
  gather_subset:
    description:
      - What to gather, in the manner of P(ansible.builtin.setup#module).
      - V(capabilities), V(table), V(statistics) and V(settings) cost little. V(zones) and V(protocols) walk the whole table,
        C(docs/benchmarks.md) says at what cost.
      - V(all) is all six, V(min) only the keys that are always there, and V(!) in front leaves a subset out. Exclusions alone start from the default.
      - What is named for itself is given whatever is left out, so that V(!all), V(table) is the table.
    type: list
    elements: str
    default: [capabilities, table, statistics, settings]
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.facts_module
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.netns
  - netstate.kernel.pyroute2
seealso:
  - module: netstate.kernel.conntrack_info
  - module: netstate.kernel.conntrack_flush
"""

EXAMPLES = r"""
- name: Gather the conntrack facts
  netstate.kernel.conntrack_facts:
  become: true

- name: Name hosts on which a zone flush by other tools would empty the whole table
  ansible.builtin.debug:
    msg: "{{ ansible_facts.conntrack.capabilities.evidence.zone_filter }}"
  when: ansible_facts.conntrack.capabilities.zone_filter in ['ignored', 'zone_zero_unsafe']

- name: Count the entries of each zone in a router's namespace
  netstate.kernel.conntrack_facts:
    gather_subset:
      - min
      - zones
    netns: qrouter-5a1c
  become: true
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to those of the host.
  returned: always
  type: dict
  contains:
    conntrack:
      description: What is known of connection tracking.
      returned: always
      type: dict
      contains:
        available:
          description:
            - Whether the table can be read. If not, there are no RV(ansible_facts.conntrack.table), RV(ansible_facts.conntrack.statistics),
              RV(ansible_facts.conntrack.zones) and RV(ansible_facts.conntrack.protocols), and the capabilities are unknown.
          returned: always
          type: bool
        reason:
          description: Why it cannot, one of V(not_loaded), V(not_built), V(not_permitted); V(null) if it can.
          returned: always
          type: str
        reason_text:
          description: The same in words, with what to do about it.
          returned: always
          type: str
        module:
          description:
            - V(builtin), V(loaded), V(loadable) (installed, not loaded) or V(absent), of the two modules the one that is less there.
          returned: always
          type: str
        modules:
          description: The same for C(nf_conntrack), which tracks, and C(nf_conntrack_netlink), through which the table is read.
          returned: always
          type: dict
        kernel:
          description: The kernel release, as C(uname -r) prints it.
          returned: always
          type: str
          sample: 6.12.117+deb13-amd64
        netns:
          description: The namespace that was asked for, V(null) for that of the module.
          returned: always
          type: str
        gathered_at:
          description: When, in ISO 8601 (UTC).
          returned: always
          type: str
          sample: '2026-11-30T15:03:36Z'
        capabilities:
          description: What was observed; V(null) (RV(ansible_facts.conntrack.capabilities.zone_filter) V(unknown)) where nothing could be.
          returned: when in O(gather_subset)
          type: dict
          contains:
            zones:
              description: Whether zones are built in.
              type: bool
              returned: always
            zone_filter:
              description:
                - What dumps and flushes by zone do. V(exact) works on the zone alone. V(ignored) works on all zones, so that a flush
                  empties the table and reports success. V(zone_zero_unsafe) takes zone 0 for every zone. V(unsupported) is a kernel without zones.
                  V(unknown) could not be observed.
              type: str
              returned: always
            status_filter:
              description: Whether a dump can be limited by status.
              type: bool
              returned: always
            tuple_filter_ipv6:
              description: Whether a filter by IPv6 address is V(right), V(inverted), V(ignored) or V(unsupported).
              type: str
              returned: always
            labels:
              description: Whether labels are built in.
              type: bool
              returned: always
            accounting:
              description: Whether entries made now count packets and bytes; V(null) where not built in.
              type: bool
              returned: always
            timestamps:
              description: Whether entries made now keep their start; V(null) where not built in.
              type: bool
              returned: always
            events:
              description: Events V(on), V(auto) (for entries made while somebody listens) or V(off); V(null) where not built in.
              type: str
              returned: always
            helpers:
              description: Helper to V(builtin), V(loaded), V(loadable) or V(absent).
              type: dict
              returned: always
            source:
              description: Where it was observed, V(throwaway_namespace), V(live_table) or V(none).
              type: str
              returned: always
            evidence:
              description: Capability to the observation, in words.
              type: dict
              returned: always
        table:
          description: How full the table is. Also where it cannot be read itself, as the settings tell it to everybody.
          returned: when in O(gather_subset) and C(nf_conntrack) is there
          type: dict
          contains:
            count:
              description: Entries in this namespace.
              type: int
              returned: always
            max:
              description: The most entries a namespace may hold, a setting of the whole host.
              type: int
              returned: always
            buckets:
              description: Buckets of the hash table that all namespaces share.
              type: int
              returned: always
            used_percent:
              description: Share of RV(ansible_facts.conntrack.table.max) in use, V(null) where that is unlimited.
              type: float
              returned: always
            max_per_bucket:
              description: Entries for each bucket when the table is full.
              type: float
              returned: always
            expectations:
              description: Expectations in this namespace, V(null) where the table cannot be read.
              type: int
              returned: always
            expectations_max:
              description: The most expectations a namespace may hold.
              type: int
              returned: always
        statistics:
          description:
            - The kernel's counters, summed over CPUs, by the kernel's names. Those that this kernel does not keep are not there.
            - They overlap, so that they must not be added to each other.
          returned: when in O(gather_subset) and available
          type: dict
          sample: {drop: 0, early_drop: 0, insert: 5, insert_failed: 0}
        settings:
          description: The C(net.netfilter.nf_conntrack_*) settings of this namespace by name, timeouts in seconds.
          returned: when in O(gather_subset) and C(nf_conntrack) is there
          type: dict
          sample: {nf_conntrack_tcp_timeout_established: 432000}
        zones:
          description: A row for each zone that holds entries, the largest first.
          returned: when in O(gather_subset) and available
          type: list
          elements: dict
          contains:
            zone:
              description: Its number.
              type: int
              returned: always
            entries:
              description: Its entries.
              type: int
              returned: always
            both:
              description: Those whose zone holds in both directions.
              type: int
              returned: always
            original:
              description: Those whose zone holds in the original direction only.
              type: int
              returned: always
            reply:
              description: Those whose zone holds in the reply direction only.
              type: int
              returned: always
            assured:
              description: Those that are assured, so that a full table does not evict them.
              type: int
              returned: always
            protocols:
              description: Protocol to entries.
              type: dict
              returned: always
        protocols:
          description: Family, then protocol, to C(entries), and for TCP to C(states).
          returned: when in O(gather_subset) and available
          type: dict
          sample: {ipv4: {tcp: {entries: 3, states: {ESTABLISHED: 3}}}}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module, _subsets
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import facts


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            gather_subset=dict(type="list", elements="str", default=list(facts.DEFAULT)),
            netns=dict(type="str"),
        ),
        supports_check_mode=True,
    )

    def job() -> dict:
        subsets = _subsets.parse(module.params["gather_subset"], facts.SUBSETS, facts.DEFAULT)
        _module.require_pyroute2(module)
        return {"ansible_facts": {"conntrack": facts.gather(subsets, module.params["netns"])}}

    _module.run(module, job)


if __name__ == "__main__":
    main()
