# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""open_vswitch_in_guest.py PORTS: in a guest of the kernel lab, a switch with a kernel datapath and ports; prints its facts and what it says itself."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import open_vswitch
from ansible_collections.netstate.kernel.plugins.module_utils._sockets import facts


def main(ports: int) -> None:
    subprocess.run(["modprobe", "openvswitch"], check=True)
    with open_vswitch.running(Path(tempfile.mkdtemp())) as switch:
        switch.configure("add-br", "br0")
        for number in range(ports):
            switch.configure("add-port", "br0", f"p{number}", "--", "set", "interface", f"p{number}", "type=internal")
        said = switch.appctl("dpif-netlink/dispatch-mode")
        print(json.dumps({"said": said, "pid": switch.pid, "facts": facts.gather()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
