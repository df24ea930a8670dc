# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints each task's result as a line of JSON, for the tests that run Ansible."""

from __future__ import annotations

import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: task_results
type: stdout
short_description: One line of JSON for each result
description:
  - For tests only.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "task_results"

    def _show(self, result, **more) -> None:
        # Since 2.19 a callback's own kind of result, with public names.
        host, task, values = (getattr(result, name, None) or getattr(result, "_" + name) for name in ("host", "task", "result"))
        line = {"host": host.get_name(), "task": task.get_name(), "result": {**values, **more}}
        print(json.dumps(line, default=str), flush=True)

    def v2_runner_on_ok(self, result) -> None:
        self._show(result)

    def v2_runner_on_failed(self, result, ignore_errors=False) -> None:
        self._show(result, failed=True)

    def v2_runner_on_skipped(self, result) -> None:
        self._show(result)

    def v2_runner_on_unreachable(self, result) -> None:
        self._show(result, unreachable=True)
