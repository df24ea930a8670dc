#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ipvs_settings
short_description: Set the timeouts and sync daemons of IPVS
version_added: 0.1.0
author:
  - netstate maintainers (@netstate)
description:
  - Sets how long IPVS keeps connections, and runs or stops the daemons that tell them to another director.
  - What is left out stays as it is. What was changed is read back.
options:
  timeouts:
    description: Seconds that connections are kept.
    type: dict
    suboptions:
      tcp:
        description: TCP.
        type: int
      tcp_fin:
        description: TCP after a FIN.
        type: int
      udp:
        description: UDP.
        type: int
  master:
    description: The sync daemon that sends. Left out, it stays as it is.
    type: dict
    suboptions:
      state:
        description: Whether it runs.
        type: str
        choices: [present, absent]
        default: present
      interface:
        description: Interface for the multicast, with O(master.state=present).
        type: str
      syncid:
        description: Sync id, by default V(0).
        type: int
      maxlen:
        description: Bytes of a message, by default from the interface's MTU.
        type: int
      group:
        description: Multicast group, IPv4 or IPv6, by default V(224.0.0.81).
        type: str
      port:
        description: UDP port, by default V(8848).
        type: int
      ttl:
        description: Time to live, by default V(1).
        type: int
  backup:
    description: The sync daemon that receives. Left out, it stays as it is.
    type: dict
    suboptions:
      state:
        description: Whether it runs.
        type: str
        choices: [present, absent]
        default: present
      interface:
        description: Interface for the multicast, with O(backup.state=present).
        type: str
      syncid:
        description: Sync id, by default V(0). With V(0) it takes messages of any.
        type: int
      maxlen:
        description: Bytes of a message, by default from the interface's MTU. At least 1024.
        type: int
      group:
        description: Multicast group, IPv4 or IPv6, by default V(224.0.0.81).
        type: str
      port:
        description: UDP port, by default V(8848).
        type: int
      ttl:
        description: Time to live, by default V(1).
        type: int
  load_modules:
    description: Let the kernel load C(ip_vs) where something is to be set or run.
    type: bool
    default: true
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.netns
  - netstate.kernel.pyroute2
attributes:
  check_mode:
    support: full
    details:
      - Values that were left out, of a daemon that does not run yet, are not known before it does.
  diff_mode:
    support: full
  idempotent:
    support: full
notes:
  - A daemon that runs with other values is stopped and started.
seealso:
  - module: netstate.kernel.ipvs_facts
  - module: netstate.kernel.ipvs_services
"""

EXAMPLES = r"""
- name: Keep idle TCP connections for an hour, and tell them to the other director
  netstate.kernel.ipvs_settings:
    timeouts:
      tcp: 3600
    master:
      interface: eth1
      syncid: 7
    backup:
      state: absent
  become: true
"""

RETURN = r"""
before:
  description: C(timeouts), C(master) and C(backup) as they were, in the form of the options.
  returned: always
  type: dict
  sample:
    timeouts: {tcp: 900, tcp_fin: 120, udp: 300}
    master: {state: absent}
    backup: {state: absent}
after:
  description: The same as they are now, read from the kernel. In check mode as they would be.
  returned: always
  type: dict
commands:
  description: Each step as arguments of ipvsadm, in order.
  returned: always
  type: list
  elements: str
  sample: ['--set 3600 0 0', '--start-daemon master --mcast-interface eth1 --syncid 7']
unavailable_reason:
  description: Why nothing can be set (ip_vs is not loaded, say); V(null) else.
  returned: always
  type: str
netns:
  description: The namespace that was asked for, V(null) for that of the module.
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
  sample: ENODEV
reason:
  description:
    - The likely cause, such as V(not_permitted), V(not_loaded), V(not_built), V(no_interface), V(no_namespace), V(refused), V(not_settled);
      V(null) if none is known.
  returned: on failure
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import settings


def _daemon_spec() -> dict:
    return dict(
        state=dict(type="str", choices=["present", "absent"], default="present"),
        interface=dict(type="str"),
        syncid=dict(type="int"),
        maxlen=dict(type="int"),
        group=dict(type="str"),
        port=dict(type="int"),
        ttl=dict(type="int"),
    )


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            timeouts=dict(
                type="dict",
                options=dict(tcp=dict(type="int"), tcp_fin=dict(type="int"), udp=dict(type="int")),
            ),
            master=dict(type="dict", options=_daemon_spec()),
            backup=dict(type="dict", options=_daemon_spec()),
            load_modules=dict(type="bool", default=True),
            netns=dict(type="str"),
        ),
        supports_check_mode=True,
    )
    params = module.params

    def job() -> dict:
        wanted = settings.parse(params)
        _module.require_pyroute2(module)
        result = settings.reconcile(wanted, params["netns"], module.check_mode, params["load_modules"])
        if not module._diff:
            del result["diff"]
        return dict(result, netns=params["netns"])

    _module.run(module, job)


if __name__ == "__main__":
    main()
