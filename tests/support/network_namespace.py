# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fresh named network namespace for one test, and what is seen in it by other means than the collection's."""

from __future__ import annotations

import secrets
import subprocess
import typing as t
from pathlib import Path

import conntrack_table
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import namespace


class Namespace:
    """A namespace under /run/netns; :meth:`close` ends what runs in it and takes it away."""

    def __init__(self) -> None:
        self.name = "nsk-" + secrets.token_hex(4)
        self._processes: list[subprocess.Popen] = []
        subprocess.run(["ip", "netns", "add", self.name], check=True, timeout=60)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        subprocess.run(["ip", "netns", "del", self.name], check=True, timeout=60)

    @property
    def inside(self) -> list[str]:
        """What to put in front of a command."""
        return ["ip", "netns", "exec", self.name]

    def command(self, *arguments: str, **options: t.Any) -> str:
        """Runs a command to its end and returns its output; a failure fails the test."""
        done = subprocess.run([*self.inside, *arguments], capture_output=True, text=True, timeout=120, **options, check=False)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def start(self, *arguments: str, **options: t.Any) -> subprocess.Popen:
        """Starts a command that runs until it ends or the namespace is closed."""
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([*self.inside, *arguments], **options)
        self._processes.append(process)
        return process

    def run(self, job: t.Callable[[], t.Any]) -> t.Any:
        """Runs Python code in the namespace."""
        return namespace.run(self.name, job)

    def fill(self, requests: t.Iterable[bytes]) -> None:
        """Makes the entries of :mod:`conntrack_table` requests."""
        self.run(lambda: conntrack_table.insert(requests))

    def setting(self, name: str, value: int | None = None) -> int:
        """A net.netfilter.nf_conntrack setting of the namespace; sets it first if a value is given."""
        path = "/proc/sys/net/netfilter/nf_conntrack_" + name
        if value is not None:
            self.command("sh", "-c", 'echo "$1" > "$2"', "sh", str(value), path)
        return int(self.command("cat", path))


def names() -> set[str]:
    """All named namespaces."""
    folder = Path("/run/netns")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
