# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter that writes ipvsadm's text on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ipvs_rules_render
short_description: Write the config of ipvs_services as the text of ipvsadm -Sn
version_added: 0.1.0
author:
  - netstate maintainers (@netstate)
description:
  - Writes services in the form of O(netstate.kernel.ipvs_services#module:config) as lines that C(ipvsadm-restore) and
    P(netstate.kernel.ipvs_rules_parse#filter) read.
  - The lines are sorted and in the form that C(ipvsadm -Sn) has, which leaves thresholds out; here they are said by C(-x) and C(-y).
options:
  _input:
    description: Services.
    type: list
    elements: dict
    required: true
  dialect:
    description:
      - V(lossless) says everything.
      - V(ipvsadm) fails for what C(ipvsadm) 1.31 would not read back, such as a threshold above 65535, or the port of a destination by V(direct)
        or V(tunnel) that is not that of its service.
    type: str
    choices: [lossless, ipvsadm]
    default: lossless
seealso:
  - module: netstate.kernel.ipvs_services
  - plugin: netstate.kernel.ipvs_rules_parse
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Keep the services for the next boot
  ansible.builtin.copy:
    content: "{{ director_services | netstate.kernel.ipvs_rules_render(dialect='ipvsadm') }}"
    dest: /etc/ipvsadm.rules
    mode: "0644"
  become: true
"""

RETURN = r"""
_value:
  description: Lines, C(-A) for each service and C(-a) for each of its destinations.
  type: str
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import config, rules
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.wording import RulesError
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError


def ipvs_rules_render(services, dialect=rules.LOSSLESS):
    """See DOCUMENTATION."""
    if dialect not in rules.DIALECTS:
        raise AnsibleFilterError("ipvs_rules_render: dialect: '{}': give one of {}".format(dialect, ", ".join(rules.DIALECTS)))
    if isinstance(services, (str, bytes)) or not hasattr(services, "__iter__"):
        raise AnsibleFilterError(f"ipvs_rules_render writes a list of services, not {type(services).__name__}")
    try:
        return rules.render(config.table(config.parse(list(services))), dialect)
    except (OptionError, RulesError) as error:
        raise AnsibleFilterError(f"ipvs_rules_render: {error}") from error


class FilterModule:
    """For Ansible to find the filter."""

    def filters(self):
        return {"ipvs_rules_render": ipvs_rules_render}
