# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done on a kernel, as named Ansible tasks; their results are what the tests look at. Pure."""

from __future__ import annotations

import shlex
import typing as t
from pathlib import Path

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages
from conntrack_table import ASSURED, ESTABLISHED, entry

from . import tables

GUEST = Path(__file__).resolve().parent / "guest"
SHOW = "conntrack -L -o extended,id 2>&1"
EMPTY_ZONE = 7
SECONDS = 86400  # an entry outlives the play, on a busy machine too

Steps = t.Dict[str, t.Dict[str, t.Any]]


def _shell(line: str) -> dict[str, t.Any]:
    # raw: starting a module costs an emulated kernel seconds.
    return {"ansible.builtin.raw": line}


def _script(name: str, *words: object) -> str:
    return "{{ ansible_python_interpreter | quote }} -I -S -B " + shlex.join([str(GUEST / name), *map(str, words)])


def _fill(table: str) -> dict[str, t.Any]:
    """Empties the table, makes the entries of another one, and shows them."""
    requests = [messages.flush_all()]
    for source, rest in tables.TABLES[table].values():
        rest = dict(rest, timeout=SECONDS)
        if rest.pop("assured", False):
            rest.update(status=ASSURED, tcp_state=ESTABLISHED)
        requests.append(entry(source, **rest))
    return _shell(f"{_script('send.py', *(request.hex() for request in requests))} && {SHOW}")


def _info() -> dict[str, t.Any]:
    return {"netstate.kernel.conntrack_info": {}}


def _flush(**options: t.Any) -> dict[str, t.Any]:
    return {"netstate.kernel.conntrack_flush": options}


def _check(**options: t.Any) -> dict[str, t.Any]:
    return {**_flush(**options), "check_mode": True, "diff": True}


def _then_show(name: str, task: dict[str, t.Any]) -> Steps:
    return {name: task, f"{name}: table": _shell(SHOW)}


def zoned() -> Steps:
    """For a kernel with zones. The naive flushes come last: on a dangerous kernel nothing is left after them."""
    steps: Steps = {
        "facts": {"netstate.kernel.conntrack_facts": {"gather_subset": ["all"]}},
        "before": _fill("zoned"),
        "before: info": _info(),
        **_then_show("check", _check(zones=1)),
        **_then_show("flush 1", _flush(zones=1, recount=True)),
        "flush 1: info": _info(),
        **_then_show("again", _flush(zones=1)),
        **_then_show("flush 0", _flush(zones=0)),
        "flush 0: info": _info(),
        **_then_show("empty zone", _flush(zones=EMPTY_ZONE)),
        **_then_show("two zones", _flush(zones=[2, 65535])),
        **_then_show("all", _flush(all=True)),
    }
    for method in ("kernel", "entries"):
        for zone in (1, 0):
            steps[f"{method} {zone}: before"] = _fill("zoned")
            steps.update(_then_show(f"{method} {zone}", _flush(zones=zone, method=method)))
    for zone in (1, 0):
        steps[f"naive {zone}: before"] = _fill("zoned")
        steps[f"naive {zone}"] = _shell(f"{_script('naive_flush.py', zone)} && {SHOW}")
    return steps


def zoneless() -> Steps:
    """For a kernel without zones."""
    return {
        "facts": {"netstate.kernel.conntrack_facts": {"gather_subset": ["all"]}},
        "before": _fill("plain"),
        "before: info": _info(),
        **_then_show("flush 1", _flush(zones=1)),
        **_then_show("flush 0", _flush(zones=0)),
        "info of a zone": {"netstate.kernel.conntrack_info": {"zones": 0}},
        "naive 1": _shell(f"{_script('naive_flush.py', 1)} && {SHOW}"),
        **_then_show("check", _check(protocols="udp")),
        **_then_show("protocol", _flush(protocols="udp", recount=True)),
        "protocol: info": _info(),
        **_then_show("again", _flush(protocols="udp")),
        **_then_show("network", _flush(source="10.7.0.0/16")),
        **_then_show("network6", _flush(source="2001:db8:7::/48")),
        **_then_show("all", _flush(all=True)),
    }
