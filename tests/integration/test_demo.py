# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``make demo`` runs: it passes, fails where something is wrong, and leaves nothing in either case."""

from __future__ import annotations

import re
import subprocess
import typing as t

import network_namespace
import pytest

if t.TYPE_CHECKING:
    from ansible_run import Ansible


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--extra-vars", '{"demo_zone": 50, "demo_each": 20}'], 2),  # a zone that holds nothing: its counts are not what they should be
    ],
    ids=["passes", "fails"],
)
def test_demo(needs_conntrack: None, ansible: Ansible, arguments: list[str], status: int) -> None:
    shown = ansible.command("ansible-playbook", "-v", "playbooks/demo.yml", *arguments, status=status).stdout
    (name,) = set(re.findall(r"nsk-demo-\d+", shown))
    assert name not in network_namespace.names()
    if not status:
        for said in ("zone 30: 1000 entries (700 tcp, 300 udp)", "matched: 1000, deleted: 0", "matched: 1000, deleted: 1000", "matched: 0, deleted: 0"):
            assert said in shown


def test_not_root(ansible: Ansible) -> None:
    """A user namespace without a mapping makes nobody of root, who may still read the clone."""
    enter = ["unshare", "--user"]
    if subprocess.run([*enter, "true"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("user namespaces cannot be made here")
    done = ansible.command("ansible-playbook", "playbooks/demo.yml", inside=enter, status=2)
    assert "The demo needs root, as connection tracking does: sudo make demo" in done.stdout + done.stderr
    assert "nsk-demo" not in done.stdout
