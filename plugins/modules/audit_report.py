#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

# The work is done on the controller, in plugins/action/audit_report.py.

from __future__ import annotations

DOCUMENTATION = r"""
module: audit_report
short_description: Judge the facts of hosts and write a report
author:
  - netstate maintainers (@netstate)
description:
  - Judges by rules what M(netstate.kernel.audit_facts) gathered on a fleet, and writes the report on the controller. Connects to no host.
  - The role P(netstate.kernel.audit#role) uses it and has the rules and templates.
  - What comes from hosts is data. It is never templated, and is escaped in each format.
options:
  hosts:
    description:
      - The hosts of the report.
    type: list
    elements: str
    required: true
  asked:
    description:
      - Those of O(hosts) that were asked, as are all when it is left out. The others appear as not asked, whatever results of earlier they have.
    type: list
    elements: str
  results:
    description:
      - The registered variables of each host with results of M(netstate.kernel.audit_facts), of which the first is taken, or, where that failed, the next.
        A host without any appears as failed, one whose result says that it is unreachable as unreachable.
    type: list
    elements: str
    default: [audit_gathered]
  dest:
    description:
      - The folder to write to, on the controller. Made if missing. Files are written for their owner alone.
    type: path
    required: true
  formats:
    description:
      - What to write, each as C(report.FORMAT). At least one.
    type: list
    elements: str
    choices: [html, json, csv, md]
    default: [html, json, csv, md]
  rules:
    description:
      - Files of rules, on the controller, in UTF-8. A rule of a later file changes the keys that it names of a rule with the same id, or is added. In one
        file an id is there once.
    type: list
    elements: path
    required: true
  disabled:
    description:
      - Ids of rules to leave out.
    type: list
    elements: str
    default: []
  thresholds:
    description:
      - Values for the rules, which know them as C(thresholds). Numbers, or lists or mappings of them.
    type: dict
    default: {}
  templates:
    description:
      - The folder with the templates C(report.FORMAT.j2), on the controller.
    type: path
    required: true
  compare:
    description:
      - An earlier C(report.json) to compare with. It may be one that is about to be replaced.
    type: path
  title:
    description:
      - The title of the report.
    type: str
    default: Fleet audit
  namespaces_limit:
    description:
      - How many namespaces each host was asked for. One that returns more of them appears as failed.
    type: int
  fail_on:
    description:
      - Fail after the report was written when there are findings of this severity or above.
    type: str
    choices: [never, critical, high, medium, low, info]
    default: never
  check_only:
    description:
      - Only look at the other options, the files that they name, and whether O(dest) may be written to, and fail if one is wrong. So a play can find out
        before it asks the first host. Nothing is judged, written or changed.
    type: bool
    default: false
extends_documentation_fragment:
  - netstate.kernel.attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode everything is judged and rendered, and nothing written. C(changed) is as without, and RV(msg) says that it would be written.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Each report carries the time it was made.
  action:
    description: Runs on the controller.
    support: full
notes:
  - Run it once for all hosts, with C(run_once).
seealso:
  - module: netstate.kernel.audit_facts
"""

EXAMPLES = r"""
- name: Gather
  netstate.kernel.audit_facts:
  become: true
  ignore_unreachable: true
  register: audit_gathered

- name: Write the report
  netstate.kernel.audit_report:
    hosts: "{{ ansible_play_hosts_all }}"
    dest: audit-report
    rules:
      - my-rules.yml
    templates: my-templates
  run_once: true
"""

RETURN = r"""
files:
  description: Format to path. In check mode, of what would be written.
  returned: success, without O(check_only)
  type: dict
  sample: {html: /home/me/audit-report/report.html}
msg:
  description: What was written, or would be in check mode.
  returned: success, without O(check_only)
  type: str
  sample: "Report written: /home/me/audit-report/report.html"
summary:
  description: Hosts by status, findings by severity, as in C(report.json).
  returned: success, without O(check_only)
  type: dict
  sample: {hosts: 3, statuses: {audited: 3, failed: 0, partial: 0, unreachable: 0}}
"""
