# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs the module of the same name on the host, and lets through the facts that it gives and no others.

Ansible makes variables of facts, which outrank a role's defaults and the variables of groups: a host could set the controller's options.
"""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

FACTS = frozenset(["conntrack", "ipvs", "netlink_sockets", "kernel_audit"])


class ActionModule(ActionBase):
    """See the documentation of the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        result.update(self._execute_module(task_vars=task_vars))
        if "ansible_facts" in result:
            found = result["ansible_facts"]
            result["ansible_facts"] = {name: value for name, value in found.items() if name in FACTS} if isinstance(found, dict) else {}
        return result
