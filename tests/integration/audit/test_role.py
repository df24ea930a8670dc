# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role on real hosts of this machine: as root, without privileges, without pyroute2, without connection tracking, without a Python, and one that is
down."""

from __future__ import annotations

import csv
import json
import os
import stat
import subprocess
import sys
import typing as t
import uuid
from pathlib import Path

import pytest
import yaml

CLONE = Path(__file__).resolve().parents[3]


class Fleet:
    """Hosts that are this machine, each reached by another interpreter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: dict[str, dict[str, t.Any]] = {}
        self.dest = folder / "audit"

    def local(self, name: str, interpreter: str = sys.executable, **variables: t.Any) -> None:
        self.hosts[name] = dict(variables, ansible_connection="local", ansible_python_interpreter=interpreter)

    def down(self, name: str) -> None:
        # A port of this machine that nobody listens on.
        self.hosts[name] = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_ssh_common_args": "-F /dev/null -o ConnectTimeout=5"}

    def wrapper(self, name: str, *command: str) -> str:
        path = self.folder / name
        path.write_text('#!/bin/sh\nexec {} "$@"\n'.format(" ".join(command)))
        path.chmod(0o755)
        return str(path)

    def liar(self, name: str, answer: str) -> None:
        """A host that was taken over answers whatever it likes."""
        path = self.folder / f"{name}.json"
        path.write_text(answer)
        self.local(name, self.wrapper(name, "cat", str(path), "#"))

    def audit(self, *arguments: str, playbook: str = "playbooks/audit.yml", **variables: t.Any) -> subprocess.CompletedProcess[str]:
        inventory = self.folder / "inventory.yml"
        inventory.write_text(yaml.safe_dump({"all": {"hosts": self.hosts}}))
        extra = dict(variables, audit_dest=str(self.dest))
        return subprocess.run(
            [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory), "-e", json.dumps(extra), *arguments],
            cwd=str(CLONE),
            env=dict(os.environ, ANSIBLE_CONFIG=str(CLONE / "ansible.cfg"), LC_ALL="C.UTF-8", HOME=str(self.folder)),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def report(self) -> dict[str, t.Any]:
        return json.loads((self.dest / "report.json").read_text())

    def host(self, name: str) -> dict[str, t.Any]:
        return next(one for one in self.report()["hosts"] if one["name"] == name)

    def findings(self, name: str) -> set[str]:
        return {finding["id"] for finding in self.host(name)["findings"]}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return Fleet(tmp_path)


@pytest.fixture
def netns() -> t.Iterator[str]:
    name = f"qrouter-{uuid.uuid4().hex[:8]}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


def kernel_release() -> str:
    return os.uname().release


def test_one_host_of_each_kind(fleet: Fleet) -> None:
    fleet.local("whole")
    # Root of the machine, but without any capability.
    fleet.local("unprivileged", fleet.wrapper("unprivileged", "setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable))
    fleet.local("no-pyroute2", fleet.wrapper("bare", "env", f"PYTHONPATH={_hiding_pyroute2(fleet.folder)}", sys.executable))
    fleet.local("no-conntrack", _without_conntrack(fleet))
    fleet.local("no-python", "/nonexistent/python3")
    fleet.down("down")
    done = fleet.audit()
    assert done.returncode == 0, done.stdout + done.stderr
    statuses = {one["name"]: one["status"] for one in fleet.report()["hosts"]}
    assert statuses == {
        "whole": "audited",
        "unprivileged": "partial",
        "no-pyroute2": "partial",
        "no-conntrack": "audited",
        "no-python": "failed",
        "down": "unreachable",
    }
    limit = int(Path("/proc/sys/net/netfilter/nf_conntrack_max").read_text())
    assert fleet.host("whole")["kernel"] == kernel_release()
    assert fleet.host("whole")["table"]["max"] == limit
    # What everybody may read is there.
    for name, finding in (("unprivileged", "audit-not-permitted"), ("no-pyroute2", "audit-no-pyroute2")):
        assert finding in fleet.findings(name)
        assert fleet.host(name)["sockets"]["sockets"] > 0
        assert (fleet.host(name)["table"]["max"], fleet.host(name)["table"]["expectations"]) == (limit, None)
        assert fleet.host(name)["capabilities"]["conntrack"] is True
        assert fleet.host(name)["capabilities"]["zone_filter"] == "unknown"
    assert "conntrack-absent" in fleet.findings("no-conntrack")
    assert fleet.host("no-conntrack")["table"] is None
    assert fleet.host("no-conntrack")["capabilities"]["conntrack"] is False
    assert fleet.host("no-conntrack")["sockets"]["sockets"] > 0
    assert "/nonexistent/python3" in fleet.host("no-python")["reason"]
    assert "127.0.0.1" in fleet.host("down")["reason"]
    assert fleet.findings("down") == {"host-unreachable"}
    rows = list(csv.DictReader((fleet.dest / "report.csv").read_text().splitlines()))
    assert {row["host"] for row in rows} == set(statuses)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in fleet.dest.iterdir())
    assert {path.name for path in fleet.dest.iterdir()} == {"report.html", "report.json", "report.csv", "report.md"}


def _hiding_pyroute2(folder: Path) -> Path:
    """A folder that makes the import fail, also in the system's Python that the module tries next."""
    package = folder / "hidden" / "pyroute2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('hidden by the test')\n")
    return package.parent


