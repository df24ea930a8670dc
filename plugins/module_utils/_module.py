# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What every module's ``main()`` shares: pyroute2 must be there, and failures become ``fail_json``.

Private to this collection.
"""

from __future__ import annotations

import typing as t

from ansible.module_utils.basic import missing_required_lib
from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module

from ._netlink import library
from ._netlink.errors import NetstateError, OptionError

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Distributions install pyroute2 for their own Python, while Ansible may have discovered another.
SYSTEM_PYTHONS = ("/usr/bin/python3", "/usr/libexec/platform-python", "/usr/bin/python")


def run(module: AnsibleModule, job: t.Callable[[], dict[str, t.Any]]) -> None:
    """Ends the module with what ``job`` returns, or with a failure that names what was asked and what was done.

    :param job: reads its options first, so that bad ones are refused before anything is opened
    """
    try:
        result = job()
    except OptionError as error:
        module.fail_json(msg=str(error), option=error.option)
    except NetstateError as error:
        module.fail_json(**error.as_result())
    module.exit_json(**result)


def require_pyroute2(module: AnsibleModule) -> None:
    """Fails without pyroute2, after trying the system's Python."""
    if not has_pyroute2():
        wanted = f"{library.NAME} >= {library.MINIMUM}"
        module.fail_json(msg=missing_required_lib(wanted), exception=library.IMPORT_ERROR)


def has_pyroute2() -> bool:
    """Whether it is there; tries the system's Python first, by running the module again there."""
    if library.IMPORT_ERROR is None:
        return True
    if not has_respawned():
        interpreter = probe_interpreters_for_module(SYSTEM_PYTHONS, library.NAME)
        if interpreter:
            respawn_module(interpreter)  # does not return
    return False
