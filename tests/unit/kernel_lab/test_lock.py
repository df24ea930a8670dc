# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Locks between processes."""

import subprocess
import sys
import time
from pathlib import Path

from kernel_lab import lock

HOLD = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kernel_lab import lock
with lock.held(Path(sys.argv[2]), "it"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_waits_for_its_holder_and_outlives_its_death(tmp_path, capsys):
    package = str(Path(lock.__file__).resolve().parents[1])
    holder = subprocess.Popen([sys.executable, "-c", HOLD, package, str(tmp_path / "l")], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.4; kill -9 {holder.pid}"])
        start = time.monotonic()
        with lock.held(tmp_path / "l", "the test"):
            assert time.monotonic() - start > 0.2
        assert "busy with the test" in capsys.readouterr().err
        killer.wait()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_lock_can_take_its_file_away(tmp_path):
    path = tmp_path / "deep" / "l"
    with lock.held(path, "it", remove=lambda: True):
        assert path.exists()
    assert not path.exists()
    with lock.held(path, "it"):
        assert path.exists()
