#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ipvs_facts
short_description: Gather facts about a kernel's IPVS
version_added: 0.1.0
author:
  - netstate maintainers (@netstate)
description:
  - Returns, under RV(ansible_facts.ipvs), what the Linux Virtual Server of this kernel can do, how it is set and what it holds.
  - Loads no kernel module and changes nothing. Where ip_vs is not loaded it is not even asked for, as that would load it.
  - On a host without IPVS, or without the permission to read it, the facts say so and the module succeeds.
options:
  gather_subset:
    description:
      - What to gather, in the manner of P(ansible.builtin.setup#module), of V(capabilities), V(totals), V(settings), V(sysctls) and V(services).
      - V(services) returns the whole table, and is large where that is. See O(netstate.kernel.ipvs_services#module:state=gathered) for use outside of facts.
      - V(all) is all five, V(min) only the keys that are always there, and V(!) in front leaves a subset out. Exclusions alone start from the default.
    type: list
    elements: str
    default: [capabilities, totals, settings, sysctls]
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.facts_module
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.netns
  - netstate.kernel.pyroute2
seealso:
  - module: netstate.kernel.ipvs_services
  - module: netstate.kernel.ipvs_settings
"""

EXAMPLES = r"""
- name: Gather the IPVS facts
  netstate.kernel.ipvs_facts:
  become: true

- name: Show what goes badly together
  ansible.builtin.debug:
    msg: "{{ ansible_facts.ipvs.advice }}"
  when: ansible_facts.ipvs.available

- name: Gather the services with their connections and counters
  netstate.kernel.ipvs_facts:
    gather_subset:
      - min
      - services
  become: true
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to those of the host.
  returned: always
  type: dict
  contains:
    ipvs:
      description: What is known of IPVS.
      returned: always
      type: dict
      contains:
        available:
          description: Whether there is a table that can be read.
          returned: always
          type: bool
        reason:
          description: Why not, one of V(not_loaded), V(not_built), V(not_permitted); V(null) if there is.
          returned: always
          type: str
        reason_text:
          description: The same in words.
          returned: always
          type: str
        module:
          description: V(builtin), V(loaded), V(loadable) (installed, not loaded) or V(absent), of C(ip_vs).
          returned: always
          type: str
        kernel:
          description: The kernel release, as C(uname -r) prints it.
          returned: always
          type: str
          sample: 6.12.113
        netns:
          description: The namespace that was asked for, V(null) for that of the module.
          returned: always
          type: str
        gathered_at:
          description: When, in ISO 8601 (UTC).
          returned: always
          type: str
          sample: '2026-11-30T15:03:36Z'
        version:
          description: The version of IPVS.
          returned: when available
          type: str
          sample: 1.2.1
        connection_table_size:
          description: Buckets of the connection table. Since 7.1 it follows the number of connections, and is V(0) before the first service.
          returned: when available
          type: int
        capabilities:
          description: What this kernel can do.
          returned: when in O(gather_subset) and available
          type: dict
          contains:
            commands:
              description: The commands that the kernel offers.
              type: list
              elements: str
              returned: always
              sample: [new_service, set_service, del_service]
            bulk_dump:
              description: Whether services and destinations can be read in one dump, which no released kernel offers so far.
              type: bool
              returned: always
            ipv6:
              description: Whether services can be IPv6.
              type: bool
              returned: always
            counters_64bit:
              description: Whether counters have 64 bits; V(null) where there is no service to tell.
              type: bool
              returned: always
            schedulers:
              description: Schedulers that are C(usable), and those that are C(loadable).
              type: dict
              returned: always
              sample: {loadable: [mh], usable: [rr, wlc]}
            persistence_engines:
              description: The same for persistence engines.
              type: dict
              returned: always
              sample: {loadable: [sip], usable: []}
        totals:
          description: Sums over the table.
          returned: when in O(gather_subset) and available
          type: dict
          contains:
            services:
              description: Services.
              type: int
              returned: always
            destinations:
              description: Destinations.
              type: int
              returned: always
            by_protocol:
              description: Protocol, or V(fwmark), to services.
              type: dict
              returned: always
            by_family:
              description: Family to services.
              type: dict
              returned: always
            active_connections:
              description: Active connections.
              type: int
              returned: always
            inactive_connections:
              description: Inactive connections.
              type: int
              returned: always
            persistent_connections:
              description: Persistence templates.
              type: int
              returned: always
            destinations_weight_0:
              description: Destinations that get no new connections.
              type: int
              returned: always
        settings:
          description: What M(netstate.kernel.ipvs_settings) sets.
          returned: when in O(gather_subset) and available
          type: dict
          contains:
            timeouts:
              description: C(tcp), C(tcp_fin) and C(udp), in seconds.
              type: dict
              returned: always
            sync_daemons:
              description: Those that run, with C(role), C(interface), C(syncid), C(maxlen), C(group), C(port) and C(ttl).
              type: list
              elements: dict
              returned: always
        sysctls:
          description: The settings under C(net.ipv4.vs) of this namespace by name.
          returned: when in O(gather_subset) and C(ip_vs) is there
          type: dict
          sample: {conn_reuse_mode: 1, expire_nodest_conn: 0}
        advice:
          description:
            - Settings that go badly with what the table holds, at most one word on each.
            - That of C(conn_reuse_mode) depends on the kernel's release. It names the fix that it is about, which a distribution may have in an older release.
          returned: when C(sysctls) is in O(gather_subset) and available
          type: list
          elements: dict
          contains:
            sysctl:
              description: Its name.
              type: str
              returned: always
              sample: net.ipv4.vs.expire_nodest_conn
            value:
              description: Its value.
              type: int
              returned: always
            reason:
              description: What it does to which part of the table.
              type: str
              returned: always
        services:
          description:
            - All services in the form of O(netstate.kernel.ipvs_services#module:config), with C(statistics), and their destinations with C(statistics),
              C(active_connections), C(inactive_connections) and C(persistent_connections).
            - Counters start with the service or destination, or when they were last zeroed. The kernel adds them up every two seconds, and those
              C(_per_second) are its estimates.
          returned: when in O(gather_subset) and available
          type: list
          elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module, _subsets
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import facts


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
        return {"ansible_facts": {"ipvs": facts.gather(subsets, module.params["netns"])}}

    _module.run(module, job)


if __name__ == "__main__":
    main()
