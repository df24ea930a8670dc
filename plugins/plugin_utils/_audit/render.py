# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report as text, by Jinja templates. What comes from hosts is data in each format."""

from __future__ import annotations

import json
import re
import typing as t
import unicodedata

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

# A spreadsheet takes a cell that starts with one of these as a formula. Which characters in front do not stop it (spaces, line breaks, controls, marks
# that are not seen), each program decides for itself: so those before the first letter or digit, in any of their forms (full width, small).
_FORMULA = re.compile(r"\W*?[=+\-\u2212@\t]")
# Where another separator than the comma is set, a cell starts after that too.
_FORMULA_INSIDE = re.compile("([;|\\t])(?=[^\\w;|\\t]*?[=+\\-@\u2212\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207a-\u207c\u208a-\u208c])")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^:])")

# Terminals obey controls, and marks of direction show text in another order than it has.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

FORMATS = ("html", "json", "csv", "md")


class RenderError(Exception):
    """A template that is wrong, or a value that it cannot show."""


def rendered(report: t.Mapping[str, t.Any], template: str, kind: str) -> str:
    """The text.

    :param kind: one of :data:`FORMATS`; HTML is escaped by itself, the others by the filters that they use
    :raises RenderError: when the template is wrong
    """
    environment = ImmutableSandboxedEnvironment(
        autoescape=kind == "html", undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(cell=cell, md=markdown, json_text=json_text, thousands=thousands, short=short)
    try:
        return environment.from_string(template).render(report=report, titles=_titles(report), where=_where(report))
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise RenderError(f"template of {kind}, line {getattr(error, 'lineno', '?')}: {error}") from None


def _titles(report: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Rule to title."""
    return {rule["id"]: rule["title"] for rule in report["rules"]}


def _where(report: t.Mapping[str, t.Any]) -> dict[str, list[dict[str, t.Any]]]:
    """Rule to its findings with their hosts."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for host in report["hosts"]:
        for finding in host["findings"]:
            found.setdefault(finding["id"], []).append(dict(finding, host=host["name"]))
    return found


def cell(value: t.Any) -> str:
    """A cell of CSV (RFC 4180) that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", " ", str(value))
    if not isinstance(value, (int, float)) and _FORMULA.match(unicodedata.normalize("NFKC", text)):
        text = "'" + text
    if not isinstance(value, (int, float)):
        text = _FORMULA_INSIDE.sub(r"\1'", text)
    return '"' + text.replace('"', '""') + '"' if re.search(r"[\",;'\s]", text) else text


def markdown(value: t.Any) -> str:
    """Text in Markdown, on one line, without meaning to it or to a terminal."""
    plain = _DIRECTIONS.sub("", _CONTROLS.sub(" ", str(value)))
    return _MARKDOWN.sub(r"\\\1", " ".join(plain.split()))


def json_text(value: t.Any) -> str:
    """JSON, readable and with a stable order."""
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False)


def thousands(value: float) -> str:
    """12 345 with a narrow no-break space."""
    return f"{value:,}".replace(",", "\u202f")


def short(value: float) -> str:
    """12 345 as it is, 1 234 567 as 1.2 M."""
    for unit, name in ((10**9, "G"), (10**6, "M")):
        if value >= unit:
            return f"{value / unit:.1f}\u202f{name}"
    return thousands(value)
