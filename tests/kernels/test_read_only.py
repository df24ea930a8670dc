# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs as a guest's process can write to nothing of the machine's, whatever its own root mounts."""

import os
import subprocess
import typing as t

import pytest
from kernel_lab import boot, catalogue, places

# Prints each mount that can be written to; a file system that is read only can not, not even by root.
SHOW_WRITABLE = """
while read -r _ target type _; do
    if [ "$type" != nsfs ] && [ -w "$target" ]; then echo "$target"; fi
done < /proc/self/mounts
"""


def run(words: t.Sequence[str]) -> list[str]:
    return subprocess.run(words, capture_output=True, check=True, text=True, timeout=60).stdout.splitlines()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_only_the_scratch_folder_can_be_written_to(tmp_path):
    where = places.choose({"NETSTATE_LAB_RUN": str(tmp_path)}, lab="unused")
    kernel = catalogue.load()[0]
    scratch = where.guest(kernel.name) / "scratch"
    scratch.mkdir(parents=True)
    words = boot.launcher(where, kernel, ["sh", "-c", SHOW_WRITABLE])
    before = run(["sh", "-c", SHOW_WRITABLE])
    assert before
    # Without the lab's network namespace, which does not exist here.
    assert words[:3] == ["ip", "netns", "exec"]
    seen = run(words[4:])
    assert seen[:-1] == [str(scratch)]
    assert seen[-1] == "lab: the guest ended with status 0"
    assert run(["sh", "-c", SHOW_WRITABLE]) == before
