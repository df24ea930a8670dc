# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""The kernel lab: fetches, builds and boots other kernels as guests that Ansible reaches over ssh."""
