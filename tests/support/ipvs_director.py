# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A namespace with IPVS services, seen through the modules and through ipvsadm."""

from __future__ import annotations

import typing as t

import module_main
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import services
from network_namespace import Namespace


class Director(Namespace):
    """A namespace with services."""

    def ipvsadm(self, *words: str) -> str:
        return self.command("ipvsadm", *words)

    def rules(self) -> str:
        """What ipvsadm prints, sorted. It shows no thresholds."""
        return "".join(sorted(line + "\n" for line in self.ipvsadm("-Sn").splitlines()))

    def module(self, name: str, check: bool = False, diff: bool = False, **options: t.Any) -> dict[str, t.Any]:
        return module_main.call("ipvs_" + name, {"netns": self.name, **options}, check, diff)

    def services(self, *config: dict[str, t.Any], check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """What ipvs_services does, without the module around it: a process each is slow on a guest."""
        given = {"state": "merged", "scope": None, "drain": None, **options, "config": list(config)}
        return services.reconcile(services.goal_of(given), self.name, check, load_modules=True, diff=True)

    def gathered(self) -> list[dict[str, t.Any]]:
        """All services in the form of the option."""
        return services.gather(self.name)["gathered"]
