# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever one host returns, the report is written and the others are in it; and what is wrong with an option is said by its name, before any host is asked."""

from __future__ import annotations

import copy
import csv
import functools
import io
import json
import random
import types
import typing as t
from pathlib import Path

import pytest
import synthetic_fleet
from ansible.errors import AnsibleActionFail
from ansible_collections.netstate.kernel.plugins.action import audit_report
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import host
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

try:
    import jsonschema
except ImportError:  # tests/unit/requirements.txt has what a test cannot do without
    jsonschema = None

ROLE = Path(__file__).resolve().parents[4] / "roles" / "audit"
RULES = ROLE / "files" / "rules.yml"
SCHEMA = jsonschema and jsonschema.Draft202012Validator(json.loads((ROLE / "files" / "report.schema.json").read_text(encoding="utf-8")))
CHANCE = random.Random(5)
NAMESPACE = {
    "name": "qrouter-1",
    "problems": {"ipvs": {"reason": None, "text": "x"}},
    "conntrack": synthetic_fleet.conntrack(CHANCE, "6.12.0", "exact", "right"),
    "ipvs": {"available": False, "reason": "not_loaded", "reason_text": "x"},
}
# All that the modules return and the report shows.
FACTS: dict[str, t.Any] = {
    "conntrack": dict(NAMESPACE["conntrack"], modules={"nf_conntrack": "loaded"}),
    "ipvs": {
        "available": True,
        "reason": None,
        "reason_text": None,
        "kernel": "6.12.0",
        "capabilities": {"bulk_dump": False, "schedulers": {"usable": ["rr"], "loadable": ["sh"]}},
        "totals": {"services": 12, "destinations": 48, "by_protocol": {"tcp": 10, "udp": 2}},
        "settings": {"timeouts": {"tcp": 900, "tcp_fin": 120, "udp": 300}, "sync_daemons": []},
        "advice": [{"sysctl": "net.ipv4.vs.expire_nodest_conn", "value": 0, "reason": "x"}],
    },
    "netlink_sockets": {
        "available": True,
        "reason": None,
        "totals": {"sockets": 920, "held": 900, "unmatched": 3, "drops": 0, "holders": 4, "processes": 210, "unreadable_processes": 2},
        "processes": [synthetic_fleet.process("ovs-vswitchd", 900, 1024, drops=500)],
        "openvswitch": [synthetic_fleet.switch(900, "per_port")],
    },
    "kernel_audit": {
        "gathered_at": synthetic_fleet.GATHERED_AT,
        "kernel": "6.12.0",
        "python": "3.11.2",
        "pyroute2": True,
        "uid": 0,
        "uptime_seconds": 36000.0,
        "problems": {"conntrack": {"reason": "no_answer", "text": "x"}},
        "namespaces": [NAMESPACE],
        "namespaces_matched": 2,
    },
}


def nested(depth: int) -> list[t.Any]:
    value: list[t.Any] = []
    for _step in range(depth):
        value = [value]
    return value


HOSTILE: list[t.Any] = [
    None,
    True,
    -500,
    1.5,
    float("nan"),
    float("inf"),
    10**400,
    10**5000,
    2**64,
    -(2**63) - 1,
    "",
    "\x00\x1b[31m\u202e=1",
    "\ud800\udcff",
    '</script><img src=x onerror=alert(1)>{{ 7 * 7 }}"' * 100,
    [None],
    {},
    {"": None, "text": {}, "name": [], "*": 5, "count!": 5},
    nested(15),
    nested(5000),
]
Path_ = t.Tuple[t.Union[str, int], ...]


def paths(value: t.Any, path: Path_ = ()) -> t.Iterator[Path_]:
    """Where each value is, mappings and lists themselves included."""
    yield path
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in rows:
        yield from paths(one, (*path, key))


def at(path: Path_) -> t.Any:
    return functools.reduce(lambda value, step: value[step], path, {"ansible_facts": FACTS})


PATHS = list(paths({"ansible_facts": FACTS}))
CONTAINERS = [path for path in PATHS if isinstance(at(path), (dict, list))]


def changed(path: Path_, change: t.Callable[[t.Any, t.Any], None]) -> dict[str, t.Any]:
    """What a host returns, changed at one place."""
    around = {"result": {"ansible_facts": copy.deepcopy(FACTS)}}
    target: t.Any = around
    *way, last = ("result", *path)
    for step in way:
        target = target[step]
    change(target, last)
    return around.get("result", {})


