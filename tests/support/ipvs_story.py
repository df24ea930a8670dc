# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done with the playbook netstate.kernel.ipvs on one guest, in this order, and what was seen: a run costs a guest seconds."""

from __future__ import annotations

import ast
import typing as t

import yaml
from ansible_run import CLONE
from ipvs_guest import Guest, Ran

BOOK = "netstate.kernel.ipvs"
FOREIGN = "-A -t 192.0.2.1:80 -s rr\n"

WEB: dict[str, t.Any] = {
    "protocol": "tcp",
    "address": "10.0.0.1",
    "port": 80,
    "scheduler": "wrr",
    "destinations": [{"address": "10.1.0.1", "forward": "masquerade", "weight": 3}, {"address": "10.1.0.2", "forward": "masquerade"}],
}
MARKED = {"fwmark": 7, "family": "ipv6", "persistence": {"timeout": 60, "netmask": "64"}, "destinations": [{"address": "2001:db8::1"}]}
DNS = {"protocol": "udp", "address": "10.0.0.2", "port": 53, "scheduler": "rr", "one_packet": True, "destinations": [{"address": "10.1.0.3"}]}
WITHOUT_ONE = {**WEB, "destinations": WEB["destinations"][1:]}

WANTED: dict[str, t.Any] = {
    "ipvs_hosts": "lab",
    "ipvs_director_modules": ["ip_vs", "ip_vs_mh"],
    # Two numbers, a name with slashes, and one that IPVS brings.
    "ipvs_director_sysctls": {"net.ipv4.ip_forward": 1, "net.ipv4.vs.sync_threshold": "3 100", "net/ipv4/vs/expire_nodest_conn": 1},
    "ipvs_director_timeouts": {"tcp": 1000, "udp": 290},
    "ipvs_director_master": {"interface": "vec0", "syncid": 7},
    "ipvs_director_scope": {"addresses": ["10.0.0.0/24"], "fwmarks": ["7"]},
    "ipvs_director_services": [WEB, MARKED, DNS],
    "ipvs_director_drain": {"connections": "all", "timeout": 30, "interval": 0.2},
}

# Variables, and words of the failure. Each is refused before anything is changed.
BAD: dict[str, tuple[dict[str, t.Any], list[str]]] = {
    "service": ({"ipvs_director_services": [dict(WEB, port=70000)]}, ["[0].port", "70000"]),
    "only lossless": ({"ipvs_director_services": [dict(WEB, destinations=[{"address": "10.1.0.1", "upper_threshold": 70000}])]}, ["65535", "10.1.0.1"]),
    "sysctl": ({"ipvs_director_sysctls": {"net.ipv4.nonesuch": 1}}, ["ipvs_director_sysctls", "net.ipv4.nonesuch"]),
    "module": ({"ipvs_director_modules": ["nonesuch_module"]}, ["nonesuch_module"]),
    "scope": ({"ipvs_director_scope": {"addresses": ["10.0.0.0/24"]}}, ["config[1]", "outside the scope", "fwmark 7"]),
    "daemon": ({"ipvs_director_master": {"syncid": 7}}, ["master.interface"]),
    "scheduler": ({"ipvs_director_services": [dict(WEB, scheduler="nonesuch")]}, ["config[0].scheduler", "nonesuch", "wrr"]),
}


DOCUMENTED = ("modules/ipvs_facts", "modules/ipvs_services", "modules/ipvs_settings", "filter/ipvs_rules_parse", "filter/ipvs_rules_render")
# What the examples take as given.
FILE = "-A -t 192.0.2.77:80 -s rr\n-a -t 192.0.2.77:80 -r 10.0.0.77:80 -m -w 1\n"
INTERFACE = "modprobe dummy; ip link add eth1 type dummy; ip address add 192.0.2.250/24 dev eth1; ip link set eth1 up"


