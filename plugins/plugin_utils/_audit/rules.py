# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rules as data, made ready to be asked. Expressions come from whoever runs the audit, values from the hosts."""

from __future__ import annotations

import functools
import typing as t

import yaml
from jinja2 import StrictUndefined, TemplateError, Undefined, UndefinedError, nodes
from jinja2.compiler import CodeGenerator
from jinja2.sandbox import ImmutableSandboxedEnvironment

SEVERITIES = ("critical", "high", "medium", "low", "info")
SCOPES = ("host", "space")

_REQUIRED = ("id", "severity", "title", "applies", "evidence")
_OPTIONAL = {"advice": "", "reference": "", "per": "host", "each": None}
_CHOICES = {"severity": SEVERITIES, "per": SCOPES}
_LONGEST_EVIDENCE = 600


class RuleError(Exception):
    """A rule that cannot be used; the text names it and says why."""


class UnknownRule(Exception):
    """A rule that shall be left out and is not there."""


class NotJudged(Exception):
    """A value that the rule needs was not gathered."""


class _Undefined(StrictUndefined):
    """A value that was not gathered. What is in it was not gathered either; any other use but ``default`` and ``is defined`` raises."""

    def __getattr__(self, name: str) -> _Undefined:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: t.Any) -> _Undefined:
        return self


def _given(value: t.Any) -> t.Any:
    if isinstance(value, Undefined):
        bool(value)  # raises, and names what is missing
    return value


class _Code(CodeGenerator):
    """Looks at both sides of each comparison: Python asks neither for ``missing in []``."""

    def visit_Template(self, node: nodes.Template, frame: t.Any = None) -> None:
        for compare in list(node.find_all(nodes.Compare)):
            for place in (compare, *compare.ops):
                place.expr = nodes.Filter(place.expr, "given", [], [], None, None, lineno=compare.lineno)
        super().visit_Template(node, frame)


