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
    asked=dict(type="list", elements="str"),
    results=dict(type="list", elements="str", default=["audit_gathered"]),
    dest=dict(type="path", required=True),
    formats=dict(type="list", elements="str", choices=list(render.FORMATS), default=list(render.FORMATS)),
    rules=dict(type="list", elements="path", required=True),
    disabled=dict(type="list", elements="str", default=[]),
    thresholds=dict(type="dict", default={}),
    templates=dict(type="path", required=True),
    compare=dict(type="path"),
    title=dict(type="str", default="Fleet audit"),
    namespaces_limit=dict(type="int"),
    fail_on=dict(type="str", choices=["never", *rules.SEVERITIES], default="never"),
    check_only=dict(type="bool", default=False),
)
_LISTS = ("ipvs_schedulers",)  # of the thresholds
_AS_JSON = "lists and mappings are given as JSON, as in -e '{\"NAME\": ...}'"
# As the users of the role know them; a threshold is audit_ and its name.
_OF_ROLE = dict(dest="audit_dest", formats="audit_formats", rules="audit_rules_files", disabled="audit_rules_disabled", compare="audit_compare")


class ActionModule(ActionBase):
    """See the documentation of the module of the same name."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=_OPTIONS)
        try:
            result.update(self._told(options, task_vars or {}))
        except render.RenderError as error:
            raise AnsibleActionFail(str(error)) from error
        return result

    def _told(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        paths = _paths(options["dest"], options["formats"])
        ready = _rules(options["rules"], options["disabled"])
        thresholds = _numbers("thresholds", _plain(options["thresholds"]))
        templates = {kind: _read("templates", os.path.join(options["templates"], f"report.{kind}.j2")) for kind in paths}
        earlier = _earlier(options["compare"])
        if options["check_only"]:
            return {"changed": False}
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        # A host that left the play before may hold what an earlier use of the role registered.
        asked = frozenset(options["hosts"] if options.get("asked") is None else options["asked"])
        results = {str(host): _result(task_vars["hostvars"], host, options["results"]) if host in asked else None for host in options["hosts"]}
        whole = report.built(results, ready, thresholds, now, earlier, options["title"], most=options.get("namespaces_limit"))
        for kind, template in templates.items():
            text = render.rendered(whole, template, kind)
            if not self._task.check_mode:
                _replace(paths[kind], text)
        return self._summed_up(whole, paths, options["fail_on"])

    def _summed_up(self, whole: dict[str, t.Any], paths: dict[str, str], fail_on: str) -> dict[str, t.Any]:
        where = f"{'would be written (check mode)' if self._task.check_mode else 'written'}: {', '.join(paths.values())}"
        told = {"changed": True, "files": paths, "summary": whole["summary"], "msg": f"Report {where}"}
        wrong = sorted({f"{error} (on {one['name']})" for one in whole["hosts"] for error in one["rule_errors"]})
        if wrong:
            told["warnings"] = wrong[:10]
        if report.fails(whole["summary"], fail_on):
            told.update(failed=True, msg=f"There are findings of severity {fail_on} or above. Report {where}")
        return told


def _refused(option: str, why: str) -> AnsibleActionFail:
    of_role = _OF_ROLE.get(option) or (f"audit_{option[len('thresholds.') :]}" if option.startswith("thresholds.") else None)
    return AnsibleActionFail(f"{option} ({of_role} of the role): {why}" if of_role else f"{option}: {why}")


def _paths(dest: str, formats: t.Sequence[str]) -> dict[str, str]:
    """Format to file. Whether it can be written shows before any host was asked, as far as that can be seen without writing."""
    if not formats:
        raise _refused("formats", f"it is empty; name at least one of {', '.join(render.FORMATS)}")
    if not dest.strip():
        raise _refused("dest", "it is empty; name the folder to write to")
    folder = os.path.abspath(dest)
    there = folder
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise _refused("dest", f"{folder}: {there} is no folder; name another")
    if not os.access(there, os.W_OK | os.X_OK):
        raise _refused("dest", f"{folder}: you may not write to {there}; name another folder")
    paths = {kind: os.path.join(folder, f"report.{kind}") for kind in formats}
    for path in paths.values():
        if os.path.isdir(path):
            raise _refused("dest", f"{path} is a folder; name another place, or move it away")
    return paths


def _rules(paths: t.Sequence[str], disabled: t.Sequence[str]) -> list[rules.Rule]:
    try:
        return rules.compiled(rules.merged([rules.parse(_read("rules", path), path) for path in paths]), disabled)
    except rules.UnknownRule as error:
        raise _refused("disabled", f"{error}; the ids are in {', '.join(paths)}") from None
    except rules.RuleError as error:
        raise _refused("rules", str(error)) from None


def _earlier(path: str | None) -> t.Any:
    if not path:
        return None
    try:
        earlier = json.loads(_read("compare", path))
        report.hosts_of(earlier)
    except (report.ReportError, ValueError, RecursionError) as error:
        raise _refused("compare", f"{path}: {error}; name a report.json that this audit wrote") from None
    return earlier


def _read(option: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise _refused(option, f"{path}: {error.strerror}; name a file that can be read, or leave it out") from None
    except UnicodeDecodeError as error:
        raise _refused(option, f"{path}: it is no text in UTF-8 ({error.reason} at byte {error.start}); save it as such") from None


def _result(hostvars: t.Any, host: str, names: t.Sequence[str]) -> t.Any:
    """The first result, or where that failed the next. Each is tried only after the one before it failed: others are of an earlier use of the role."""
    try:
        variables = hostvars.get(host) or {}
        found = None
        for name in names:
            result = variables.get(name)
            if not isinstance(result, t.Mapping) or result.get("skipped"):
                break
            found = result
            if result.get("unreachable") or not result.get("failed"):
                break
        return _plain(found)
    except Exception as error:  # pylint: disable=broad-except  # ansible-core itself fails to read what is nested a few hundred deep
        return {"msg": f"what it returned cannot be read: {type(error).__name__}: {error}"}


def _plain(value: t.Any) -> t.Any:
    """Without the types that ansible-core wraps values in, and without halves of characters, which no file can hold."""
    if isinstance(value, t.Mapping):
        return {_plain(str(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _replace(path: str, text: str) -> None:
    """Writes beside and renames, so that who reads the report never meets half of one. Findings are for their owner."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".report-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise _refused("dest", f"{path} cannot be written: {error.strerror}; nothing of the old one was lost") from None


def _numbers(option: str, values: dict[str, t.Any]) -> dict[str, t.Any]:
    """The thresholds with numbers for their texts, as which ``-e name=value`` gives them."""
    return {name: _names(f"{option}.{name}", value) if name in _LISTS else _number(f"{option}.{name}", value) for name, value in values.items()}


def _names(option: str, value: t.Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise _refused(option, f"{value!r} is no list of names; {_AS_JSON}")
    return value


def _number(option: str, value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return _numbers(option, value)
    if isinstance(value, list):
        return [one if isinstance(one, str) else _number(option, one) for one in value]
    try:
        number = _parsed(value) if isinstance(value, str) else value
        fits = not isinstance(number, bool) and math.isfinite(number)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise _refused(option, f"{value!r} is no number; {_AS_JSON}")
    if number < 0:
        raise _refused(option, f"it is {number}; give 0 or more")
    return number


def _parsed(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number