class Audit:
    """The action on results that are there already."""

    def __init__(self, folder: Path) -> None:
        self.dest = folder / "out"
        self.options: dict[str, t.Any] = dict(
            hosts=[],
            results=["audit_first", "audit_second"],
            dest=str(self.dest),
            formats=["html", "json", "csv", "md"],
            rules=[str(RULES)],
            disabled=[],
            thresholds=synthetic_fleet.THRESHOLDS,
            templates=str(ROLE / "templates"),
            compare=None,
            title="Fleet audit",
            fail_on="never",
            check_only=False,
        )

    def run(self, results: dict[str, t.Any], check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
        action = audit_report.ActionModule.__new__(audit_report.ActionModule)
        action._task = types.SimpleNamespace(check_mode=check_mode)
        hostvars = {name: {"audit_first": result} for name, result in results.items()}
        return action._told(dict(self.options, hosts=list(results), **options), {"hostvars": hostvars})

    def report(self) -> dict[str, t.Any]:
        def refused(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        return json.loads((self.dest / "report.json").read_text(encoding="utf-8"), parse_constant=refused)


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    return Audit(tmp_path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, t.Any]:
    """The honest host in a report without any other."""
    audit = Audit(tmp_path_factory.mktemp("alone"))
    told = audit.run({"honest": {"ansible_facts": FACTS}})
    (one,) = audit.report()["hosts"]
    assert (one["status"], one["rule_errors"], told.get("warnings")) == ("partial", [], None)
    return one


def assert_only_they_are_harmed(audit: Audit, alone: dict[str, t.Any], odd: dict[str, t.Any]) -> None:
    """The report is there in each format, with all hosts; the honest one is as it is alone."""
    audit.run({"honest": {"ansible_facts": FACTS}, **odd})
    report = audit.report()
    if SCHEMA:
        SCHEMA.validate(report)
    hosts = {one["name"]: one for one in report["hosts"]}
    assert set(hosts) == {"honest", *odd}
    assert hosts["honest"] == alone
    assert all(one["reason"] for one in hosts.values() if one["status"] in (host.FAILED, host.UNREACHABLE))
    cells = list(csv.reader(io.StringIO((audit.dest / "report.csv").read_text(encoding="utf-8"))))
    assert {row[0] for row in cells[1:]} == set(hosts) and {len(row) for row in cells} == {10}
    for kind in ("html", "md"):
        text = (audit.dest / f"report.{kind}").read_text(encoding="utf-8")
        assert all(name in text for name in hosts)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_each_value_of_a_host_replaced(value: t.Any, audit: Audit, alone: dict[str, t.Any]) -> None:
    def replace(target: t.Any, key: t.Any) -> None:
        target[key] = value

    assert_only_they_are_harmed(audit, alone, {f"odd{number}.": changed(path, replace) for number, path in enumerate(PATHS)})


@pytest.mark.parametrize("value", [float("nan"), 10**400, "\ud800", nested(13), nested(5000)], ids=lambda value: type(value).__name__)
def test_a_value_added_to_each_mapping_and_list(value: t.Any, audit: Audit, alone: dict[str, t.Any]) -> None:
    def add(target: t.Any, key: t.Any) -> None:
        if isinstance(target[key], dict):
            target[key].update({"added": value, "": value})
        else:
            target[key].append(value)

    assert_only_they_are_harmed(audit, alone, {f"odd{number}.": changed(path, add) for number, path in enumerate(CONTAINERS)})


def test_each_value_of_a_host_left_out(audit: Audit, alone: dict[str, t.Any]) -> None:
    def leave_out(target: t.Any, key: t.Any) -> None:
        del target[key]

    assert_only_they_are_harmed(audit, alone, {f"odd{number}.": changed(path, leave_out) for number, path in enumerate(PATHS)})


@pytest.mark.parametrize("name", ["unreachable", "msg", "module_stderr", "module_stdout", "skipped", "failed", "rc"])
def test_results_without_facts(name: str, audit: Audit, alone: dict[str, t.Any]) -> None:
    assert_only_they_are_harmed(audit, alone, {f"odd{number}.": {"changed": False, name: value} for number, value in enumerate(HOSTILE)})


SAID = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "count", "max", "problems", "totals", "x"]), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(PATHS), SAID), min_size=20, max_size=20))
def test_whatever_is_said(audit: Audit, alone: dict[str, t.Any], changes: list[tuple[Path_, t.Any]]) -> None:
    odd = {}
    for number, (path, value) in enumerate(changes):
        odd[f"odd{number}."] = changed(path, lambda target, key, value=value: target.__setitem__(key, value))
    assert_only_they_are_harmed(audit, alone, odd)


