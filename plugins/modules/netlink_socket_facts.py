#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: netlink_socket_facts
short_description: Gather facts about the holders of netlink sockets
author:
  - netstate maintainers (@netstate)
description:
  - Returns as P(ansible.builtin.setup#module)-style facts which processes hold how many netlink sockets, how near they are to their limit of open
    files, and what they lost, under RV(ansible_facts.netlink_sockets).
  - Sockets are matched to processes by inode, through C(/proc/PID/fd). The column C(Pid) of C(/proc/net/netlink) is a port id and proves nothing.
  - For each running C(ovs-vswitchd) the facts tell how it takes packets from its kernel datapath. It is asked over its control socket, and what
    it holds is counted.
  - Reads C(/proc) only, loads no kernel module and needs no Python library. Without root only one's own processes can be read; the others are counted as
    such.
options:
  limit:
    description:
      - How many processes to list, those with the most sockets first. The totals cover all.
      - Up to five more are listed for the messages that they lost, and up to five more, with 64 sockets or above, for being nearest to their limit of
        open files.
      - V(0) lists none at all. RV(ansible_facts.netlink_sockets.totals.most_drops) and RV(ansible_facts.netlink_sockets.totals.most_used_percent)
        tell nevertheless whether there is one to look for.
    type: int
    default: 10
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.facts_module
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.netns
seealso:
  - module: netstate.kernel.conntrack_facts
"""

EXAMPLES = r"""
- name: Gather the netlink socket facts
  netstate.kernel.netlink_socket_facts:
  become: true

- name: Name the process that holds the most netlink sockets
  ansible.builtin.debug:
    msg: "{{ ansible_facts['netlink_sockets'].processes | first | default('none') }}"

- name: Name hosts whose Open vSwitch holds a socket for each port and handler thread
  ansible.builtin.debug:
    msg: "{{ item.evidence }}"
  loop: "{{ ansible_facts['netlink_sockets'].openvswitch }}"
  when: item.upcall_mode == 'per_port_and_handler'
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to those of the host.
  returned: always
  type: dict
  contains:
    netlink_sockets:
      description: What is known of netlink sockets.
      returned: always
      type: dict
      contains:
        available:
          description: Whether the list of sockets can be read. If not, there are no totals, processes and Open vSwitch.
          returned: always
          type: bool
        reason:
          description:
            - V(unreadable) if it cannot.
            - If it can, but not all processes that hold them, V(hidden) where C(/proc) is mounted with C(hidepid), and V(not_permitted) where sockets
              have no known owner and processes may not be read. The totals are right nevertheless.
            - Else V(null).
          returned: always
          type: str
        reason_text:
          description: The same in words.
          returned: always
          type: str
        kernel:
          description: The kernel release, as C(uname -r) prints it.
          returned: always
          type: str
        netns:
          description: The namespace that was asked for, V(null) for that of the module.
          returned: always
          type: str
        gathered_at:
          description: When, in ISO 8601 (UTC).
          returned: always
          type: str
        epoll_exclusive:
          description: Whether the kernel's release (4.5 or later) can wake a single one of the threads that wait for a socket.
          returned: always
          type: bool
        totals:
          description: Sums over the namespace.
          returned: when available
          type: dict
          contains:
            sockets:
              description: All netlink sockets.
              type: int
              returned: always
            held:
              description: Those that were found with a process. A socket that several processes hold counts once.
              type: int
              returned: always
            kernel:
              description: Those with port id 0 that were found with no process, which is what the kernel's own ones are like.
              type: int
              returned: always
            unmatched:
              description: Those of processes that were not seen, because they may not be read or live in another PID namespace.
              type: int
              returned: always
            protocols:
              description: Netlink protocol to sockets.
              type: dict
              returned: always
              sample: {generic: 12, netfilter: 2, route: 9}
            receive_queue_bytes:
              description: Bytes that wait to be read.
              type: int
              returned: always
            drops:
              description: Messages that were lost because a receive queue was full, over the life of the sockets.
              type: int
              returned: always
            most_drops:
              description: The most that a single process lost, whether it is listed or not.
              type: int
              returned: always
            most_used_percent:
              description: The highest share of open files of a process with 64 sockets or above, listed or not. V(null) if there is no such process.
              type: float
              returned: always
            holders:
              description: Processes that hold at least one.
              type: int
              returned: always
            processes:
              description: All processes.
              type: int
              returned: always
            unreadable_processes:
              description: Those whose open files may not be read.
              type: int
              returned: always
        processes:
          description: The processes that hold the most, those with most sockets first, and a few that are in trouble with fewer, as O(limit) tells.
          returned: when available
          type: list
          elements: dict
          contains:
            pid:
              description: Process id.
              type: int
              returned: always
            command:
              description: The kernel's name of the process, at most 15 bytes. One that is no UTF-8 is written like C(\xff).
              type: str
              returned: always
            sockets:
              description: Its netlink sockets in this namespace.
              type: int
              returned: always
            protocols:
              description: Netlink protocol to sockets.
              type: dict
              returned: always
            receive_queue_bytes:
              description: Bytes that wait for it.
              type: int
              returned: always
            drops:
              description: Messages that it lost.
              type: int
              returned: always
            open_files:
              description: Its open file descriptors of any kind.
              type: int
              returned: always
            soft_limit:
              description: The limit of open files that it has, V(null) for none.
              type: int
              returned: always
            hard_limit:
              description: The limit that it may raise the former to, V(null) for none.
              type: int
              returned: always
            used_percent:
              description: Share of the soft limit in use, V(null) without a limit.
              type: float
              returned: always
        openvswitch_left_out:
          description: How many more C(ovs-vswitchd) there are.
          returned: when available
          type: int
        openvswitch:
          description:
            - An entry for each running C(ovs-vswitchd), whatever its namespace; its sockets are those of its own namespace.
            - Any process can call itself so. Those of root and of the user C(openvswitch) come first, at most eight are asked, and they have three
              seconds together to answer.
          returned: when available
          type: list
          elements: dict
          contains:
            pid:
              description: Process id.
              type: int
              returned: always
            version:
              description: What it answered on its control socket, V(null) when it did not.
              type: str
              returned: always
              sample: 3.1.0
            datapaths:
              description: Its datapaths with C(name) and number of C(ports).
              type: list
              elements: dict
              returned: always
              sample: [{name: system@ovs-system, ports: 12}]
            ports:
              description: Ports of its kernel datapaths together, V(null) when it did not say.
              type: int
              returned: always
            handlers:
              description: Threads that handle upcalls.
              type: int
              returned: always
            revalidators:
              description: Threads that revalidate flows.
              type: int
              returned: always
            generic_sockets:
              description: Generic netlink sockets that it holds, V(null) when its open files may not be read.
              type: int
              returned: always
            upcall_mode:
              description:
                - V(per_cpu) is a socket for each handler thread, V(per_port) one for each port, V(per_port_and_handler) one for each port and handler
                  thread. V(none) has no kernel datapath. V(unknown) could not be told.
              type: str
              returned: always
            evidence:
              description: What that was told by, in words.
              type: str
              returned: always
            problems:
              description: Questions that the daemon did not answer, and why. Releases before 2.16 do not know C(dpif-netlink/dispatch-mode).
              type: list
              elements: str
              returned: always
            open_files:
              description: Its open file descriptors of any kind.
              type: int
              returned: always
            soft_limit:
              description: Its limit of open files, V(null) for none.
              type: int
              returned: always
            hard_limit:
              description: The limit that it may raise the former to, V(null) for none.
              type: int
              returned: always
            used_percent:
              description: Share of the soft limit in use.
              type: float
              returned: always
            projected:
              description: Its need of sockets and files; V(null) when its ports or open files are not known.
              type: dict
              returned: always
              contains:
                sockets:
                  description: Sockets for upcalls in its mode, V(null) when that is not known.
                  type: int
                  returned: always
                open_files:
                  description: Those, and its other open files.
                  type: int
                  returned: always
                used_percent:
                  description: The share of the soft limit that this is.
                  type: float
                  returned: always
                per_port_and_handler_sockets:
                  description: Ports times handler threads, the need of the oldest mode.
                  type: int
                  returned: always
                per_port_and_handler_open_files:
                  description: Those, and its other open files.
                  type: int
                  returned: always
                per_port_and_handler_used_percent:
                  description: The share of the soft limit that this is.
                  type: float
                  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import facts


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            limit=dict(type="int", default=facts.LIMIT),
            netns=dict(type="str"),
        ),
        supports_check_mode=True,
    )

    def job() -> dict:
        limit = module.params["limit"]
        if limit < 0:
            raise OptionError("limit", limit, "give a number of processes, 0 for totals only")
        return {"ansible_facts": {"netlink_sockets": facts.gather(limit, module.params["netns"])}}

    _module.run(module, job)


if __name__ == "__main__":
    main()
