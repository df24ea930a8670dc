# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet for the audit: guests with different kernels that are up together, in a lab of its own, made into what an operator meets.

Beside guests as they boot: one without connection tracking, one that cannot list it, one that is switched off, an ordinary user, a Python without
pyroute2, tables that fill up, IPVS services, and this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pyroute2
import yaml

CLONE = Path(__file__).resolve().parents[3]
LAB = CLONE / "tests" / "kernels" / "lab"
IMPOSSIBLE = 3  # the lab's exit status for what this machine cannot do

# As they boot, but for what follows.
PLAIN = ("uml-5.10", "built-6.12-half", "qemu-6.1")
FULL, FILLING = "built-6.12", "built-6.1"  # the latter also has IPVS services
UNTRACKED, UNREADABLE, OFF = "uml-7.2", "uml-6.12", "uml-6.1"
GUESTS = (*PLAIN, FULL, FILLING, UNTRACKED, UNREADABLE, OFF)
TRUE_TO_CATALOGUE = (*PLAIN, FULL, FILLING)

MACHINE, USER, BARE = "this-machine", f"{FULL}-user", f"{FILLING}-without-pyroute2"

LIMIT = 200
ENTRIES = {FULL: 193, FILLING: 165}
USED_PERCENT = {FULL: 96.5, FILLING: 82.5}
SERVICES, DESTINATIONS = 2, 3

_FILL = """
sysctl -qw net.netfilter.nf_conntrack_max={limit}
i=0; while [ $i -lt {entries} ]; do
    i=$((i + 1)); conntrack -I -s 192.0.2.1 -d 192.0.2.2 -p tcp --sport $i --dport 80 --state ESTABLISHED -t 7200 > /dev/null 2>&1 || exit 1
done"""
_IPVS = """
ipvsadm -A -t 192.0.2.10:80 -s wrr && ipvsadm -a -t 192.0.2.10:80 -r 192.0.2.11 -g && ipvsadm -a -t 192.0.2.10:80 -r 192.0.2.12 -g &&
ipvsadm -A -u 192.0.2.10:53 -s rr && ipvsadm -a -u 192.0.2.10:53 -r 192.0.2.11 -g"""
# Another Python than the guest's own, whose folder root alone may enter.
_USER = """
echo 'operator:x:1000:1000::/run/operator:/bin/sh' >> /etc/passwd &&
mkdir -p /run/operator/.ssh && cp /run/home/.ssh/authorized_keys /run/operator/.ssh/ && cp -r {pyroute2} /run/operator/ &&
printf '#!/bin/sh\\nPYTHONPATH=/run/operator exec /usr/bin/python3 "$@"\\n' > /run/operator/python && chmod 755 /run/operator/python &&
chown -R 1000:1000 /run/operator && chmod 700 /run/operator/.ssh"""
_BARE = """
mkdir -p /run/bare/pyroute2 && echo 'raise ImportError("hidden")' > /run/bare/pyroute2/__init__.py &&
printf '#!/bin/sh\\nPYTHONPATH=/run/bare exec %s "$@"\\n' {python} > /run/bare/python && chmod 755 /run/bare/python"""


class Impossible(Exception):
    """This machine cannot have the guests; why."""


class MixedFleet:
    """:param folder: for the inventory"""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "NETSTATE_LAB": f"audit-{os.getpid()}", "NETSTATE_LAB_PYTHON": sys.executable}
        # Ends the lab when this process ends, however it ends: the pipe closes with it.
        line = 'cat > /dev/null; exec "$0" "$1" down'
        self._guard = subprocess.Popen(["sh", "-c", line, sys.executable, str(LAB)], stdin=subprocess.PIPE, env=self._environment, start_new_session=True)

    def start(self) -> None:
        """Boots the guests and makes them what they are to be."""
        self._lab("up", *GUESTS)
        for name, entries in ENTRIES.items():
            self.run(name, _FILL.format(limit=LIMIT, entries=entries))
        self.run(FILLING, _IPVS)
        self.run(FULL, _USER.format(pyroute2=Path(pyroute2.__file__).parent))
        self.run(FILLING, _BARE.format(python=sys.executable))
        self.run(UNREADABLE, "rmmod nf_conntrack_netlink")
        self.run(UNTRACKED, "rmmod nf_conntrack_netlink && rmmod nf_conntrack")
        self.hosts = self._hosts()
        self._lab("down", OFF)

    def run(self, name: str, line: str) -> str:
        """What the guest's shell prints."""
        return self._lab("run", name, "--", line)

    def inventory(self) -> Path:
        path = self._folder / "hosts.json"
        path.write_text(json.dumps({"all": {"hosts": self.hosts}}), encoding="utf-8")
        return path

    def close(self) -> None:
        assert self._guard.stdin
        self._guard.stdin.close()
        assert self._guard.wait(120) == 0, "the lab could not be taken down"

    def _hosts(self) -> dict[str, dict[str, t.Any]]:
        guests = yaml.safe_load(self._lab("inventory"))["all"]["children"]["lab"]["hosts"]
        user = {"ansible_user": "operator", "ansible_python_interpreter": "/run/operator/python", "ansible_remote_tmp": "/run/operator/ansible"}
        return {
            **guests,
            MACHINE: {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
            USER: {**guests[FULL], **user},
            BARE: {**guests[FILLING], "ansible_python_interpreter": "/run/bare/python"},
        }

    def _lab(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, str(LAB), *words], env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900, check=False
        )
        if done.returncode == IMPOSSIBLE:
            raise Impossible(done.stderr.strip())
        assert done.returncode == 0, f"lab {' '.join(words)}\n{done.stdout}{done.stderr}"
        return done.stdout
