# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook netstate.kernel.ipvs does to a host, with ipvsadm as the judge; support/ipvs_story.py is what is done."""

from __future__ import annotations

import ipvs_story
import pytest

RULES = {
    "-A -t 10.0.0.1:80 -s wrr",
    "-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 3",
    "-a -t 10.0.0.1:80 -r 10.1.0.2:80 -m -w 1",
    "-A -f 7 -6 -s wlc -p 60 -M 64",
    "-a -f 7 -6 -r [2001:db8::1]:0 -g -w 1",
    "-A -u 10.0.0.2:53 -s rr -o",
    "-a -u 10.0.0.2:53 -r 10.1.0.3:53 -g -w 1",
}
EXCHANGED = {rule for rule in RULES if "-u " not in rule and "10.1.0.1:80" not in rule}
FOREIGN = ipvs_story.FOREIGN.strip()
RECONCILE = "Reconcile the services"


def reconciled(run):
    """The result of the task that changes, not of the one that only tries."""
    return [result for task, result in run.results if task.endswith(RECONCILE) and "commands" in result][-1]


def test_check_mode_changes_nothing_and_tells_all(story):
    run = story.runs["check"]
    assert run.status == 0, run.output
    assert story.seen["after check"] == story.seen["at first"]
    assert "ip_vs" not in story.seen["at first"]
    assert set(reconciled(run)["diff"]["after"].splitlines()) == RULES
    told = {"Look which modules are not loaded yet", "Read sysctls", "Set timeouts and sync daemons", RECONCILE}
    kept = {"Keep the modules", "Keep the sysctls", "Keep the services", "Restore at boot", "Enable the restoring"}
    assert set(run.changed) == told | kept


@pytest.mark.parametrize("name", ipvs_story.BAD)
def test_bad_input_is_named_and_changes_nothing(story, name):
    run = story.runs[f"bad {name}"]
    assert run.status == 2, run.output
    for word in ipvs_story.BAD[name][1]:
        assert word in run.failure or word in run.output
    assert run.changed == []
    assert story.seen["after bad ones"] == story.seen["at first"]


def test_the_first_run_makes_it_so(story):
    run, seen = story.runs["first"], story.seen
    assert run.status == 0, run.output
    assert set(seen["rules"].splitlines()) == RULES | {FOREIGN}
    assert seen["timeouts"] == ["1000", "120", "290"]
    assert seen["daemons"].startswith("master sync daemon (mcast=vec0, syncid=7")
    state = seen["state"].splitlines()
    assert "ip_vs_mh" in state and "ip_vs_wrr" in state
    assert {"/proc/sys/net/ipv4/ip_forward:1", "/proc/sys/net/ipv4/vs/sync_threshold:3\t100", "/proc/sys/net/ipv4/vs/expire_nodest_conn:1"} <= set(state)
    assert reconciled(run)["untouched"] == ["tcp 192.0.2.1:80"]
    assert reconciled(run)["diff"]["after"].splitlines()[0] in RULES
    assert [result for task, result in run.results if task == "Tell what goes badly together"], "the advice is told"


def test_the_second_run_changes_nothing(story):
    run = story.runs["second"]
    assert (run.status, run.changed) == (0, []), run.output
    assert story.seen["after the second"] == story.seen["state"]


def test_what_goes_is_drained_and_what_is_foreign_stays(story):
    run = story.runs["exchange"]
    assert run.status == 0, run.output
    assert reconciled(run)["commands"] == [
        "-e -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 0",
        "-D -u 10.0.0.2:53",  # UDP is not drained
        "-d -t 10.0.0.1:80 -r 10.1.0.1:80",
    ]
    assert set(story.seen["rules after the exchange"].splitlines()) == EXCHANGED | {FOREIGN}


def test_a_boot_restores_it(story):
    """On a kernel that has just been started, with the commands of the files that were kept."""
    seen, boot = story.seen, story.seen["boot"]
    assert boot.modules.split() == ["ip_vs", "ip_vs_mh", "ip_vs_wlc", "ip_vs_wrr"]
    assert len(boot.lines) == 3 and all(line.startswith("/usr/bin/env ipvsadm --") for line in boot.lines)
    assert "ip_vs" not in seen["before restoring"]
    # What the role does not manage was not its to keep.
    assert set(seen["rules after the boot"].splitlines()) == EXCHANGED
    assert seen["timeouts after the boot"] == seen["timeouts"]
    assert seen["daemons after the boot"] == seen["daemons"]


def test_nothing_is_left_to_do_after_a_boot(story):
    run = story.runs["after the boot"]
    assert run.status == 0, run.output
    assert reconciled(run)["commands"] == []
    # The files were in the memory of the guest that was ended; the rules were put back before.
    assert set(run.changed) == {"Keep the modules", "Keep the sysctls", "Restore at boot", "Enable the restoring"}


def test_every_documented_example_does_what_it_says(story):
    run = story.runs["examples"]
    names = [task["name"] for task in ipvs_story.examples()]
    assert len(names) >= 10 and [task for task, _result in run.results if task in names] == names
    assert [(task, result["msg"]) for task, result in run.results if result.get("failed")] == []
    assert run.of("Have a web service with two destinations, and leave all else alone")["operations"]["add_destination"] == 2
    assert run.of("Exchange the destinations of a service without breaking connections")["commands"] == [
        "-a -t 192.0.2.10:443 -r 10.0.0.21:443 -m -w 1",
        "-e -t 192.0.2.10:443 -r 10.0.0.11:443 -m -w 0",
        "-e -t 192.0.2.10:443 -r 10.0.0.12:443 -m -w 0",
        "-d -t 192.0.2.10:443 -r 10.0.0.11:443",
        "-d -t 192.0.2.10:443 -r 10.0.0.12:443",
    ]
    assert run.of("Own everything on one network of virtual addresses, and nothing else")["operations"]["delete_service"] == 1
    assert run.of("Keep idle TCP connections for an hour, and tell them to the other director")["after"]["timeouts"]["tcp"] == 3600
    assert story.seen["rules after the examples"] == ipvs_story.FILE
    assert set(story.seen["file of the examples"].splitlines()) == {rule.replace("10.0.0.1:80 ", "192.0.2.50:80 ") for rule in RULES if "-t 10.0.0.1:" in rule}


def test_a_host_without_ipvs_is_told_so(story):
    run = story.runs["without ipvs"]
    assert run.status == 2
    assert "cannot be a director: ip_vs is neither built in nor installed for this kernel" in run.failure
    assert run.changed == []
    assert story.seen["after nothing"] == story.seen["before nothing"]