def _without_conntrack(fleet: Fleet) -> str:
    """An interpreter that sees a kernel without connection tracking: no settings, no modules, no symbols."""
    script = fleet.folder / "untracked.sh"
    script.write_text(
        "mount --make-rprivate /\n"
        "for folder in /proc/sys/net/netfilter /sys/module /lib/modules; do [ ! -d $folder ] || mount -t tmpfs none $folder; done\n"
        "mount --bind /dev/null /proc/kallsyms\n"
        'exec "$@"\n'
    )
    return fleet.wrapper("untracked", "unshare", "--mount", "sh", "-e", str(script), sys.executable)


@pytest.mark.parametrize("inventory", [{}, {"ansible_become": True}, {"ansible_become": False}])
@pytest.mark.parametrize("become, tries", [(True, 2), (False, 1)])
def test_becoming_root_is_refused(inventory: dict[str, bool], become: bool, tries: int, fleet: Fleet) -> None:
    """What can be read without is read, whatever the inventory says of becoming root; here the user is root already."""
    fleet.local("host", ansible_become_exe="/nonexistent/sudo", ansible_become_user="nobody", **inventory)
    done = fleet.audit(audit_become=become)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("TASK [netstate.kernel.audit : Gather") == tries, done.stdout
    assert fleet.host("host")["status"] == "audited"


def test_a_host_that_left_the_play_is_told_as_not_asked(fleet: Fleet) -> None:
    """Although the role asked it before, in the same play."""
    fleet.local("stays")
    fleet.local("goes")
    use = {"ansible.builtin.include_role": {"name": "netstate.kernel.audit", "rolespec_validate": False}}
    leave = {"ansible.builtin.fail": {}, "when": "inventory_hostname == 'goes'"}
    play = fleet.folder / "play.yml"
    play.write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [use, leave, use]}]))
    done = fleet.audit(playbook=str(play))
    assert {one["name"]: one["status"] for one in fleet.report()["hosts"]} == {"stays": "audited", "goes": "failed"}, done.stdout
    assert "was not asked" in fleet.host("goes")["reason"]


