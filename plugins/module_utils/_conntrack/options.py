# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The argument spec of the selector options, the counterpart of the documentation fragment ``conntrack_selectors``."""

from __future__ import annotations

import typing as t

# Not an alias to Ansible: of a default for one name and a value for the other, it would take one without a word.
ONE_NAME = [("zones", "zone")]


def selector_spec() -> dict[str, t.Any]:
    """Options that select entries, ``exclude`` among them; to be used with ``mutually_exclusive=ONE_NAME``."""
    spec = _properties()
    spec["exclude"] = dict(type="dict", options=_properties(), mutually_exclusive=ONE_NAME)
    return spec


def _properties() -> dict[str, t.Any]:
    return dict(
        zones=dict(type="list", elements="str"),
        zone=dict(type="list", elements="str"),
        family=dict(type="str", choices=["any", "ipv4", "ipv6"], default="any"),
        protocols=dict(type="list", elements="str"),
        source=dict(type="list", elements="str"),
        destination=dict(type="list", elements="str"),
        reply_source=dict(type="list", elements="str"),
        reply_destination=dict(type="list", elements="str"),
        source_ports=dict(type="list", elements="str"),
        destination_ports=dict(type="list", elements="str"),
        reply_source_ports=dict(type="list", elements="str"),
        reply_destination_ports=dict(type="list", elements="str"),
        mark=dict(type="str"),
        status=dict(type="list", elements="str"),
        tcp_states=dict(type="list", elements="str"),
        labels=dict(type="list", elements="int"),
    )
