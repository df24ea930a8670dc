# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs the module of the same name on the host, and lets through the facts that it gives and no others, and of the rest what tells how it went.

Ansible makes variables of facts, which outrank a role's defaults and the variables of groups: a host could set the controller's options. Other keys of a result
mean something to ansible-core too, which some releases do not survive when the value is odd (``ansible_stats``).
"""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

FACTS = frozenset(["conntrack", "ipvs", "netlink_sockets", "kernel_audit"])
KEYS = frozenset(
    ["changed", "failed", "unreachable", "msg", "rc", "exception", "module_stdout", "module_stderr", "warnings", "deprecations", "invocation", "option"]
)


class ActionModule(ActionBase):
    """See the documentation of the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        result.update(told(self._execute_module(task_vars=task_vars)))
        return result


def told(returned: dict[str, t.Any]) -> dict[str, t.Any]:
    """What is let through of what came from the host. Keys that begin with an underscore are ansible-core's own; it takes a host's away."""
    kept = {name: value for name, value in returned.items() if name in KEYS or name.startswith("_ansible_")}
    if "ansible_facts" in returned:
        facts = returned["ansible_facts"]
        kept["ansible_facts"] = {name: value for name, value in facts.items() if name in FACTS} if isinstance(facts, dict) else {}
    return kept
