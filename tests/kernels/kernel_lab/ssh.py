# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""How a guest is reached by ssh: options, keys, a try whether it answers. Runs ssh and ssh-keygen."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from . import command
from .places import Places
from .state import Guest

CONNECT = Path(__file__).resolve().parent / "connect.py"


def make_keys(places: Places) -> None:
    """The lab's own key for its clients and one for its guests' servers, made once."""
    if not places.key.exists():
        command.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", places.namespace, "-f", places.key])
    if not places.host_key.exists():
        command.run(["dropbearkey", "-t", "ed25519", "-f", places.host_key])
    places.control_sockets.mkdir(exist_ok=True, mode=0o700)


def options(places: Places) -> list[str]:
    """Options for ssh, sftp and scp alike. The machine's and the user's own configuration play no part."""
    # -S: it needs nothing but the standard library, and looking for more takes time.
    connect = shlex.join([sys.executable, "-S", str(CONNECT), places.namespace])
    values = [
        f"ProxyCommand={connect} %h %p",
        "ProxyUseFdpass=yes",
        "StrictHostKeyChecking=no",
        f"UserKnownHostsFile={places.known_hosts}",
        "GlobalKnownHostsFile=/dev/null",
        "IdentitiesOnly=yes",
        "LogLevel=ERROR",
    ]
    return ["-F", "/dev/null", *[word for value in values for word in ("-o", value)]]


def words(places: Places, guest: Guest, remote: Sequence[str], timeout: int = 30) -> list[str]:
    """The command line that runs `remote` in the guest: one word is a line for its shell, more are passed as they are."""
    line = remote[0] if len(remote) == 1 else shlex.join(remote)
    limits = ["-o", f"ConnectTimeout={timeout}", "-o", "BatchMode=yes"]
    return ["ssh", *options(places), *limits, "-i", str(places.key), "-p", str(guest.port), f"root@{guest.address}", "--", line]


def answers(places: Places, guest: Guest, patience: int = 5) -> bool:
    """Whether the guest runs a command that came by ssh."""
    try:
        tried = subprocess.run(
            words(places, guest, ["true"], patience),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=patience * 4,
            check=False,
            env=command.environment(),
        )
    except subprocess.TimeoutExpired:
        return False
    return tried.returncode == 0


def end_masters(places: Places, names: Sequence[str]) -> None:
    """End the connections to these guests that Ansible keeps open: they outlive it, and would keep the namespace alive.

    Those to other guests may be in use: what runs there would be cut off.
    """
    for socket in [socket for name in names for socket in places.control_sockets_of(name).glob("*")]:
        subprocess.run(
            ["ssh", "-F", "/dev/null", "-o", f"ControlPath={socket}", "-O", "exit", "lab"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
            env=command.environment(),
        )
