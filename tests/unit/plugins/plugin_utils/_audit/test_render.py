# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each format shows what is in the report, and takes what hosts say as data."""

from __future__ import annotations

import csv
import io
import json
import typing as t
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic_fleet
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import render

Build = t.Callable[..., t.Dict[str, t.Any]]

TEMPLATES = Path(__file__).resolve().parents[5] / "roles" / "audit" / "templates"
HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>" onload="alert(3)\' {{ 7 * 7 }} {% raw %}'


def rendered(report: dict[str, t.Any], kind: str) -> str:
    return render.rendered(report, (TEMPLATES / f"report.{kind}.j2").read_text(encoding="utf-8"), kind)


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def hostile(facts: dict[str, t.Any], build: Build) -> dict[str, t.Any]:
    """A report of a host that says nothing but this."""
    facts["kernel_audit"]["kernel"] = HOSTILE
    facts["kernel_audit"]["namespaces"][0]["name"] = HOSTILE
    facts["kernel_audit"]["namespaces"][0]["conntrack"]["table"]["used_percent"] = 99.0
    facts["netlink_sockets"]["processes"][0].update(command=HOSTILE, drops=5000)
    facts["conntrack"]["capabilities"]["evidence"]["zone_filter"] = HOSTILE
    return build({HOSTILE: {"ansible_facts": facts}, "down": {"unreachable": True, "msg": HOSTILE}})


def test_html_has_no_element_of_a_host(hostile: dict[str, t.Any], facts: dict[str, t.Any], build: Build) -> None:
    elements = Elements(rendered(hostile, "html")).found
    assert [tag for tag, _attributes in elements].count("script") == 1
    assert not any(tag in ("img", "iframe", "object", "embed", "link") and "data:," not in str(attributes) for tag, attributes in elements)
    assert not any(name.startswith("on") for _tag, attributes in elements for name in attributes)


@pytest.mark.parametrize("kind", render.FORMATS)
def test_nothing_of_a_host_is_a_template(kind: str, hostile: dict[str, t.Any]) -> None:
    text = rendered(hostile, kind)
    assert "{{ 7 * 7 }}" in text or "\\{\\{ 7 \\* 7 \\}\\}" in text


def test_html_asks_for_nothing(build: Build) -> None:
    elements = Elements(rendered(build(synthetic_fleet.results(20)), "html")).found
    assert not [attributes for _tag, attributes in elements if "src" in attributes]
    policy = next(attributes["content"] for tag, attributes in elements if tag == "meta" and attributes.get("http-equiv"))
    assert policy and policy.startswith("default-src 'none'")


def test_markdown_has_nothing_of_html(hostile: dict[str, t.Any]) -> None:
    text = rendered(hostile, "md")
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "<img" not in text.replace("\\<img", "")


@pytest.mark.parametrize(
    "value, text",
    [
        ("a\x1b[31mb", "a \\[31mb"),
        ("a\x07b\x00\x7f", "a b"),
        ("a\x9b31mb\x85c", "a 31mb c"),
        ("\u202eevil\u202c \u2066x\u2069 \u200f\u061cy", "evil x y"),
        ("**a** | b\n# c", "\\*\\*a\\*\\* \\| b \\# c"),
    ],
)
def test_markdown_of_text(value: str, text: str) -> None:
    assert render.markdown(value) == text


def test_markdown_of_what_a_comparison_and_each_host_say(facts: dict[str, t.Any], build: Build) -> None:
    """Whatever text is in a report is without meaning, also where only words of ours are due."""
    marked = "**[x](y)** <b>"
    report = build({"web1": {"ansible_facts": facts}}, build({"web1": {"ansible_facts": facts}}))
    one = report["hosts"][0]
    one["capabilities"].update(zone_filter=marked, ipvs=marked, ovs=marked)
    one["findings"][0].update(space=marked, evidence=marked)
    one.update(kernel=marked, reason=marked, name=marked)
    found = {"id": marked, "severity": marked, "space": marked, "evidence": marked}
    row = {"name": marked, "findings_new": [found], "findings_resolved": [found]}
    report["comparison"].update(since=marked, added=[marked], removed=[marked], changed=[row])
    report.update(title=marked)
    assert not [line for line in rendered(report, "md").splitlines() if "**[" in line or "<b>" in line.replace("\\<b\\>", "")]