def test_the_documentation_can_be_read() -> None:
    """As ``ansible-doc`` reads it, of each role and each module."""
    roles = [f"netstate.kernel.{path.parents[1].name}" for path in sorted((CLONE / "roles").glob("*/meta/argument_specs.yml"))]
    modules = [f"netstate.kernel.{path.stem}" for path in sorted((CLONE / "plugins" / "modules").glob("[a-z]*.py"))]
    environment = dict(os.environ, ANSIBLE_CONFIG=str(CLONE / "ansible.cfg"), LC_ALL="C.UTF-8")
    for arguments in (["-t", "role", *roles], modules):
        command = [str(Path(sys.executable).parent / "ansible-doc"), *arguments]
        done = subprocess.run(command, cwd=str(CLONE), env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert all(name.rpartition(".")[2].upper() in done.stdout.upper() for name in arguments if "." in name)


def test_namespaces(fleet: Fleet, netns: str) -> None:
    fleet.local("host")
    assert fleet.audit(audit_namespaces=[netns[:12] + "*"]).returncode == 0
    (space,) = fleet.host("host")["namespaces"]
    assert space["name"] == netns
    assert space["table"]["count"] == 0
    assert fleet.report()["summary"]["namespaces"] == 1


def test_a_table_that_fills_up_fails_a_pipeline_and_shows_as_changed(fleet: Fleet, netns: str) -> None:
    fleet.local("host")
    limit = int(Path("/proc/sys/net/netfilter/nf_conntrack_max").read_text())
    assert fleet.audit(audit_namespaces=[netns], audit_fail_on="critical").returncode == 0
    entry = "-s 192.0.2.1 -d 192.0.2.2 -p tcp --sport 1 --dport 2 --state ESTABLISHED -t 60"
    subprocess.run(["ip", "netns", "exec", netns, "conntrack", "-I", *entry.split()], capture_output=True, check=True)
    # One entry is the table's share that makes it critical here, instead of a machine's table filled for real.
    done = fleet.audit(
        audit_namespaces=[netns],
        audit_fail_on="critical",
        audit_table_critical_percent=0.0,
        audit_table_high_percent=0.0,
        audit_compare=str(fleet.dest / "report.json"),
    )
    assert done.returncode == 2, done.stdout
    report = fleet.report()
    assert ("conntrack-table-critical", netns) in {(finding["id"], finding["space"]) for finding in fleet.host("host")["findings"]}
    (row,) = report["comparison"]["changed"]
    assert ("conntrack-table-critical", netns) in {(finding["id"], finding["space"]) for finding in row["findings_new"]}
    (evidence,) = [finding["evidence"] for finding in row["findings_new"] if finding["space"] == netns]
    assert f"1 of {limit} entries" in evidence


@pytest.mark.parametrize("severity, fails", [("critical", False), ("high", True), ("info", True), ("never", False)])
def test_a_pipeline_fails_on_what_it_asked_for(severity: str, fails: bool, fleet: Fleet) -> None:
    """A host that is down is a high finding. The report is written in any case."""
    fleet.down("down")
    done = fleet.audit(audit_fail_on=severity)
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    assert fleet.findings("down") == {"host-unreachable"}


def test_hosts_that_come_and_go(fleet: Fleet) -> None:
    fleet.local("stays")
    fleet.local("dies")
    fleet.local("goes")
    assert fleet.audit().returncode == 0
    del fleet.hosts["goes"]
    fleet.down("dies")
    fleet.local("comes")
    assert fleet.audit(audit_compare=str(fleet.dest / "report.json")).returncode == 0
    comparison = fleet.report()["comparison"]
    assert (comparison["added"], comparison["removed"]) == (["comes"], ["goes"])
    (row,) = [row for row in comparison["changed"] if row["name"] == "dies"]
    assert row["status"] == ["audited", "unreachable"]
    assert [finding["id"] for finding in row["findings_new"]] == ["host-unreachable"]
    assert row["findings_resolved"] == [], "nothing is known of it now"
    assert "comes" not in [row["name"] for row in comparison["changed"]]


def test_rules_of_a_user(fleet: Fleet) -> None:
    fleet.local("host")
    own = fleet.folder / "own.yml"
    own.write_text(
        yaml.safe_dump(
            [
                {"id": "old-python", "severity": "low", "title": "Python", "applies": "audit.python is defined", "evidence": "{{ audit.python }}"},
                {"id": "conntrack-ipv6-filter-inverted", "severity": "critical"},
            ]
        )
    )
    done = fleet.audit(audit_rules_files=[str(own)], audit_rules_disabled=["conntrack-zone-flush-native"])
    assert done.returncode == 0, done.stdout
    assert "old-python" in fleet.findings("host")
    assert "conntrack-zone-flush-native" not in {rule["id"] for rule in fleet.report()["rules"]}
    assert {rule["severity"] for rule in fleet.report()["rules"] if rule["id"] == "conntrack-ipv6-filter-inverted"} == {"critical"}


def test_a_wrong_rule_fails_by_name(fleet: Fleet) -> None:
    fleet.local("host")
    own = fleet.folder / "own.yml"
    own.write_text("- {id: mine, severity: low, title: x, applies: '1 +', evidence: x}\n")
    done = fleet.audit(audit_rules_files=[str(own)])
    assert done.returncode != 0
    assert "rule mine" in done.stdout + done.stderr
    assert not fleet.dest.exists()


def test_check_mode_writes_nothing_and_says_so(fleet: Fleet) -> None:
    fleet.local("host")
    done = fleet.audit("--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not fleet.dest.exists()
    assert f"would be written: {fleet.dest}/report.html" in done.stdout
    assert "changed=1" in done.stdout


@pytest.mark.parametrize(
    "arguments, variables",
    [
        ((), {"audit_hosts": "typo"}),
        (("--limit", "one"), {"audit_hosts": "two"}),
        (("--limit", "one,two"), {"audit_hosts": "none_of_them"}),
        (None, {}),
        (None, {"audit_hosts": "all"}),
    ],
)
def test_no_host_at_all_fails(arguments: tuple[str, ...] | None, variables: dict[str, str], fleet: Fleet) -> None:
    """``None`` is an inventory without any host."""
    for name in () if arguments is None else ("one", "two"):
        fleet.local(name)
    done = fleet.audit(*(arguments or ()), **variables)
    assert done.returncode != 0
    assert "No host is to be audited" in done.stdout + done.stderr
    assert repr(variables.get("audit_hosts", "all")) in done.stdout + done.stderr
    assert not fleet.dest.exists()


@pytest.mark.parametrize("hosts", ["one:&all", ["one"], "localhost", "~o.e"])
def test_hosts_by_any_pattern(hosts: t.Any, fleet: Fleet) -> None:
    fleet.local("one")
    fleet.local("two")
    done = fleet.audit(audit_hosts=hosts, ansible_python_interpreter=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["name"] for one in fleet.report()["hosts"]] == ["localhost" if hosts == "localhost" else "one"]


def test_a_limit_that_leaves_the_controller_out(fleet: Fleet) -> None:
    fleet.local("one")
    fleet.local("two")
    assert fleet.audit("--limit", "two").returncode == 0
    assert [one["name"] for one in fleet.report()["hosts"]] == ["two"]


def test_one_report_whatever_strategy_is_configured(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    fleet.local("one")
    fleet.local("two")
    done = fleet.audit()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": Write the report]") == 1
    assert {one["status"] for one in fleet.report()["hosts"]} == {"audited"}


def test_all_hosts_down(fleet: Fleet) -> None:
    fleet.down("one")
    fleet.down("two")
    done = fleet.audit()
    assert {one["status"] for one in fleet.report()["hosts"]} == {"unreachable"}, done.stdout


def test_what_a_host_says_is_not_templated(fleet: Fleet) -> None:
    """A process is named like a template that would write a file on the controller."""
    witness = fleet.folder / "witness"
    interpreter = fleet.folder / "lying"
    # The 15 characters of a process name are too few for harm; a whole answer is made up here, as a host that was taken over can.
    answer: dict[str, dict[str, t.Any]] = {
        "ansible_facts": {
            "kernel_audit": {
                "kernel": f"{{{{ lookup('pipe', 'touch {witness}') }}}}",
                "problems": {},
                "namespaces": [],
                "namespaces_matched": 0,
                "pyroute2": True,
            },
            "netlink_sockets": {"processes": "nonsense", "openvswitch": [], "totals": {}},
            "conntrack": {"capabilities": {"evidence": {"zone_filter": "{{ 7 * 7 }}"}}, "table": None},
        }
    }
    interpreter.write_text("#!/bin/sh\ncat >/dev/null\ncat <<'EOF'\n" + json.dumps(answer) + "\nEOF\n")
    interpreter.chmod(0o755)
    fleet.local("liar", str(interpreter), ansible_pipelining=True)
    fleet.local("honest")
    done = fleet.audit()
    assert not witness.exists()
    assert done.returncode == 0, done.stdout + done.stderr
    assert fleet.host("honest")["status"] == "audited"
    assert fleet.host("liar")["status"] == "failed"
    assert fleet.host("liar")["reason"] == "it returned no facts of this audit: facts.netlink_sockets.processes is no list"
    answer["ansible_facts"]["netlink_sockets"] = {}
    del answer["ansible_facts"]["conntrack"]["table"]
    interpreter.write_text("#!/bin/sh\ncat >/dev/null\ncat <<'EOF'\n" + json.dumps(answer) + "\nEOF\n")
    assert fleet.audit().returncode == 0
    assert not witness.exists()
    assert "touch" in fleet.host("liar")["kernel"]


HONEST = '"kernel": "6.12.0", "problems": {}, "namespaces": [], "namespaces_matched": 0'
LIES = {
    "nan": '"conntrack": {"table": {"count": 1, "max": 2, "buckets": 3, "used_percent": NaN, "max_per_bucket": null, "expectations": null}}',
    "huge": f'"conntrack": {{"statistics": {{"drop": 1{"0" * 400}}}}}',
    "holders": '"netlink_sockets": {"totals": {"sockets": 5, "holders": "x"}}',
    "infinite": '"ipvs": {"unknown": 1e999}',
    "deep": f'"ipvs": {{"unknown": {"[" * 40}{"]" * 40}}}',
    # ansible-core takes it and cannot read it again.
    "deeper": f'"ipvs": {{"unknown": {"[" * 400}{"]" * 400}}}',
}
# Whole answers, some with keys that ansible-core itself understands.
ANSWERS = {
    "five": '{"ansible_facts": 5}',
    "nameless": f'{{"ansible_facts": {{"kernel_audit": {{{HONEST.replace("[]", "[{}]")}}}}}}}',
    "warns": '{"warnings": 5, "deprecations": {"x": 1}, "exception": {"x": NaN}}',
    "adds": '{"add_host": {"host_name": "evil", "groups": ["all"]}, "add_group": "all", "changed": true}',
    "results": '{"results": [5, {"skipped": true}], "diff": 5, "ansible_stats": 5}',
    "list": "[1, 2]",
    "nothing": "",
}


def test_a_host_that_makes_up_facts_harms_no_other(fleet: Fleet) -> None:
    for name, lie in LIES.items():
        fleet.liar(name, f'{{"ansible_facts": {{"kernel_audit": {{{HONEST}}}, {lie}}}}}')
    for name, answer in ANSWERS.items():
        fleet.liar(name, answer)
    fleet.liar("half", f'{{"ansible_facts": {{"kernel_audit": {{{HONEST.replace("6.12.0", chr(92) + "ud800")}}}}}}}')
    fleet.local("honest")
    done = fleet.audit()
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in fleet.dest.iterdir()} == {"report.html", "report.json", "report.csv", "report.md"}
    statuses = {one["name"]: one["status"] for one in fleet.report()["hosts"]}
    assert statuses.pop("half") in ("audited", "failed")  # newer releases of ansible-core refuse it themselves
    assert statuses == {"honest": "audited", **dict.fromkeys([*LIES, *ANSWERS], "failed")}
    assert all(one["reason"] for one in fleet.report()["hosts"] if one["status"] == "failed")


# What is given, and what is said of it. FOLDER is one that is there.
REFUSED: list[tuple[dict[str, t.Any], str]] = [
    ({"audit_fail_on": "awful"}, "audit_fail_on"),
    ({"audit_formats": []}, "audit_formats"),
    ({"audit_formats": ["pdf"]}, "audit_formats"),
    ({"audit_rules_disabled": ["typo"]}, "audit_rules_disabled of the role): there is no rule typo"),
    ({"audit_rules_files": "FOLDER/none.yml"}, "audit_rules_files of the role): FOLDER/none.yml: No such file"),
    ({"audit_compare": "FOLDER"}, "audit_compare of the role): FOLDER: Is a directory"),
    ({"audit_compare": "FOLDER/inventory.yml"}, "audit_compare of the role): FOLDER/inventory.yml: Expecting value"),
    (
        {"audit_timeout_defaults": {"nf_conntrack_udp_timeout": 30}},
        "audit_timeout_defaults.nf_conntrack_udp_timeout. Supported parameters include: dccp_timeout",
    ),
    ({"audit_timeout_defaults": {"udp_timeout": "soon"}}, "audit_timeout_defaults"),
    ({"audit_drop_per_hour": None}, "audit_drop_per_hour"),
    ({"audit_namespaces_limit": -1}, "audit_namespaces_limit is -1: give a number of namespaces, 0 for none"),
    ({"audit_processes": "-1"}, "audit_processes is -1: give a number of processes, 0 for totals only"),
    ({"audit_namespaces": [""]}, "audit_namespaces is [''"),
    ({"audit_namespaces": "a, b"}, "audit_namespaces is ['a', ' b']"),
    ({"audit_namespaces": ["a\n"]}, "audit_namespaces is"),
    ({"audit_namespaces": ["a/b"]}, "audit_namespaces is ['a/b']: give names or shell patterns"),
    ({"audit_table_high_percent": -5}, "audit_table_high_percent of the role): it is -5"),
    ({"audit_ipvs_schedulers": 5}, "audit_ipvs_schedulers of the role): 5 is no list of names"),
    ({"audit_compare": ["a"]}, "audit_compare is ['a']: give the name of one file"),
    ({"audit_title": ["a"]}, "audit_title is ['a']: give text"),
    ({"audit_namespaces": [{"a": 1}]}, "audit_namespaces is [{'a': 1}]"),
]


@pytest.mark.parametrize("variables, said", REFUSED)
def test_a_variable_that_is_wrong_is_refused_before_any_host_is_asked(variables: dict[str, t.Any], said: str, fleet: Fleet) -> None:
    fleet.local("host")
    folder = str(fleet.folder)
    done = fleet.audit(**{name: value.replace("FOLDER", folder) if isinstance(value, str) else value for name, value in variables.items()})
    assert done.returncode != 0
    assert said.replace("FOLDER", folder) in done.stdout + done.stderr
    assert "Gather the facts" not in done.stdout
    assert not fleet.dest.exists()


def test_two_places_are_refused_by_the_name_of_the_option(fleet: Fleet) -> None:
    fleet.local("host")
    done = fleet.audit("-e", '{"audit_dest": ["a", "b"]}')
    assert done.returncode != 0
    assert "audit_dest is ['a', 'b']: give the name of one folder" in done.stdout + done.stderr
    assert "Gather the facts" not in done.stdout


@pytest.mark.parametrize("dest", ["", "inventory.yml", "inventory.yml/below"])
def test_a_place_that_cannot_be_written_to_is_refused_first(dest: str, fleet: Fleet) -> None:
    fleet.local("host")
    fleet.dest = fleet.folder / dest if dest else Path()
    done = fleet.audit("-e", json.dumps({"audit_dest": str(fleet.dest) if dest else ""}))
    assert done.returncode != 0
    assert "audit_dest of the role" in done.stdout + done.stderr
    assert "Gather the facts" not in done.stdout


def test_lists_may_be_text(fleet: Fleet) -> None:
    """As ``-e name=value`` gives them."""
    fleet.local("host")
    own = fleet.folder / "own.yml"
    own.write_text("- {id: mine, severity: low, title: T, applies: true, evidence: e}\n")
    done = fleet.audit("-e", f"audit_rules_files={own} audit_rules_disabled=host-failed,host-unreachable audit_formats=json,csv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine" in fleet.findings("host")
    assert "host-failed" not in {rule["id"] for rule in fleet.report()["rules"]}
    assert {path.name for path in fleet.dest.iterdir()} == {"report.json", "report.csv"}


def test_a_host_does_not_set_the_controllers_options(fleet: Fleet) -> None:
    """Facts become variables that outrank the role's; the report runs on the first host of the play."""
    said = {"ansible_facts": {"kernel_audit": {}, "audit_title": "Owned", "audit_rules_disabled": ["host-unreachable"], "audit_fail_on": "never"}}
    answer = fleet.folder / "answer.json"
    answer.write_text(json.dumps(said))
    fleet.local("a-liar", fleet.wrapper("liar", "cat", str(answer), "#"))
    fleet.down("down")
    done = fleet.audit()
    assert done.returncode == 0, done.stdout + done.stderr
    assert fleet.report()["title"] == "Fleet audit"
    assert "host-unreachable" in fleet.findings("down")


def test_thresholds_from_the_command_line_are_text(fleet: Fleet) -> None:
    fleet.local("whole")
    done = fleet.audit("-e", "audit_table_high_percent=0 audit_drop_per_hour=100")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    assert "conntrack-table-high" in fleet.findings("whole")  # any use is at or above 0
