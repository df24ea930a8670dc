# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The one error that the lab reports to a person; knows nothing and touches nothing."""

from __future__ import annotations


class LabError(Exception):
    """What went wrong and what to do about it, ready to be printed."""
