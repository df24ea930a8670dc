#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: audit_facts
short_description: Gather all facts that the audit judges
author:
  - netstate maintainers (@netstate)
description:
  - Returns in one run the facts of M(netstate.kernel.conntrack_facts), M(netstate.kernel.netlink_socket_facts) and
    M(netstate.kernel.ipvs_facts), for the host and for any number of its network namespaces. Starting a module costs more than reading
    what it reads, so that this is several times cheaper than running them one after the other.
  - What cannot be read on a host is told in RV(ansible_facts.kernel_audit.problems), and the module succeeds. This includes a host without pyroute2,
    of which C(/proc) tells the settings, how full the table is, whether there is IPVS, and the netlink sockets.
  - Reads only and loads no kernel module. The capabilities of connection tracking are observed in a throw-away network namespace.
options:
  namespaces:
    description:
      - Shell patterns of named network namespaces to look into besides that of the module, such as V(qrouter-*). An empty one, one with blanks around it,
        and one with C(/), as no namespace can be named, are refused.
    type: list
    elements: str
    default: []
  namespaces_limit:
    description:
      - Look into this many of them at most, in the order of their names; V(0) for none.
    type: int
    default: 200
  limit:
    description:
      - How many processes with netlink sockets to list, besides a few that lose messages or are near to their limit of open files.
      - V(0) is for totals only. Rules that judge single processes then find none.
    type: int
    default: 10
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.facts_module
  - netstate.kernel.attributes.actiongroup_all
seealso:
  - module: netstate.kernel.audit_report
  - module: netstate.kernel.conntrack_facts
  - module: netstate.kernel.netlink_socket_facts
"""

EXAMPLES = r"""
- name: Gather what the audit judges, of the host and of its routers
  netstate.kernel.audit_facts:
    namespaces:
      - qrouter-*
  become: true
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to those of the host. A part that could not be read is missing.
  returned: always
  type: dict
  contains:
    conntrack:
      description: As M(netstate.kernel.conntrack_facts) returns it by default.
      returned: when it could be read
      type: dict
    ipvs:
      description: As M(netstate.kernel.ipvs_facts) returns it by default.
      returned: when it could be read
      type: dict
    netlink_sockets:
      description: As M(netstate.kernel.netlink_socket_facts) returns it.
      returned: when it could be read
      type: dict
    kernel_audit:
      description: The circumstances, and the namespaces.
      returned: always
      type: dict
      contains:
        gathered_at:
          description: When, in ISO 8601 (UTC).
          type: str
          returned: always
        kernel:
          description: The kernel release, as C(uname -r) prints it.
          type: str
          returned: always
        python:
          description: The version of the Python that ran.
          type: str
          returned: always
        pyroute2:
          description: Whether pyroute2 is there.
          type: bool
          returned: always
        uid:
          description: The user that the facts were read as.
          type: int
          returned: always
        uptime_seconds:
          description: Seconds since the kernel started.
          type: float
          returned: always
        problems:
          description:
            - Fact to C(reason) and C(text), for those that could not be read, or not whole. What the host does not have is no problem.
            - The reason is V(unexpected) for an error that has none; V(null) for an answer of the kernel that tells no more than the text.
          type: dict
          returned: always
        namespaces:
          description:
            - An entry for each namespace with its C(name), its C(problems), and C(conntrack) and C(ipvs), without the capabilities of connection
              tracking, which are those of the host.
            - A byte of a name that is no UTF-8 is written like C(\xff).
          type: list
          elements: dict
          returned: always
        namespaces_matched:
          description: How many namespaces the patterns cover, of which O(namespaces_limit) were looked into.
          type: int
          returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module
from ansible_collections.netstate.kernel.plugins.module_utils._audit import gather


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            namespaces=dict(type="list", elements="str", default=[]),
            namespaces_limit=dict(type="int", default=200),
            limit=dict(type="int", default=10),
        ),
        supports_check_mode=True,
    )

    def job() -> dict:
        params = module.params
        gather.check(params["namespaces"], params["namespaces_limit"], params["limit"])
        _module.has_pyroute2()
        return {"ansible_facts": gather.gather(params["namespaces"], params["namespaces_limit"], params["limit"])}

    _module.run(module, job)


if __name__ == "__main__":
    main()
