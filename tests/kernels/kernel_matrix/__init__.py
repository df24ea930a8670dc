# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the modules on the kernels of the lab: what is done on each, how its answers are read, and the table of what was seen."""
