# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter that reads ipvsadm's text on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ipvs_rules_parse
short_description: Read the text of ipvsadm -S as the config of ipvs_services
version_added: 0.1.0
author:
  - netstate maintainers (@netstate)
description:
  - Reads what C(ipvsadm -S) and C(ipvsadm -Sn) print, and the files that people keep for C(ipvsadm-restore), into the form of
    O(netstate.kernel.ipvs_services#module:config).
  - Reads the text of C(/proc/net/ip_vs) as well, which leaves out thresholds, tunnels, scheduler flags and persistence engines.
  - Comments, an C(ipvsadm) in front, long and short options, bracketed IPv6 addresses, destinations without a port, C(-p) without a value and
    negative fwmarks are understood. Any other word is refused, with its line.
options:
  _input:
    description: The text.
    type: str
    required: true
  resolve_names:
    description:
      - Resolve names of services and hosts, by the databases of the controller. Otherwise they are refused.
    type: bool
    default: false
  hz:
    description:
      - Ticks a second of the kernel that printed C(/proc/net/ip_vs) (C(CONFIG_HZ)). Needed where a service in it is persistent, as the time is told in ticks.
    type: int
seealso:
  - module: netstate.kernel.ipvs_services
  - plugin: netstate.kernel.ipvs_rules_render
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Take over what a file for ipvsadm-restore says
  netstate.kernel.ipvs_services:
    config: "{{ lookup('ansible.builtin.file', 'ipvsadm.rules') | netstate.kernel.ipvs_rules_parse }}"
    state: overridden
    scope:
      all: true
  become: true
"""

RETURN = r"""
_value:
  description: Services, in the form of O(netstate.kernel.ipvs_services#module:config), sorted.
  type: list
  elements: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import names, rules
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.wording import RulesError
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError


def ipvs_rules_parse(text, resolve_names=False, hz=None):
    """See DOCUMENTATION."""
    if not isinstance(text, str):
        raise AnsibleFilterError(f"ipvs_rules_parse reads a text, not {type(text).__name__}")
    try:
        return rules.parse(text, names.SYSTEM if resolve_names else None, hz)
    except (OptionError, RulesError) as error:
        raise AnsibleFilterError(f"ipvs_rules_parse: {error}") from error


class FilterModule:
    """For Ansible to find the filter."""

    def filters(self):
        return {"ipvs_rules_parse": ipvs_rules_parse}
