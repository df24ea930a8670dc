# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in a real headless Chromium: what it counts, its filter, and that it neither logs nor asks the network for anything."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import chromium
import pytest
import synthetic_fleet
from ansible_collections.netstate.kernel.plugins.plugin_utils._audit import render, report, rules

ROLE = Path(__file__).resolve().parents[2] / "roles" / "audit"
HOSTILE = "\"><img src=http://192.0.2.1/x onerror=console.log(1)></script><script>console.log(2)</script>"
# Set it to a folder to look at the pictures.
PICTURES = os.environ.get("NETSTATE_PICTURES")

VISIBLE = "Array.from(document.querySelectorAll('#matrix tbody tr')).filter(r => r.offsetParent).length"
TYPED = """(async () => {
    const box = document.getElementById('filter');
    box.value = %r;
    box.dispatchEvent(new Event('input'));
    await new Promise(done => setTimeout(done, 400));
})()"""
CLICKED = "document.querySelector('input[data-severity=%s]').click()"


@pytest.fixture(scope="module")
def whole() -> dict[str, t.Any]:
    ready = rules.compiled(rules.parse((ROLE / "files" / "rules.yml").read_text(), "rules.yml"))
    results = synthetic_fleet.results(150)
    first = next(result for result in results.values() if "ansible_facts" in result)
    first["ansible_facts"]["kernel_audit"]["kernel"] = HOSTILE
    long, odd = [result["ansible_facts"] for result in results.values() if "ansible_facts" in result][1:3]
    long["kernel_audit"]["kernel"] = "x" * 300
    odd["netlink_sockets"]["openvswitch"] = [dict(synthetic_fleet.switch(5, "per_port"), upcall_mode="unknown")]
    return report.built(results, ready, synthetic_fleet.THRESHOLDS, "2026-11-30T12:00:00Z", None, "Fleet audit", True)


