# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests of one test run: each kernel is brought up, runs its play and is taken down, at most three at a time, in a lab of the run's own."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import threading
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from kernel_lab.catalogue import Kernel
from kernel_lab.guests import SILENT

from . import play, steps

LAB = Path(__file__).resolve().parents[1] / "lab"
AT_ONCE = 3
IMPOSSIBLE = 3  # the lab's exit status for what this machine cannot do


@dataclass(frozen=True)
class Run:
    """What came of one kernel. With ``failure`` or ``impossible`` (why) there are no results.

    :ivar results: step to result
    :ivar observed: what ``lab observe`` said: whether the kernel does what the catalogue says, IPVS too, seen by other code than the product's
    """

    kernel: Kernel
    release: str = ""
    results: play.Results = field(default_factory=dict)
    observed: str = ""
    failure: str = ""
    impossible: str = ""


class LabFailed(Exception):
    """The lab's command failed; its exit status and what it said."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Fleet:
    """:param folder: for inventories, plays, results and Ansible's output"""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "NETSTATE_LAB": f"matrix-{os.getpid()}", "NETSTATE_LAB_PYTHON": sys.executable}
        self._pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
        self._runs: dict[str, concurrent.futures.Future[Run]] = {}
        self._started: list[subprocess.Popen[t.Any]] = []
        self._lock = threading.Lock()
        self._closing = False
        # Ends the lab when this process ends, however it ends: the pipe closes with it.
        line = 'cat > /dev/null; exec "$0" "$1" down'
        self._guard = subprocess.Popen(["sh", "-c", line, sys.executable, str(LAB)], stdin=subprocess.PIPE, env=self._environment, start_new_session=True)

    def start(self, kernels: t.Iterable[Kernel]) -> None:
        """Begins with all of them, those that may have to be built first."""
        for kernel in sorted(kernels, key=lambda kernel: kernel.runs != "uml-built"):
            self._runs[kernel.name] = self._pool.submit(self._run, kernel)

    def run_of(self, kernel: Kernel) -> Run:
        """Waits for the kernel's run."""
        return self._runs[kernel.name].result()

    def close(self) -> None:
        """Ends what still runs, guests and lab included."""
        with self._lock:
            self._closing = True
            for process in self._started:
                if process.poll() is None:
                    process.terminate()
        self._pool.shutdown(cancel_futures=True)
        assert self._guard.stdin
        self._guard.stdin.close()
        assert self._guard.wait(120) == 0, "the lab could not be taken down"

    def _start(self, words: t.Sequence[str], **options: t.Any) -> subprocess.Popen[t.Any]:
        with self._lock:
            if self._closing:
                raise LabFailed(1, "the test run was ended")
            process: subprocess.Popen[t.Any] = subprocess.Popen(words, **options)
            self._started = [*(one for one in self._started if one.poll() is None), process]
            return process

    def _lab(self, *words: str) -> str:
        """The command's standard output."""
        pipe = subprocess.PIPE
        with self._start([sys.executable, str(LAB), *words], env=self._environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as lab:
            out, err = lab.communicate()
        if lab.returncode:
            raise LabFailed(lab.returncode, fault_of(err + out) or f"lab {' '.join(words)} ended with status {lab.returncode}")
        return out

    def _up(self, kernel: Kernel) -> None:
        """Boots it. On a busy machine an emulated processor may stop before its kernel says a word (seen with QEMU 7.2): then once more."""
        try:
            self._lab("up", kernel.name)
        except LabFailed as error:
            if SILENT not in str(error):
                raise
            print(f"\n{kernel.name} said nothing and is booted once more")
            self._lab("up", kernel.name)

    def _run(self, kernel: Kernel) -> Run:
        try:
            # Apart from `up`, which lets one boot at a time: a build must not keep the others waiting.
            self._lab("fetch", kernel.name)
            try:
                self._up(kernel)
                release = self._lab("run", kernel.name, "--", "uname", "-r").strip()
                todo = steps.zoned() if kernel.truth.zones else steps.zoneless()
                results = play.run(self._folder / kernel.name, self._lab("inventory"), kernel.name, todo, self._start)
                observed = self._observe(kernel)
            finally:
                self._lab("down", kernel.name)
            return Run(kernel, release, results, observed)
        except LabFailed as error:
            return Run(kernel, impossible=str(error)) if error.status == IMPOSSIBLE else Run(kernel, failure=str(error))
        except play.PlayFailed as error:
            return Run(kernel, failure=str(error))

    def _observe(self, kernel: Kernel) -> str:
        try:
            return self._lab("observe", kernel.name).strip()
        except LabFailed as error:
            return str(error)


def fault_of(said: str) -> str:
    """What the lab says is wrong, without what it said while it worked."""
    return said[max(said.find("lab: "), 0) :].strip()
