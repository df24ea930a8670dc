# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The Ansible inventory of running guests, as YAML; pure."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import Any, Mapping, Sequence

from . import ssh
from .catalogue import Kernel
from .places import Places
from .state import Guest


def groups(kernel: Kernel) -> list[str]:
    """The groups a kernel belongs to: how it runs, its series, and what is true of it."""
    truth = kernel.truth
    return [
        kernel.runs.replace("-", "_"),
        "kernel_" + kernel.series.replace(".", "_"),
        "with_zones" if truth.zones else "without_zones",
        *([f"zone_filter_{truth.zone_filter}"] if truth.zones else []),
        *(["ipvs"] if truth.ipvs != "absent" else []),
        f"tuple_filter_ipv6_{truth.tuple_filter_ipv6}",
    ]


def host(places: Places, kernel: Kernel, guest: Guest) -> dict[str, Any]:
    """The variables of one guest."""
    return {
        "ansible_host": guest.address,
        "ansible_port": guest.port,
        "ansible_user": "root",
        "ansible_connection": "ssh",
        "ansible_ssh_private_key_file": str(places.key),
        "ansible_ssh_common_args": shlex.join(ssh.options(places)),
        # Guests of two labs have the same addresses: a master connection of one must not serve the other.
        "ansible_control_path_dir": str(places.control_sockets_of(kernel.name)),
        "ansible_ssh_retries": 2,
        "ansible_pipelining": True,
        "ansible_python_interpreter": guest.python,
        "ansible_remote_tmp": "/run/ansible",
        "lab_kernel": kernel.name,
        "lab_release": guest.release,
        "lab_truth": asdict(kernel.truth),
    }


def tree(places: Places, running: Sequence[tuple[Kernel, Guest]]) -> dict[str, Any]:
    """The inventory as nested mappings: every guest in `lab`, and in its groups below it."""
    children: dict[str, Any] = {}
    for kernel, _guest in running:
        for group in groups(kernel):
            children.setdefault(group, {"hosts": {}})["hosts"][kernel.name] = {}
    hosts = {kernel.name: host(places, kernel, guest) for kernel, guest in running}
    return {"all": {"children": {"lab": {"hosts": hosts, "children": dict(sorted(children.items()))}}}}


def yaml(value: Mapping[str, Any], depth: int = 0) -> str:
    """Nested mappings of scalars as YAML: every scalar and key is written as JSON, which YAML contains."""
    lines: list[str] = []
    for key, item in value.items():
        head = "  " * depth + json.dumps(key) + ":"
        if isinstance(item, Mapping) and item:
            lines.append(f"{head}\n{yaml(item, depth + 1)}")
        else:
            lines.append(f"{head} {json.dumps(item)}\n")
    return "".join(lines)
