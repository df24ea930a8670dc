# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the matrix makes of a lab that fails."""

import pytest
from kernel_lab import catalogue
from kernel_lab.guests import SILENT
from kernel_matrix import fleet

KERNEL = catalogue.load()[0]
WAITING = "waiting for another process that is busy with the lab matrix-1\n"


class Scripted(fleet.Fleet):
    """A fleet whose lab answers with the faults given, and then with success."""

    def __init__(self, *faults):
        self._faults = list(faults)
        self.asked = []

    def _lab(self, *words):
        self.asked.append(words)
        if self._faults:
            raise fleet.LabFailed(1, self._faults.pop(0))
        return ""


def test_a_fault_is_told_without_what_was_said_before():
    assert fleet.fault_of(WAITING + "lab: no boot\nlast words\n") == "lab: no boot\nlast words"
    assert fleet.fault_of("Traceback\n") == "Traceback"


def test_a_guest_that_said_nothing_is_booted_once_more():
    lab = Scripted(f"lab: no answer\n{SILENT}")
    lab._up(KERNEL)
    assert lab.asked == [("up", KERNEL.name)] * 2


@pytest.mark.parametrize("faults", [["lab: no answer\nKernel panic"], [SILENT, SILENT]], ids=["said something", "silent again"])
def test_other_failures_to_boot_stay(faults):
    lab = Scripted(*faults)
    with pytest.raises(fleet.LabFailed):
        lab._up(KERNEL)
    assert len(lab.asked) == len(faults)
