# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls a module's ``main()`` in a process of its own, as fast as a fork: for the wide tables.

What Ansible adds around it (packing, its own process, check and diff mode on the command line) is in :mod:`ansible_run`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import typing as t

from ansible.module_utils import basic

PACKAGE = "ansible_collections.netstate.kernel.plugins.modules."


def call(module: str, options: dict[str, t.Any], check: bool = False, diff: bool = False) -> dict[str, t.Any]:
    """The module's JSON result, ``failed`` always among its keys."""
    main = importlib.import_module(PACKAGE + module).main
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        _be_the_module(main, writer, {**options, "_ansible_check_mode": check, "_ansible_diff": diff})
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        output = pipe.read()
    _child, status = os.waitpid(child, 0)
    try:
        result = json.loads(output)
    except ValueError:
        raise AssertionError(f"status {status}, no JSON: {output}") from None
    result.pop("invocation", None)
    failed = result.setdefault("failed", False)
    assert os.waitstatus_to_exitcode(status) == (1 if failed else 0), output
    return result


def _be_the_module(main: t.Callable[[], None], writer: int, arguments: dict[str, t.Any]) -> t.NoReturn:
    status = 70
    try:
        os.dup2(writer, 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
        if hasattr(basic, "_ANSIBLE_PROFILE"):  # since 2.19
            basic._ANSIBLE_PROFILE = "legacy"
        main()
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        print(traceback.format_exc())
    finally:
        sys.stdout.flush()
        os._exit(status)
