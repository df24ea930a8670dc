# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a host's answer reaches the controller's variables and ansible-core."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.netstate.kernel.plugins.action import audit_facts

ANSWERS: list[tuple[dict[str, t.Any], dict[str, t.Any]]] = [
    ({"changed": False, "ansible_facts": {"ipvs": {}, "audit_title": "x"}}, {"changed": False, "ansible_facts": {"ipvs": {}}}),
    ({"ansible_facts": 5}, {"ansible_facts": {}}),
    ({"ansible_facts": None, "failed": True, "msg": "why"}, {"ansible_facts": {}, "failed": True, "msg": "why"}),
    ({"rc": 127, "module_stdout": "", "module_stderr": "not found"}, {"rc": 127, "module_stdout": "", "module_stderr": "not found"}),
    ({"failed": True, "option": "limit", "warnings": ["x"]}, {"failed": True, "option": "limit", "warnings": ["x"]}),
    ({"_ansible_parsed": True, "ansible_stats": 5, "add_host": {}, "results": 5, "diff": 5, "skipped": True}, {"_ansible_parsed": True}),
]


@pytest.mark.parametrize("returned, told", ANSWERS)
def test_told(returned: dict[str, t.Any], told: dict[str, t.Any]) -> None:
    assert audit_facts.told(returned) == told