CELLS = [
    ("text", "text"),
    (None, ""),
    (5, "5"),
    (-5.5, "-5.5"),
    (True, "yes"),
    ('say "x"', '"say ""x"""'),
    ("a,b", '"a,b"'),
    ("=1+1", '"\'=1+1"'),
    ("+1", '"\'+1"'),
    ("-1", '"\'-1"'),
    ("@SUM(A1)", '"\'@SUM(A1)"'),
    ("\t=1", "\"'\t'=1\""),
    ("\r\n=1", '"\'  =1"'),
    ("  =1", '"\'  =1"'),
    ("\uff1d1", '"\'\uff1d1"'),
    # Before the sign: NUL and other controls, spaces and marks that are not seen, signs.
    *((f"{start}=1", f'"\'{start}=1"') for start in "\u200b\ufeff\u202e\u2066\u00ad\u2060\u00a0\u3000\u2028\u180e\u0301(*\u00b7"),
    *((f"{start}{sign}1", f'"\' {sign}1"') for start in "\x00\x01\x0b\x1b\x1f\x7f" for sign in "=+-@"),
    ("\x85=1", '"\'\x85=1"'),
    ("\u200b\t1", '"\'\u200b\t1"'),
    ("\ufeff\u202e @x", '"\'\ufeff\u202e @x"'),
    # Other forms of the signs: small, raised, the mathematical minus.
    *((f"{sign}1", f'"\'{sign}1"') for sign in "\ufe66\ufe62\ufe63\ufe6b\u2212\u207a\uff0b\uff0d\uff20"),
    ("a=1", "a=1"),
    # Where another separator is set.
    ("x;=1+1;y", '"x;\'=1+1;y"'),
    ("x; \u200b@y", '"x;\' \u200b@y"'),
    ("x\t-1", '"x\t\'-1"'),
    ("x|\uff0b1", '"x|\'\uff0b1"'),
    ("x;y|z", '"x;y|z"'),
    ("node-1", "node-1"),
    ("_=1", "_=1"),
    ("5.0-1", "5.0-1"),
    ("a\x00b", '"a b"'),
]


@pytest.mark.parametrize("value, text", CELLS)
def test_cell(value: t.Any, text: str) -> None:
    assert render.cell(value) == text


def test_csv_has_a_line_for_each_finding(build: Build) -> None:
    report = build(synthetic_fleet.results(60))
    rows = list(csv.DictReader(io.StringIO(rendered(report, "csv"))))
    expected = [(one["name"], finding["id"]) for one in report["hosts"] for finding in one["findings"] or [{"id": ""}]]
    assert [(row["host"], row["finding"]) for row in rows] == expected
    assert all(None not in row and None not in row.values() for row in rows)


def test_csv_of_a_hostile_host(hostile: dict[str, t.Any], facts: dict[str, t.Any], build: Build) -> None:
    facts["kernel_audit"]["kernel"] = '=HYPERLINK("http://192.0.2.1","x")'
    rows = list(csv.reader(io.StringIO(rendered(build({"@evil": {"ansible_facts": facts}}), "csv"))))
    assert rows[1][0] == "'@evil"
    assert rows[1][2].startswith("'=HYPERLINK")


def test_json_is_the_report(build: Build) -> None:
    report = build(synthetic_fleet.results(20))
    assert json.loads(rendered(report, "json")) == report


@pytest.mark.parametrize("kind", render.FORMATS)
def test_a_comparison_and_a_fleet_of_none_are_rendered(kind: str, build: Build) -> None:
    earlier = build(synthetic_fleet.results(40))
    later = build(synthetic_fleet.results(45, seed=6), earlier)
    assert later["comparison"]["changed"]
    assert rendered(later, kind)
    assert rendered(build({}), kind)


def test_a_wrong_template_is_named(build: Build) -> None:
    with pytest.raises(render.RenderError, match="html"):
        render.rendered(build({}), "{{ report.absent }}", "html")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_is_not_written(value: float, build: Build) -> None:
    with pytest.raises(render.RenderError, match="json"):
        rendered(dict(build({}), thresholds={"x": value}), "json")


def test_a_threshold_that_is_none_is_no_traceback(facts: dict[str, t.Any], build: Build) -> None:
    report = dict(build({"host": {"ansible_facts": facts}}), thresholds={"table_critical_percent": []})
    with pytest.raises(render.RenderError, match="html"):
        rendered(report, "html")


@pytest.mark.parametrize("percent, shown", [(0.0, "0.0"), (5.5, "5.5"), (None, "")])
def test_markdown_tells_an_empty_table_from_one_without_a_limit(percent: float | None, shown: str, facts: dict[str, t.Any], build: Build) -> None:
    facts["conntrack"]["table"]["used_percent"] = percent
    (row,) = [line for line in rendered(build({"web1": {"ansible_facts": facts}}), "md").splitlines() if line.startswith("| web1 |")]
    assert row.split(" | ")[3] == shown


@pytest.mark.parametrize("value, text", [(999, "999"), (12345, "12\u202f345"), (10656178, "10.7\u202fM"), (3 * 10**9, "3.0\u202fG")])
def test_short(value: int, text: str) -> None:
    assert render.short(value) == text


@pytest.mark.parametrize("number", [0, 40])
def test_json_keeps_its_schema(number: int, build: Build) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((TEMPLATES.parent / "files" / "report.schema.json").read_text(encoding="utf-8"))
    earlier = build(synthetic_fleet.results(number))
    for report in (earlier, build(synthetic_fleet.results(number + 5, seed=6), earlier)):
        jsonschema.validate(json.loads(rendered(report, "json")), schema)