@pytest.fixture(scope="module")
def path(whole: dict[str, t.Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render.rendered(whole, (ROLE / "templates" / "report.html.j2").read_text(encoding="utf-8"), "html"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> t.Iterator[chromium.Page]:
    if chromium.command() is None:
        pytest.skip("needs the command chromium")
    with chromium.page() as page:
        yield page


@pytest.fixture
def page(browser: chromium.Page, path: Path) -> t.Iterator[chromium.Page]:
    browser.logged.clear()
    browser.requested.clear()
    browser.size(1280, 900)
    browser.prefer("light")
    browser.open(f"file://{path}")
    yield browser
    assert browser.logged == [], "nothing is logged, refused or failed"
    assert browser.requested == [f"file://{path}"], "no request leaves the page"


def picture(page: chromium.Page, name: str) -> None:
    if PICTURES:
        page.picture(str(Path(PICTURES) / f"{name}.png"))


def hosts_with(whole: dict[str, t.Any], severity: str) -> int:
    return whole["summary"]["hosts_affected"][severity]


def test_counts(page: chromium.Page, whole: dict[str, t.Any]) -> None:
    summary = whole["summary"]
    shown = page.value("Array.from(document.querySelectorAll('.kpi b')).map(b => b.textContent)")
    down = summary["statuses"]["failed"] + summary["statuses"]["unreachable"]
    expected = [summary["hosts"], summary["statuses"]["audited"], summary["statuses"]["partial"], down]
    assert shown[:6] == [str(number) for number in [*expected, hosts_with(whole, "critical"), hosts_with(whole, "high")]]
    assert page.value(VISIBLE) == 150
    assert page.value("document.querySelectorAll('details.host').length") == 150
    assert page.value("document.querySelectorAll('.finding').length") == sum(summary["findings"].values())
    assert page.value("document.getElementById('shown').textContent") == "150 hosts"
    bars = page.value("Array.from(document.querySelectorAll('.bar i')).map(i => [i.className, parseFloat(i.style.flexGrow)])")
    assert bars == [[name, number] for name, number in summary["hosts_by_worst"].items() if number]
    picture(page, "desktop-light")


def test_search(page: chromium.Page, whole: dict[str, t.Any]) -> None:
    page.value(TYPED % "node0007")
    assert page.value(VISIBLE) == 1
    assert page.value("document.getElementById('shown').textContent") == "1 of 150 hosts"
    page.value(TYPED % "conntrack-zone-flush-wipes")
    wiping = next(rule["hosts"] for rule in whole["rules"] if rule["id"] == "conntrack-zone-flush-wipes")
    assert page.value(VISIBLE) == wiping > 0
    page.value(TYPED % "no such thing anywhere")
    assert page.value(VISIBLE) == 0
    page.value(TYPED % "")
    assert page.value(VISIBLE) == 150


def test_severities(page: chromium.Page, whole: dict[str, t.Any]) -> None:
    page.value(CLICKED % "critical")
    assert page.value(VISIBLE) == hosts_with(whole, "critical")
    page.value(CLICKED % "critical")
    page.value(CLICKED % "down")
    statuses = whole["summary"]["statuses"]
    assert page.value(VISIBLE) == 150 - statuses["audited"]
    page.value(CLICKED % "down")
    assert page.value(VISIBLE) == 150


def test_a_rule_leads_to_its_hosts(page: chromium.Page, whole: dict[str, t.Any]) -> None:
    page.value("document.querySelector('a[data-rule=host-unreachable]').click(); new Promise(r => setTimeout(r, 400))")
    assert page.value(VISIBLE) == whole["summary"]["statuses"]["unreachable"] > 0


def test_a_rule_leads_to_no_others(page: chromium.Page, whole: dict[str, t.Any]) -> None:
    """Not to those of a rule whose name begins alike, and to all of its own whatever was ticked."""
    page.value(CLICKED % "critical")
    page.value("document.querySelector('a[data-rule=ovs-mode]').click(); new Promise(r => setTimeout(r, 400))")
    hosts = next(rule["hosts"] for rule in whole["rules"] if rule["id"] == "ovs-mode")
    assert page.value(VISIBLE) == hosts > 0
    assert page.value("document.querySelectorAll('input[data-severity]:checked').length") == 0
    page.value(TYPED % "ovs-mode")
    assert page.value(VISIBLE) > hosts
    page.value(TYPED % "")
    assert page.value(VISIBLE) == 150


def test_a_histogram_is_coloured_by_the_thresholds(page: chromium.Page) -> None:
    """Above 80 and 95 percent here, so that the step from 90 on is not critical as a whole."""
    colours = page.value("Array.from(document.querySelectorAll('.charts svg')[0].querySelectorAll('rect')).map(r => r.className.baseVal)")
    assert colours == ["plain"] * 8 + ["high"] * 2


def test_a_host_opens(page: chromium.Page) -> None:
    page.value("document.querySelector('#matrix tbody a').click(); new Promise(r => setTimeout(r, 300))")
    assert page.value("document.getElementById('host-0').open") is True
    picture(page, "host")


@pytest.mark.parametrize("width, mobile", [(1280, False), (768, False), (390, True), (320, True)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits(page: chromium.Page, path: Path, width: int, mobile: bool, scheme: str) -> None:
    """Nothing but tables that scroll in themselves is wider than the window."""
    page.size(width, 800, mobile)
    page.prefer(scheme)
    assert page.value("document.documentElement.scrollWidth") <= width
    picture(page, f"{width}-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(page: chromium.Page, scheme: str) -> None:
    """Contrast of text to its background, by WCAG: 4.5 to 1."""
    page.prefer(scheme)
    poor = page.value(
        """(() => {
        const value = c => { const p = c.match(/[0-9.]+/g).map(Number); return p.length > 3 && p[3] === 0 ? null : p.slice(0, 3); };
        const linear = v => v <= 10 ? v / 255 / 12.92 : Math.pow((v / 255 + .055) / 1.055, 2.4);
        const light = p => .2126 * linear(p[0]) + .7152 * linear(p[1]) + .0722 * linear(p[2]);
        const behind = e => e ? value(getComputedStyle(e).backgroundColor) || behind(e.parentElement) : [255, 255, 255];
        const out = new Set();
        document.querySelectorAll('header *, main *:not(svg):not(svg *), footer').forEach(e => {
            if (!e.offsetParent || !Array.from(e.childNodes).some(n => n.nodeType === 3 && n.textContent.trim())) return;
            const a = light(value(getComputedStyle(e).color)), b = light(behind(e)), r = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
            if (r < 4.5) out.add(e.tagName + '.' + e.className + ' ' + r.toFixed(2));
        });
        return Array.from(out); })()"""
    )
    assert poor == []


def test_what_a_host_says_is_text(page: chromium.Page) -> None:
    assert page.value("document.querySelectorAll('img').length") == 0
    assert page.value("document.querySelectorAll('script').length") == 1
    assert HOSTILE in page.value("document.getElementById('matrix').textContent")


def test_print(page: chromium.Page, tmp_path: Path) -> None:
    page.printed(str(tmp_path / "report.pdf"))
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    if PICTURES:
        page.printed(str(Path(PICTURES) / "report.pdf"))