def _strict(test: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    """A test that takes no value which is missing, as ``none`` and ``false`` would without a word."""

    @functools.wraps(test)  # keeps the mark of those that are handed the environment
    def asked(*values: t.Any, **named: t.Any) -> t.Any:
        return test(*map(_given, values), **named)

    return asked


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(undefined=_Undefined)
    environment.code_generator_class = _Code
    environment.filters["given"] = _given
    environment.tests.update({name: _strict(test) for name, test in environment.tests.items() if name not in ("defined", "undefined")})
    return environment


class Rule:
    """One rule, compiled."""

    def __init__(self, row: t.Mapping[str, t.Any], environment: ImmutableSandboxedEnvironment) -> None:
        self.id, self.severity, self.title = row["id"], row["severity"], row["title"]
        self.advice, self.reference, self.per = row["advice"], row["reference"], row["per"]
        try:
            self._applies = _expression(environment, row["applies"])
            self._each = _expression(environment, row["each"]) if row["each"] is not None else None
            self._evidence = environment.from_string(row["evidence"])
        except TemplateError as error:
            raise RuleError(f"rule {self.id}: {error}") from None
        except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
            # Jinja and Python each give up on too many brackets in their own way.
            raise RuleError(f"rule {self.id}: it cannot be compiled: {type(error).__name__}: {error}") from None

    def ask(self, values: t.Mapping[str, t.Any]) -> t.Iterator[str]:
        """The evidence of each finding. An item that lacks a value is passed over.

        :raises NotJudged: when no item could be judged, if there are any
        :raises RuleError: when the expression is wrong in itself
        """
        judged, asked = 0, 0
        for item in self._items(values):
            asked += 1
            scope = dict(values, item=item)
            try:
                applies = self._value(lambda names: bool(self._applies(names)), scope)
                evidence = self._value(self._evidence.render, scope)[:_LONGEST_EVIDENCE] if applies else None
            except NotJudged:
                continue
            judged += 1
            if evidence is not None:
                yield evidence
        if asked and not judged:
            raise NotJudged

    def _items(self, values: t.Mapping[str, t.Any]) -> t.Iterable[t.Any]:
        if self._each is None:
            return (None,)
        items = self._value(self._each, dict(values))
        if isinstance(items, Undefined) or items is None:
            raise NotJudged
        return items

    def _value(self, compiled: t.Callable[[dict[str, t.Any]], t.Any], values: dict[str, t.Any]) -> t.Any:
        try:
            return compiled(values)
        except UndefinedError:
            raise NotJudged from None
        except TypeError as error:
            # A fact that is null, such as the use of a table without a limit, does not compare.
            if "NoneType" in str(error) or "Undefined" in str(error):
                raise NotJudged from None
            raise RuleError(f"rule {self.id}: {error}") from None
        except Exception as error:  # pylint: disable=broad-except  # a user wrote the expression, and hosts the values
            raise RuleError(f"rule {self.id}: {type(error).__name__}: {error}") from None

    def described(self) -> dict[str, t.Any]:
        """As in the report."""
        return {name: getattr(self, name) for name in ("id", "severity", "title", "advice", "reference")}


def _expression(environment: ImmutableSandboxedEnvironment, text: t.Any) -> t.Callable[[dict[str, t.Any]], t.Any]:
    return environment.compile_expression(str(text), undefined_to_none=False)


def parse(text: str, source: str) -> list[dict[str, t.Any]]:
    """The rows of a file of rules.

    :param source: named in errors
    :raises RuleError: for what is no list of rules
    """
    try:
        rows = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise RuleError(f"{source}: {error}") from None
    except RecursionError:
        raise RuleError(f"{source}: it is nested too deep") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise RuleError(f"{source}: a file of rules is a list of mappings, each with an id")
    seen: set[str] = set()
    for row in rows:
        wrong = _wrong(row)
        if wrong:
            raise RuleError(f"{source}: rule {row['id']}: {', '.join(wrong)}")
        if row["id"] in seen:
            raise RuleError(f"{source}: rule {row['id']}: it is there twice; put both into one")
        seen.add(row["id"])
    return rows


def _wrong(row: t.Mapping[str, t.Any]) -> list[str]:
    """What cannot be in a row, be it a whole rule or some keys of one."""
    wrong = []
    for name, value in row.items():
        if name not in _REQUIRED and name not in _OPTIONAL:
            wrong.append(f"{name} is unknown")
        elif name in _CHOICES and value not in _CHOICES[name]:
            wrong.append(f"{name} is one of {', '.join(_CHOICES[name])}, not {value}")
        elif not isinstance(value, str) and not (name == "applies" and isinstance(value, bool)) and not (name == "each" and value is None):
            wrong.append(f"{name} is text, not {value!r}: put it in quotes")
        elif name in _REQUIRED and not str(value).strip():
            wrong.append(f"{name} is empty")
    return wrong


def merged(files: t.Iterable[list[dict[str, t.Any]]]) -> list[dict[str, t.Any]]:
    """All rows, where a later row with a known id changes the keys that it names."""
    rows: dict[str, dict[str, t.Any]] = {}
    for file in files:
        for row in file:
            rows.setdefault(row["id"], {}).update(row)
    return list(rows.values())


def compiled(rows: t.Sequence[t.Mapping[str, t.Any]], disabled: t.Collection[str] = ()) -> list[Rule]:
    """The rules, those with the highest severity first.

    :param disabled: ids to leave out
    :raises RuleError: for a row that is none
    :raises UnknownRule: for a disabled id that is not there
    """
    unknown = sorted(set(disabled) - {row["id"] for row in rows})
    if unknown:
        raise UnknownRule(f"there is no rule {', '.join(unknown)}")
    environment = _environment()
    rules = [Rule(_whole(row), environment) for row in rows if row["id"] not in disabled]
    return sorted(rules, key=lambda rule: SEVERITIES.index(rule.severity))


def _whole(row: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    wrong = [f"{name} is missing" for name in _REQUIRED if name not in row] + _wrong(row)
    if wrong:
        raise RuleError(f"rule {row['id']}: {', '.join(wrong)}")
    return dict(_OPTIONAL, **row)