GOOD_RESULT: dict[str, t.Any] = {"ansible_facts": FACTS}
REFUSED_ROOT: dict[str, t.Any] = {"failed": True, "msg": "sudo: no"}


@pytest.mark.parametrize(
    "first, second, asked, status",
    [
        (GOOD_RESULT, None, True, "partial"),  # these facts have a part that failed
        (REFUSED_ROOT, GOOD_RESULT, True, "partial"),
        (REFUSED_ROOT, {"failed": True, "msg": "no Python"}, True, "failed"),
        (REFUSED_ROOT, {"unreachable": True, "msg": "gone"}, True, "unreachable"),
        # The second one is left from an earlier use of the role in the same play.
        ({"unreachable": True, "msg": "down"}, GOOD_RESULT, True, "unreachable"),
        ({"skipped": True}, GOOD_RESULT, True, "failed"),
        (None, GOOD_RESULT, True, "failed"),
        # So are both of a host that left the play since.
        (GOOD_RESULT, GOOD_RESULT, False, "failed"),
    ],
)
def test_only_what_this_run_brought_is_taken(first: t.Any, second: t.Any, asked: bool, status: str, audit: Audit) -> None:
    action = audit_report.ActionModule.__new__(audit_report.ActionModule)
    action._task = types.SimpleNamespace(check_mode=False)
    hostvars = {"web1": {name: result for name, result in (("audit_first", first), ("audit_second", second)) if result}}
    action._told(dict(audit.options, hosts=["web1"], asked=["web1"] if asked else []), {"hostvars": hostvars})
    (one,) = audit.report()["hosts"]
    assert one["status"] == status
    assert ("was not asked" in one["reason"]) is (not asked or not first or "skipped" in first)


def test_what_the_shape_does_not_see_harms_that_host_alone(audit: Audit, alone: dict[str, t.Any], monkeypatch: pytest.MonkeyPatch) -> None:
    real = host.capabilities

    def fails(facts: dict[str, t.Any]) -> dict[str, t.Any]:
        if facts.get("kernel_audit", {}).get("kernel") == "odd":
            raise RecursionError("so deep")
        return real(facts)

    monkeypatch.setattr(host, "capabilities", fails)
    facts = copy.deepcopy(FACTS)
    facts["kernel_audit"]["kernel"] = "odd"
    assert_only_they_are_harmed(audit, alone, {"odd": {"ansible_facts": facts}})
    (one,) = [one for one in audit.report()["hosts"] if one["name"] == "odd"]
    assert (one["status"], one["reason"]) == ("failed", "what it returned cannot be judged: RecursionError: so deep")


MINE = "{id: mine, severity: low, title: T, applies: 'true', evidence: e}"
# Files of rules, and what is said of them.
RULES_REFUSED: list[tuple[str | bytes, str]] = [
    (b"- {id: caf\xe9}", "it is no text in UTF-8 (invalid continuation byte at byte 10); save it as such"),
    ("a: b", "a file of rules is a list of mappings, each with an id"),
    ("[", "while parsing"),
    (f"[{MINE}, {MINE}]", "rule mine: it is there twice; put both into one"),
    ("- {id: 5}", "rule 5: id is text, not 5: put it in quotes"),
    ("- {id: ' '}", "rule  : id is empty"),
    ("- {id: [a]}", "rule ['a']: id is text, not ['a']: put it in quotes"),
    ("- {id: mine, title: 5}", "rule mine: title is text, not 5: put it in quotes"),
    ("- {id: mine, title: }", "rule mine: title is text, not None: put it in quotes"),
    ("- {id: mine, reference: {a: b}}", "rule mine: reference is text, not {'a': 'b'}: put it in quotes"),
    ("- {id: mine, severity: [low]}", "rule mine: severity is one of critical, high, medium, low, info, not ['low']"),
    ("- {id: mine, colour: red}", "rule mine: colour is unknown"),
    ("- {id: mine, severity: low}", "rule mine: title is missing, applies is missing, evidence is missing"),
    (f"[{MINE.replace('true', '1 +')}]", "rule mine: unexpected"),
]


