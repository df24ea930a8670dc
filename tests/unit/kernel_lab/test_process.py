# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""A process is its pid and its start time; a stranger with the same pid is left alone."""

import os
import subprocess
import sys

import pytest
from kernel_lab import process
from kernel_lab.process import Process

STAT = "42 (a) b (c) {state} 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1"


@pytest.fixture
def sleeper():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield child
    child.kill()
    child.wait()


@pytest.mark.parametrize("state, started", [("S", 987654), ("R", 987654), ("Z", None), ("X", None)])
def test_parse_start(state, started):
    assert process.parse_start(STAT.format(state=state)) == started


def test_identify_itself():
    identity = process.identify(os.getpid())
    assert identity.pid == os.getpid()
    assert process.runs(identity)


def test_a_pid_that_nobody_has():
    assert process.identify(2**22 + 1) is None


def test_kill_ends_the_process(sleeper):
    identity = process.identify(sleeper.pid)
    assert process.kill(identity) is True
    assert not process.runs(identity)
    assert process.kill(identity) is False


def test_kill_spares_a_stranger_with_the_pid(sleeper):
    started = process.identify(sleeper.pid).started
    assert process.kill(Process(sleeper.pid, started - 1)) is False
    assert process.runs(Process(sleeper.pid, started))
    assert sleeper.poll() is None


def test_a_zombie_does_not_run(sleeper):
    identity = process.identify(sleeper.pid)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not process.runs(identity)