def examples() -> list[dict[str, t.Any]]:
    """The tasks of the documentation, in the order of the files."""
    tasks: list[dict[str, t.Any]] = []
    for name in DOCUMENTED:
        tree = ast.parse((CLONE / "plugins" / (name + ".py")).read_text(encoding="utf-8"))
        values = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
        tasks += yaml.safe_load(ast.literal_eval(values["EXAMPLES"]))
    return tasks


class Boot(t.NamedTuple):
    """What systemd would do with what the role has kept.

    :ivar lines: commands, in order
    """

    modules: str
    sysctls: str
    rules: str
    unit: str
    lines: list[str]


class Story:
    """:ivar runs: step to run; :ivar seen: moment to what the guest had then"""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self.runs: dict[str, Ran] = {}
        self.seen: dict[str, t.Any] = {}

    def tell(self) -> None:
        guest, seen = self._guest, self.seen
        seen["at first"] = guest.state()
        self._run("check", "--check", "--diff")
        seen["after check"] = guest.state()
        for name, (variables, _words) in BAD.items():
            self._run(f"bad {name}", **variables)
        seen["after bad ones"] = guest.state()
        guest.sh(f"ipvsadm {FOREIGN}")
        self._run("first", "--diff")
        seen["rules"], seen["state"] = guest.rules(), guest.state()
        seen["timeouts"] = guest.sh("ipvsadm -L --timeout").split()[-3:]
        seen["daemons"] = guest.sh("ipvsadm -L --daemon").strip()
        self._run("second")
        seen["after the second"] = guest.state()
        self._run("exchange", ipvs_director_services=[WITHOUT_ONE, MARKED])
        seen["rules after the exchange"] = guest.rules()
        boot = self._kept()
        seen["boot"] = boot
        guest.boot_again()
        seen["before restoring"] = guest.state()
        self._restore(boot)
        seen["rules after the boot"] = guest.rules()
        seen["timeouts after the boot"] = guest.sh("ipvsadm -L --timeout").split()[-3:]
        seen["daemons after the boot"] = guest.sh("ipvsadm -L --daemon").strip()
        self._run("after the boot", ipvs_director_services=[WITHOUT_ONE, MARKED])
        guest.sh("ipvsadm -C; " + INTERFACE)
        (guest.folder / "ipvsadm.rules").write_text(FILE, encoding="utf-8")
        plays = [{"hosts": "lab", "gather_facts": False, "tasks": [{**task, "ignore_errors": True} for task in examples()]}]
        self.runs["examples"] = guest.play(plays, director_services=[{**WEB, "address": "192.0.2.50"}])
        seen["rules after the examples"] = guest.rules()
        seen["file of the examples"] = guest.sh("cat /etc/ipvsadm.rules")
        guest.boot_again()
        guest.sh('mount -t tmpfs none "/lib/modules/$(uname -r)"')
        seen["before nothing"] = guest.state()
        self._run("without ipvs")
        seen["after nothing"] = guest.state()

    def _run(self, name: str, *words: str, **variables: t.Any) -> None:
        self.runs[name] = self._guest.play(BOOK, *words, **{**WANTED, **variables})

    def _kept(self) -> Boot:
        read = self._guest.sh
        unit = read("cat /etc/systemd/system/multi-user.target.wants/ipvs-director.service")
        settings = [line.partition("=") for line in unit.splitlines()]
        lines = [value for name, _equals, value in settings if name == "ExecStart"]
        (source,) = [value[len("file:") :] for name, _equals, value in settings if name == "StandardInput"]
        return Boot(
            read("cat /etc/modules-load.d/ipvs-director.conf"), read("cat /etc/sysctl.d/60-ipvs-director.conf"), read(f"cat {source}"), unit, lines
        )

    def _restore(self, boot: Boot) -> None:
        """What systemd-modules-load, systemd-sysctl and the unit do: the guest has no systemd."""
        run = self._guest.sh
        run("xargs modprobe -a", boot.modules)
        run("sysctl -p -", boot.sysctls)
        run("cat > /etc/ipvs-director.rules", boot.rules)
        for line in boot.lines:
            run(f"{line} < /etc/ipvs-director.rules")
