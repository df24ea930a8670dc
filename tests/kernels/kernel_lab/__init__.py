# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright (c) netstate.kernel contributors
"""The kernel lab: fetches, builds and boots other kernels as guests that Ansible reaches over ssh."""
