"""Runs side by side, renamed, and taken home as a report that opens from disk."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headscope.runs.client import submit, wait
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from tests.browser.downloads import downloaded
from tests.browser.waiting import Traffic, eventually
from tools.app_server import AppServer

pytestmark = pytest.mark.browser

PATIENT = 300
"""Seconds that a short sweep takes at most on a busy machine."""


@pytest.fixture(scope="module")
def swept(server: AppServer) -> tuple[AppServer, list[Run]]:
    """The server with two sweeps of the reader, which no other test sweeps."""
    store = Store(server.home)
    kinds = [SweepRun("reader", method=method, step=0.25, n_scoring=16, n=50) for method in ("gradient", "taylor")]
    runs = [wait(store, submit(store, kind), PATIENT) for kind in kinds]
    assert [run.state for run in runs] == [DONE, DONE], runs[0].message
    return server, runs


def test_ticked_runs_are_compared_on_one_chart_with_a_front(page: Page, swept: tuple[AppServer, list[Run]]) -> None:
    server, runs = swept
    page.goto(f"{server.address}/runs?run={runs[0].id} {runs[1].id}")
    expect(page.locator(".st-key-compare-chart")).to_contain_text("Sweep of reader: taylor")
    expect(page.locator(".st-key-compare-chart")).to_contain_text("Random order, mean and range of 5")
    expect(page.locator(".st-key-charts")).to_contain_text("models are worth keeping")
    expect(page.locator(".st-key-picked-run")).to_contain_text("headscope sweep reader")


def test_a_run_gets_another_name_and_keeps_it(page: Page, swept: tuple[AppServer, list[Run]]) -> None:
    server, runs = swept
    page.goto(f"{server.address}/runs?run={runs[0].id}")
    name = page.get_by_role("textbox", name="Name")
    expect(name).to_have_value("Sweep of reader: gradient")
    name.fill("My first sweep")
    name.press("Enter")
    expect(page.locator(".st-key-compare-chart").first).to_contain_text("My first sweep")
    assert Store(server.home).get(runs[0].id).title == "My first sweep"


PATIENCE = 90_000  # milliseconds, for a busy machine
TURNS = 3
"""Of the polling part, after which a slow browser asks for the file."""


def test_the_report_arrives_however_late_the_browser_asks_and_opens_from_disk_with_no_network(
    page: Page, browser: Browser, swept: tuple[AppServer, list[Run]], tmp_path: Path
) -> None:
    server, runs = swept
    traffic = Traffic(page)
    page.goto(f"{server.address}/runs?run={runs[0].id} {runs[1].id}")
    expect(page.locator(".st-key-compare-chart")).to_be_visible()
    report = tmp_path / "report.html"
    asked_for: list[str] = []
    page.on("download", lambda one: asked_for.append(one.url))
    shutil.copy(downloaded(page, page.locator(".st-key-report button")), report)
    assert report.stat().st_size < 8_000_000
    before = len(traffic.looks)
    eventually(page, lambda: len(traffic.looks) >= before + TURNS, True)
    late = page.request.get(asked_for[-1])
    assert (late.status, late.body()) == (200, report.read_bytes())
    context = browser.new_context(offline=True)
    asked: list[str] = []
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(report.as_uri())
    expect(opened.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(opened.get_by_text("Repeat it with").first).to_be_visible()
    expect(opened.get_by_text(re.compile("heads go before the first point")).first).to_be_visible()
    table = downloaded(opened, opened.get_by_role("link", name="CSV").first)
    assert table.read_text(encoding="utf-8").startswith("heads removed,metric,")
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_tables_arrive_as_csv_files_in_one_archive(page: Page, swept: tuple[AppServer, list[Run]]) -> None:
    server, runs = swept
    page.goto(f"{server.address}/runs?run={runs[0].id} {runs[1].id}")
    expect(page.locator(".st-key-compare-chart")).to_be_visible()
    with zipfile.ZipFile(downloaded(page, page.locator(".st-key-report-csv button"))) as archive:
        names = archive.namelist()
        assert {name.rpartition("-")[2] for name in names} == {"curve.csv", "points.csv", "order.csv"}
        assert {name.split("-")[2] for name in names} == {run.id[:6] for run in runs}


def test_the_size_for_a_lecture_hall_is_in_the_link_and_stays_on_the_way(
    page: Page, swept: tuple[AppServer, list[Run]]
) -> None:
    server, runs = swept
    title = page.locator("h1.hl-title")
    page.goto(f"{server.address}/runs?run={runs[0].id}&size=presenter")
    expect(title).to_have_css("font-size", "42px")
    expect(page.locator(".st-key-compare-chart .xtick text").first).to_have_css("font-size", "18px")
    page.locator("[data-testid=stSidebar]").get_by_role("link", name="Learn").click()
    expect(title).to_have_text("Learn")
    expect(page).to_have_url(re.compile("size=presenter"))
    expect(title).to_have_css("font-size", "42px")
    page.locator(".st-key-presenter-size label").click()
    expect(title).to_have_css("font-size", "30px")
    expect(page).not_to_have_url(re.compile("size="))
