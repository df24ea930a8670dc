# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The errors that the lab reports to a person; knows nothing and touches nothing."""

from __future__ import annotations


class LabError(Exception):
    """What went wrong and what to do about it, ready to be printed."""


class Unavailable(LabError):
    """This machine cannot have it: another system, a program that cannot be installed, an archive out of reach. No fault of the lab's."""
