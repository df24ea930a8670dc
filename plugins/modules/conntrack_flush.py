#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: conntrack_flush
short_description: Flush conntrack entries, never more than was asked
author:
  - netstate maintainers (@netstate)
description:
  - Deletes the connection tracking entries that the options select, and tells how many there were and how many went.
  - Options narrow each other; the values of one option are alternatives, except for O(status) and O(labels).
  - The table is read first. Nothing selected in it means nothing to do. Selected entries are deleted one by one, by their own bytes, which is
    right on every kernel.
  - A whole zone is flushed by a single message only if the dump of that very zone proved that this kernel honours the zone filter. Kernels before 6.8
    ignore it, empty the whole table and report success.
  - Where conntrack is not loaded there is nothing to flush, and the task succeeds unchanged.
options:
  all:
    description:
      - Select the whole table of the namespace; the only way to do so.
      - Goes with O(exclude), and with no other option that selects.
    type: bool
    default: false
  max_entries:
    description:
      - Fail, and delete nothing, if more entries than this are selected.
      - With O(method=auto) entries then go one by one, so that no more can go than were counted. With O(method=kernel) the limit is one
        of what was counted.
    type: int
  method:
    description:
      - V(entries) deletes one by one.
      - V(kernel) flushes whole zones by one message each, and fails where that is not proven safe. It needs O(zones) or O(all), and nothing else
        that selects.
      - V(auto) takes the cheaper of those that are safe.
      - An entry that appears between the reading and the flush stays with V(entries) and goes with V(kernel).
    type: str
    choices: [auto, kernel, entries]
    default: auto
  recount:
    description:
      - Count the selected entries again afterwards, for RV(remaining). Traffic may have made new ones meanwhile.
    type: bool
    default: false
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.conntrack_selectors
  - netstate.kernel.netns
  - netstate.kernel.pyroute2
attributes:
  check_mode:
    support: full
    details:
      - Reads the same and returns the same RV(matched), with RV(deleted) 0.
      - Fails where there are entries and C(nf_conntrack_netlink), through which they are read, is installed but not loaded; a run would have the
        kernel load it.
  diff_mode:
    support: full
    details:
      - Shows the entries by zone and protocol, of the zones that hold selected entries and of the O(family) asked for, before and after.
  idempotent:
    support: full
    details:
      - Unless traffic makes new entries that are selected.
seealso:
  - module: netstate.kernel.conntrack_facts
  - module: netstate.kernel.conntrack_info
"""

EXAMPLES = r"""
- name: Flush two zones and a range
  netstate.kernel.conntrack_flush:
    zones:
      - 5
      - 7
      - 100-199
  become: true

- name: Forget the connections to a backend that was taken out
  netstate.kernel.conntrack_flush:
    reply_source: 10.20.0.17
    protocols: tcp
    reply_source_ports: 8443
  become: true

- name: Flush a router's namespace, but for what the gateway itself talks, and no more than expected
  netstate.kernel.conntrack_flush:
    all: true
    exclude:
      source: 203.0.113.1
    max_entries: 20000
    netns: qrouter-5a1c
  become: true

- name: See how many half-open connections a flush would take
  netstate.kernel.conntrack_flush:
    tcp_states:
      - SYN_SENT
      - SYN_RECV
    status: '!ASSURED'
  become: true
  check_mode: true
  register: half_open
"""

RETURN = r"""
matched:
  description: Selected entries that the table held.
  returned: always
  type: int
deleted:
  description:
    - Of those, how many went. V(0) in check mode.
    - With RV(method) V(kernel) the kernel gives no count, and this is how many it held when it was read.
  returned: always
  type: int
already_gone:
  description: Of those, how many had ended by themselves before their turn came.
  returned: always
  type: int
remaining:
  description: Selected entries afterwards, V(null) without O(recount) and in check mode.
  returned: always
  type: int
method:
  description: How, V(kernel), V(entries) (if any zone was done so) or V(none). In check mode how it would be.
  returned: always
  type: str
zones:
  description: A row for each zone that held selected entries or was asked for by its number, in ascending order.
  returned: always
  type: list
  elements: dict
  contains:
    zone:
      description: Its number.
      type: int
      returned: always
    matched:
      description: As RV(matched), of this zone.
      type: int
      returned: always
    deleted:
      description: As RV(deleted), of this zone.
      type: int
      returned: always
    already_gone:
      description: As RV(already_gone), of this zone.
      type: int
      returned: always
    method:
      description: As RV(method), of this zone.
      type: str
      returned: always
protocols:
  description: Protocol to selected entries.
  returned: always
  type: dict
  sample: {tcp: 900, udp: 100}
assured:
  description: How many of the selected entries were assured.
  returned: always
  type: int
proof:
  description: What the reading told of this kernel's zone filter.
  returned: always
  type: dict
  contains:
    filter:
      description: V(exact), V(ignored), V(zone_zero_unsafe), V(unsupported) or V(unknown); see M(netstate.kernel.conntrack_facts).
      type: str
      returned: always
    evidence:
      description: The observation, in words.
      type: str
      returned: always
      sample: a dump by zone 5 alone returned 1000 entries, all flagged NLM_F_DUMP_FILTERED and of that zone
netns:
  description: The namespace that was asked for, V(null) for that of the module.
  returned: always
  type: str
unavailable_reason:
  description: Why there was nothing that could be flushed (conntrack is not loaded, say); V(null) else.
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
  sample: EPERM
reason:
  description:
    - The likely cause, such as V(not_permitted), V(no_zones), V(no_namespace), V(unproven), V(too_many), V(unreadable); V(null) if none is known.
  returned: on failure
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.flush import Order, flush
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.options import ONE_NAME, selector_spec
from ansible_collections.netstate.kernel.plugins.module_utils._conntrack.selector import parse_selection


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            all=dict(type="bool", default=False),
            max_entries=dict(type="int"),
            method=dict(type="str", choices=["auto", "kernel", "entries"], default="auto"),
            recount=dict(type="bool", default=False),
            netns=dict(type="str"),
            **selector_spec(),
        ),
        mutually_exclusive=ONE_NAME,
        supports_check_mode=True,
    )
    params = module.params

    def job() -> dict:
        order = Order(
            selection=parse_selection(params),
            method=params["method"],
            most=params["max_entries"],
            recount=params["recount"],
            check=module.check_mode,
            diff=module._diff,
        )
        _module.require_pyroute2(module)
        return flush(order, params["netns"])

    _module.run(module, job)


if __name__ == "__main__":
    main()