@pytest.mark.parametrize("text, why", RULES_REFUSED)
def test_rules_that_are_refused(text: str | bytes, why: str, audit: Audit, tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = refused(audit, rules=[str(RULES), str(own)])
    assert said.startswith("rules (audit_rules_files of the role): ")
    assert why in said
    assert str(own) in said or "missing" in why or "unexpected" in why, "what shows only when all files are together is told by the rule's id"


def refused(audit: Audit, **options: t.Any) -> str:
    """What is said without asking any host; the same as at the end."""
    said = []
    for check_only in (True, False):
        with pytest.raises(AnsibleActionFail) as failure:
            audit.run({}, check_only=check_only, **options)
        said.append(str(failure.value))
    assert said[0] == said[1]
    assert not audit.dest.exists()
    return said[0]


EARLIER = {"schema": "netstate.kernel.audit", "schema_version": 1, "generated_at": "2026-11-30T12:00:00Z", "rules": []}
COMPARED: dict[str, t.Any] = {
    **dict.fromkeys(["kernel", "gathered_at", "table", "statistics"]),
    **dict.fromkeys(["namespaces", "not_judged", "rule_errors"], []),
    "name": "a",
    "status": "audited",
    "capabilities": {},
}
COMPARE_REFUSED: list[tuple[str | bytes, str]] = [
    (b"\xff", "it is no text in UTF-8 (invalid start byte at byte 0)"),
    ("", "Expecting value"),
    ("[1, 2]", "it is no report.json of this audit"),
    ("5", "it is no report.json of this audit"),
    ("null", "it is no report.json of this audit"),
    ('{"schema": "other"}', "it is no report.json of this audit"),
    (json.dumps(dict(EARLIER, schema_version=99)), "its schema_version is 99, not 1"),
    (json.dumps(EARLIER), "it is no report.json of this audit: the report lacks hosts"),
    (json.dumps(dict(EARLIER, hosts={})), "it is no report.json of this audit: the report.hosts is no list"),
    (json.dumps(dict(EARLIER, hosts=[5])), "it is no report.json of this audit: the report.hosts[0] is no mapping"),
    (json.dumps(dict(EARLIER, hosts=[COMPARED])), "it is no report.json of this audit: the report.hosts[0] lacks findings"),
    (
        json.dumps(dict(EARLIER, hosts=[dict(COMPARED, findings=[{"id": "x"}])])),
        "it is no report.json of this audit: the report.hosts[0].findings[0] lacks severity",
    ),
    (
        json.dumps(dict(EARLIER, hosts=[dict(COMPARED, findings=[], statistics={"drop": float("nan")})])),
        "it is no report.json of this audit: the report.hosts[0].statistics.drop is of another type",
    ),
    ("[" * 100000, "maximum recursion depth"),
]


@pytest.mark.parametrize("text, why", COMPARE_REFUSED)
def test_an_earlier_report_that_is_refused(text: str | bytes, why: str, audit: Audit, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = refused(audit, compare=str(earlier))
    assert said.startswith(f"compare (audit_compare of the role): {earlier}: ")
    assert why in said
    assert said.endswith(("name a report.json that this audit wrote", "save it as such"))


NAMES = "is no list of names; lists and mappings are given as JSON, as in -e '{\"NAME\": ...}'"
NUMBER = "is no number; lists and mappings are given as JSON, as in -e '{\"NAME\": ...}'"
# Options, in which FOLDER is one that is there.
REFUSED: list[tuple[dict[str, t.Any], str]] = [
    ({"dest": ""}, "dest (audit_dest of the role): it is empty; name the folder to write to"),
    ({"dest": "  "}, "dest (audit_dest of the role): it is empty; name the folder to write to"),
    ({"dest": "FOLDER/file/in/it"}, "dest (audit_dest of the role): FOLDER/file/in/it: FOLDER/file is no folder; name another"),
    ({"dest": "FOLDER/taken"}, "dest (audit_dest of the role): FOLDER/taken/report.csv is a folder; name another place, or move it away"),
    ({"formats": []}, "formats (audit_formats of the role): it is empty; name at least one of html, json, csv, md"),
    ({"disabled": ["host-failed", "typo"]}, f"disabled (audit_rules_disabled of the role): there is no rule typo; the ids are in {RULES}"),
    (
        {"rules": ["FOLDER/none.yml"]},
        "rules (audit_rules_files of the role): FOLDER/none.yml: No such file or directory; name a file that can be read, or leave it out",
    ),
    ({"rules": ["FOLDER"]}, "rules (audit_rules_files of the role): FOLDER: Is a directory; name a file that can be read, or leave it out"),
    (
        {"compare": "FOLDER/none.json"},
        "compare (audit_compare of the role): FOLDER/none.json: No such file or directory; name a file that can be read, or leave it out",
    ),
    ({"templates": "FOLDER"}, "templates: FOLDER/report.html.j2: No such file or directory; name a file that can be read, or leave it out"),
    ({"thresholds": {"drop_per_hour": "soon"}}, f"thresholds.drop_per_hour (audit_drop_per_hour of the role): 'soon' {NUMBER}"),
    ({"thresholds": {"drop_per_hour": None}}, f"thresholds.drop_per_hour (audit_drop_per_hour of the role): None {NUMBER}"),
    ({"thresholds": {"drop_per_hour": True}}, f"thresholds.drop_per_hour (audit_drop_per_hour of the role): True {NUMBER}"),
    ({"thresholds": {"drop_per_hour": float("nan")}}, f"thresholds.drop_per_hour (audit_drop_per_hour of the role): nan {NUMBER}"),
    ({"thresholds": {"drop_per_hour": "inf"}}, f"thresholds.drop_per_hour (audit_drop_per_hour of the role): 'inf' {NUMBER}"),
    ({"thresholds": {"ipvs_schedulers": "rr,wrr"}}, f"thresholds.ipvs_schedulers (audit_ipvs_schedulers of the role): 'rr,wrr' {NAMES}"),
    ({"thresholds": {"ipvs_schedulers": 5}}, f"thresholds.ipvs_schedulers (audit_ipvs_schedulers of the role): 5 {NAMES}"),
    ({"thresholds": {"ipvs_schedulers": ["rr", 5]}}, f"thresholds.ipvs_schedulers (audit_ipvs_schedulers of the role): ['rr', 5] {NAMES}"),
    ({"thresholds": {"ipvs_schedulers": [""]}}, f"thresholds.ipvs_schedulers (audit_ipvs_schedulers of the role): [''] {NAMES}"),
    ({"thresholds": {"table_high_percent": -5}}, "thresholds.table_high_percent (audit_table_high_percent of the role): it is -5; give 0 or more"),
    ({"thresholds": {"timeout_factor": "-1"}}, "thresholds.timeout_factor (audit_timeout_factor of the role): it is -1; give 0 or more"),
    (
        {"thresholds": {"timeout_defaults": {"udp_timeout": -0.5}}},
        "thresholds.timeout_defaults.udp_timeout (audit_timeout_defaults.udp_timeout of the role): it is -0.5; give 0 or more",
    ),
    ({"thresholds": {"list": [float("inf")]}}, f"thresholds.list (audit_list of the role): inf {NUMBER}"),
    (
        {"thresholds": {"timeout_defaults": {"udp_timeout": "soon"}}},
        f"thresholds.timeout_defaults.udp_timeout (audit_timeout_defaults.udp_timeout of the role): 'soon' {NUMBER}",
    ),
]


@pytest.mark.parametrize("options, why", REFUSED)
def test_an_option_that_is_refused(options: dict[str, t.Any], why: str, audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "report.csv").mkdir(parents=True)

    def real(value: t.Any) -> t.Any:
        if isinstance(value, list):
            return [real(one) for one in value]
        return value.replace("FOLDER", str(tmp_path)) if isinstance(value, str) else value

    assert refused(audit, **{name: real(value) for name, value in options.items()}) == real(why)


def test_thresholds_given_as_text_are_numbers(audit: Audit) -> None:
    audit.run({}, thresholds={"a": "5", "b": "0.5", "c": {"d": "1e3"}, "e": ["rr", 5], "f": 2**63 + 1})
    assert audit.report()["thresholds"] == {"a": 5, "b": 0.5, "c": {"d": 1000}, "e": ["rr", 5], "f": 2**63 + 1}


def test_a_look_at_the_options_leaves_nothing(audit: Audit) -> None:
    assert audit.run({"honest": {"ansible_facts": FACTS}}, check_only=True) == {"changed": False}
    assert not audit.dest.exists()


@pytest.mark.parametrize("fail_on, begins", [("never", "Report"), ("low", "There are findings of severity low or above. Report")])
def test_check_mode_says_what_would_be_written(fail_on: str, begins: str, audit: Audit) -> None:
    told = audit.run({"honest": {"ansible_facts": FACTS}}, check_mode=True, formats=["csv"], fail_on=fail_on)
    assert (told["changed"], told["msg"]) == (True, f"{begins} would be written (check mode): {audit.dest}/report.csv")
    assert not audit.dest.exists()
    told = audit.run({"honest": {"ansible_facts": FACTS}}, formats=["csv"], fail_on=fail_on)
    assert (told["changed"], told["msg"]) == (True, f"{begins} written: {audit.dest}/report.csv")
    assert [path.name for path in audit.dest.iterdir()] == ["report.csv"]


def test_what_cannot_be_written_is_named(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_old: str, _new: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(audit_report.os, "replace", full)
    with pytest.raises(AnsibleActionFail, match=r"dest \(audit_dest of the role\): .*/report.html cannot be written: No space left on device"):
        audit.run({})
    assert list(audit.dest.iterdir()) == []
