# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink import kernel

FILES = "lib/modules/" + os.uname().release
BUILTIN, DEPENDENCIES = FILES + "/modules.builtin", FILES + "/modules.dep"
SYMBOLS = "0000000000000000 T nf_conntrack_in\n0000000000000000 t ctnetlink_net_init\n"


@pytest.mark.parametrize(
    "files, name, state",
    [
        pytest.param({}, "nf_conntrack", "absent", id="nothing to go by"),
        pytest.param({"sys/module/nf_conntrack/initstate": "live"}, "nf_conntrack", "loaded", id="loaded"),
        pytest.param(
            {"sys/module/nf_conntrack/initstate": "live", DEPENDENCIES: "kernel/net/netfilter/nf_conntrack.ko:\n"},
            "nf_conntrack",
            "loaded",
            id="loaded, and its file",
        ),
        pytest.param({"sys/module/nf_conntrack/parameters/acct": "N"}, "nf_conntrack", "builtin", id="built in, with parameters"),
        pytest.param({BUILTIN: "kernel/net/netfilter/nf_conntrack.ko\n", DEPENDENCIES: ""}, "nf_conntrack", "builtin", id="listed"),
        pytest.param(
            {BUILTIN: "kernel/net/x.ko\n", DEPENDENCIES: "kernel/net/netfilter/nf_conntrack.ko: kernel/lib/libcrc32c.ko\n"},
            "nf_conntrack",
            "loadable",
            id="a file",
        ),
        pytest.param(
            {BUILTIN: "", DEPENDENCIES: "kernel/net/netfilter/nf_conntrack.ko.xz: kernel/lib/libcrc32c.ko.xz\n"},
            "nf_conntrack",
            "loadable",
            id="a compressed file",
        ),
        pytest.param(
            {BUILTIN: "", DEPENDENCIES: "kernel/net/netfilter/nf-conntrack-netlink.ko.zst:\n"},
            "nf_conntrack_netlink",
            "loadable",
            id="a file with dashes",
        ),
        pytest.param(
            {BUILTIN: "", DEPENDENCIES: "kernel/x.ko: kernel/net/netfilter/nf_conntrack.ko\n"},
            "nf_conntrack",
            "absent",
            id="only what another depends on",
        ),
        pytest.param(
            {BUILTIN: "", DEPENDENCIES: "kernel/net/netfilter/nf_conntrack_ftp.ko:\n"}, "nf_conntrack", "absent", id="one of a longer name"
        ),
        pytest.param({"proc/kallsyms": SYMBOLS}, "nf_conntrack", "builtin", id="symbols, without any list"),
        pytest.param({"proc/kallsyms": SYMBOLS}, "nf_conntrack_netlink", "builtin", id="symbols of the reader"),
        pytest.param({"proc/kallsyms": "0 T nf_conntrack_in_x\n0 t xnf_conntrack_in\n"}, "nf_conntrack", "absent", id="similar symbols"),
        pytest.param({"proc/kallsyms": SYMBOLS}, "nf_conntrack_ftp", "absent", id="no symbol known"),
        pytest.param({"proc/kallsyms": SYMBOLS, BUILTIN: ""}, "nf_conntrack", "absent", id="the list counts, where there is one"),
        pytest.param({"lib/modules/0.0.1/modules.dep": "x/nf_conntrack.ko:\n"}, "nf_conntrack", "absent", id="files of another release"),
    ],
)
def test_module_state(tmp_path: Path, files: dict[str, str], name: str, state: str) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert kernel.module_state(name, str(tmp_path)) == state


def test_sysctl_of_this_kernel() -> None:
    assert isinstance(kernel.sysctl("kernel/pid_max"), int)
    assert kernel.sysctl("kernel/osrelease") == os.uname().release
    assert kernel.sysctl("kernel/no_such_setting") is None


def test_sysctls_of_this_kernel() -> None:
    found = kernel.sysctls("kernel", "pid_")
    assert isinstance(found["pid_max"], int)
    assert all(name.startswith("pid_") for name in found)
    assert kernel.sysctls("no_such_folder") == {}


@pytest.mark.parametrize("protocol, there", [(0, True), (31, False)])
def test_has_protocol(protocol: int, there: bool) -> None:
    # NETLINK_ROUTE is everywhere, the highest number nowhere.
    assert kernel.has_protocol(protocol) is there
