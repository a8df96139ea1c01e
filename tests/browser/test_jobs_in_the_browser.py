"""What happens to runs and pages when tabs, servers and workers come and go."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from headscope.runs.client import run_here, submit, wait
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.run import CANCELLED, DONE
from headscope.runs.store import Store
from tests.browser.test_login import sign_in
from tools.app_server import AppServer, running_server

pytestmark = pytest.mark.browser


def test_a_killed_server_stops_no_run_and_the_open_page_comes_back(
    tmp_path_factory: pytest.TempPathFactory, page: Page
) -> None:
    with running_server(tmp_path_factory.mktemp("killed") / "home") as server:
        store = Store(server.home)
        run = submit(store, EvaluationRun("translator", split="test"))  # as a shell on this machine would
        page.goto(f"{server.address}/runs?run={run.id}")  # a deep link, the first that this server gets
        expect(page.locator(".st-key-cancel button")).to_be_visible()
        expect(page.locator(".st-key-history canvas").first).to_be_visible()
        expect(page.locator(".hl-logo")).to_have_text("Headscope")
        expect(page.get_by_role("link", name="Runs", exact=True)).to_be_visible()
        assert page.locator("[data-testid=stMainBlockContainer]").bounding_box()["width"] > 1000
        server.end(signal.SIGKILL)
        assert wait(store, run, 400).state == DONE
        server.start()
        expect(page.locator(".st-key-delete button")).to_be_visible()
        expect(page.locator(".st-key-history")).to_contain_text("1 run, 0 under way")


@pytest.mark.long  # a cancel came too late once, and why is not known
def test_a_run_from_a_shell_shows_survives_a_refresh_and_is_cancelled(server: AppServer, page: Page) -> None:
    store = Store(server.home)
    run = submit(store, ImportanceRun("translator", method="shapley"))  # which takes many minutes
    page.goto(f"{server.address}/runs?run={run.id}")
    expect(page.locator(".st-key-picked-run")).to_contain_text("Importance of translator: shapley")
    expect(page.locator(".st-key-running")).to_be_visible()
    page.reload()
    expect(page.locator(".st-key-picked-run")).to_contain_text("Importance of translator: shapley")
    assert not store.get(run.id).ended
    page.locator(".st-key-cancel button").click()
    expect(page.locator(".st-key-resume button")).to_be_visible()
    assert wait(store, run, 60).state == CANCELLED
    page.locator(".st-key-resume button").click()
    expect(page.locator(".st-key-cancel button")).to_be_visible()
    store.cancel(run.id)


def test_two_tabs_with_two_models_do_not_disturb_each_other(address: str, open_page: Callable[..., Page]) -> None:
    first, second = open_page(), open_page()
    first.goto(f"{address}/?model=looker")
    second.goto(f"{address}/?model=reader")
    expect(first.get_by_text("looker: 36 heads, coloured")).to_be_visible()
    expect(second.get_by_text("reader: 48 heads, coloured")).to_be_visible()
    first.locator('.st-key-grid [role=gridcell][aria-label^="encoder.1.1,"]').click()
    second.locator('.st-key-grid [role=gridcell][aria-label^="encoder.5.5,"]').click()
    expect(first.get_by_text(re.compile("is number [0-9]+ of 36"))).to_be_visible()
    expect(second.get_by_text(re.compile("is number [0-9]+ of 48"))).to_be_visible()
    expect(first).to_have_url(re.compile("model=looker.*head=encoder.1.1"))
    expect(second).to_have_url(re.compile("model=reader.*head=encoder.5.5"))


def test_a_run_that_is_picked_in_the_table_is_in_the_link(closed: AppServer, page: Page) -> None:
    store = Store(closed.home, "dan")  # whose table has these two alone
    runs = [run_here(store, EvaluationRun("looker", mask=mask, n=20)) for mask in ("", "encoder.0.1")]
    page.goto(f"{closed.address}/runs")
    sign_in(page, "dan")
    expect(page.locator(".st-key-picked-run")).to_contain_text("without 1 head")
    table = page.locator(".st-key-history canvas").first.bounding_box()
    page.mouse.click(table["x"] + 17, table["y"] + 2.5 * 35)  # the box before the second row
    expect(page).to_have_url(re.compile(f"run={runs[0].id}"))
    page.reload()
    expect(page.locator(".st-key-picked-run")).not_to_contain_text("without 1 head")


def test_a_run_that_failed_says_why_and_can_be_tried_again(address: str, page: Page) -> None:
    page.goto(f"{address}/?model=looker&task=stories")
    expect(page.locator("[data-testid=stAlert]").first).to_contain_text("looks at images")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
