# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judges gathered facts by rules and writes the report on the controller. Runs once for all hosts and connects to none."""

from __future__ import annotations

import datetime
import json
import math
import os
import tempfile
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import render, report, rules

_OPTIONS = dict(
    hosts=dict(type="list", elements="str", required=True),
    results=dict(type="list", elements="str", default=["audit_gathered"]),
    dest=dict(type="path", required=True),
    formats=dict(type="list", elements="str", choices=list(render.FORMATS), default=list(render.FORMATS)),
    rules=dict(type="list", elements="path", required=True),
    disabled=dict(type="list", elements="str", default=[]),
    thresholds=dict(type="dict", default={}),
    templates=dict(type="path", required=True),
    compare=dict(type="path"),
    title=dict(type="str", default="Fleet audit"),
    fail_on=dict(type="str", choices=["never", *rules.SEVERITIES], default="never"),
)


class ActionModule(ActionBase):
    """See the documentation of the module of the same name."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=_OPTIONS)
        try:
            result.update(self._write(options, task_vars or {}))
        except (rules.RuleError, render.RenderError, report.ReportError, OSError) as error:
            raise AnsibleActionFail(str(error)) from error
        return result

    def _write(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        files = [rules.parse(_read(path), path) for path in options["rules"]]
        ready = rules.compiled(rules.merged(files), options["disabled"])
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        whole = report.built(
            _results(task_vars["hostvars"], options["hosts"], options["results"]),
            ready,
            _numbers("thresholds", _plain(options["thresholds"])),
            now,
            _earlier(options["compare"]),
            options["title"],
        )
        paths = {}
        for kind in options["formats"]:
            name = f"report.{kind}"
            paths[kind] = os.path.join(os.path.abspath(options["dest"]), name)
            text = render.rendered(whole, _read(os.path.join(options["templates"], name + ".j2")), kind)
            if not self._task.check_mode:
                _replace(paths[kind], text)
        failed = report.fails(whole["summary"], options["fail_on"])
        told = {"changed": not self._task.check_mode, "files": paths, "summary": whole["summary"], "failed": failed}
        wrong = sorted({f"{error} (on {one['name']})" for one in whole["hosts"] for error in one["rule_errors"]})
        if wrong:
            told["warnings"] = wrong[:10]
        if failed:
            told["msg"] = f"There are findings of severity {options['fail_on']} or above; see {', '.join(paths.values())}"
        return told


def _results(hostvars: t.Any, hosts: t.Sequence[str], names: t.Sequence[str]) -> dict[str, t.Any]:
    """Host to the result that brought facts, else to the first that is there."""
    results: dict[str, t.Any] = {}
    for host in hosts:
        variables = hostvars.get(host) or {}
        kept = (variables.get(name) for name in names)
        found = [result for result in kept if isinstance(result, t.Mapping) and not result.get("skipped")]
        best = next((result for result in found if "kernel_audit" in (result.get("ansible_facts") or {})), found[0] if found else None)
        results[str(host)] = _plain(best)
    return results


def _plain(value: t.Any) -> t.Any:
    """Without the types that ansible-core wraps values in."""
    if isinstance(value, t.Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _earlier(path: str | None) -> t.Any:
    if not path:
        return None
    try:
        return json.loads(_read(path))
    except ValueError as error:
        raise report.ReportError(f"{path}: {error}") from None


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _replace(path: str, text: str) -> None:
    """Writes beside and renames, so that who reads the report never meets half of one. Findings are for their owner."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".report-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _numbers(option: str, values: dict[str, t.Any]) -> dict[str, t.Any]:
    """The thresholds with numbers for their texts, as which ``-e name=value`` gives them."""
    return {name: _number(f"{option}.{name}", value) for name, value in values.items()}


def _number(option: str, value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return _numbers(option, value)
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        raise report.ReportError(f"{option}: {value!r} is no number") from None
    if not math.isfinite(number):
        raise report.ReportError(f"{option}: {value!r} is no number")
    return int(number) if number.is_integer() else number
