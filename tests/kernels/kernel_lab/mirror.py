# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Which archive other Debian suites come from: the machine's own, with the suite swapped. Asks apt, reads os-release."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping

from . import command
from .failure import Unavailable

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# A rolling suite and an overlay suite have no security archive.
WITHOUT_SECURITY = ("sid", "-backports", "-updates")


@dataclass(frozen=True)
class Mirror:
    """Addresses of the main archive and, where there is one, of the security archive."""

    main: str
    security: str = ""

    def sources(self, suite: str) -> str:
        """The private sources list for one suite."""
        lines = [f"deb [signed-by={KEYRING}] {self.main} {suite} main"]
        if self.security and not suite.endswith(WITHOUT_SECURITY):
            lines.append(f"deb [signed-by={KEYRING}] {self.security} {suite}-security main")
        return "\n".join(lines) + "\n"


def from_targets(lines: Iterable[str], codename: str) -> Mirror:
    """Pick from `address|release` lines as apt prints them; other archives of the machine name other releases."""
    pairs: list[tuple[str, str]] = [tuple(line.split("|", 1)) for line in lines if "|" in line]  # type: ignore[misc]
    main = [address for address, release in pairs if release == codename]
    security = [address for address, release in pairs if release == f"{codename}-security"]
    if not main:
        raise Unavailable(f"apt has no archive of {codename}; name one by NETSTATE_LAB_MIRROR (and NETSTATE_LAB_SECURITY_MIRROR)")
    return Mirror(main[0], security[0] if security else "")


def _codename() -> str:
    fields = {}
    for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        key, _equals, value = line.partition("=")
        fields[key] = value.strip('"')
    if fields.get("ID") != "debian":
        raise Unavailable("this machine is not Debian: name a Debian archive by NETSTATE_LAB_MIRROR (and NETSTATE_LAB_SECURITY_MIRROR)")
    return fields.get("VERSION_CODENAME", "")


def find(environment: Mapping[str, str] = os.environ) -> Mirror:  # pylint: disable=dangerous-default-value
    """The mirror from the environment, else from the machine's apt configuration."""
    if environment.get("NETSTATE_LAB_MIRROR"):
        return Mirror(environment["NETSTATE_LAB_MIRROR"], environment.get("NETSTATE_LAB_SECURITY_MIRROR", ""))
    # --no-release-info: also on a machine that never ran apt-get update.
    words = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)|$(RELEASE)", "Identifier: Packages", "Component: main"]
    return from_targets(command.run(words).splitlines(), _codename())
