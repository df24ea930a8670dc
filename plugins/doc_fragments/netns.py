# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The option that names the network namespace a module works in."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  netns:
    description:
      - A named network namespace under C(/run/netns), or an absolute path to one such as V(/proc/1234/ns/net).
      - Without it, the namespace in which the module runs.
      - It is never created.
    type: str
"""
