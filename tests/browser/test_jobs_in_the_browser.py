"""What happens to runs and pages when tabs, servers and workers come and go."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from jobs.client import run_here, submit, wait
from jobs.kind import Kind
from jobs.kinds.evaluation import EvaluationRun
from jobs.kinds.importance import ImportanceRun
from jobs.run import CANCELLED, DONE, Run
from jobs.store import Store
from tools.app_server import AppServer, running_server

pytestmark = pytest.mark.browser


@pytest.fixture
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server that a test may kill."""
    with running_server(tmp_path_factory.mktemp("own") / "home") as started:
        yield started


def start(server: AppServer, kind: Kind) -> tuple[Store, Run]:
    """What a shell on this machine would do."""
    store = Store(server.home)
    return store, submit(store, kind)


def test_a_deep_link_to_a_fresh_server_shows_the_whole_page(own_server: AppServer, page: Page) -> None:
    page.goto(f"{own_server.address}/attention?model=looker&image=2&view=Matrix&layer=1&head=2")
    expect(page.locator(".hl-answer").first).to_be_visible()
    expect(page.locator(".hl-logo")).to_have_text("Headlight")
    expect(page.get_by_role("link", name="Runs")).to_be_visible()
    assert page.locator("[data-testid=stMainBlockContainer]").bounding_box()["width"] > 1000
    expect(page.locator(".hl-matrix")).to_be_visible()


def test_a_run_from_a_shell_shows_survives_a_refresh_and_is_cancelled(own_server: AppServer, page: Page) -> None:
    store, run = start(own_server, ImportanceRun("translator", method="shapley"))  # which takes many minutes
    page.goto(f"{own_server.address}/runs?run={run.id}")
    expect(page.locator(".st-key-picked-run")).to_contain_text("Importance of translator: shapley")
    expect(page.locator(".st-key-running")).to_contain_text("Importance of translator")
    page.reload()
    expect(page.locator(".st-key-picked-run")).to_contain_text("Importance of translator: shapley")
    assert not store.get(run.id).ended
    page.locator(".st-key-cancel button").click()
    expect(page.locator(".st-key-resume button")).to_be_visible()
    assert wait(store, run, 60).state == CANCELLED
    page.locator(".st-key-resume button").click()
    expect(page.locator(".st-key-cancel button")).to_be_visible()
    store.cancel(run.id)


def test_a_killed_server_stops_no_run_and_the_open_page_comes_back(own_server: AppServer, page: Page) -> None:
    page.goto(f"{own_server.address}/runs")  # a page that is there already sees the run from its beginning
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    store, run = start(own_server, EvaluationRun("translator", split="test"))
    page.goto(f"{own_server.address}/runs?run={run.id}")
    expect(page.locator(".st-key-cancel button")).to_be_visible()
    expect(page.locator(".st-key-history canvas").first).to_be_visible()
    own_server.end(signal.SIGKILL)
    assert wait(store, run, 400).state == DONE
    own_server.start()
    expect(page.locator(".st-key-delete button")).to_be_visible()
    expect(page.locator(".st-key-history")).to_contain_text("1 run, 0 under way")


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


def test_a_run_that_is_picked_in_the_table_is_in_the_link(own_server: AppServer, page: Page) -> None:
    store = Store(own_server.home)
    runs = [run_here(store, EvaluationRun("looker", mask=mask, n=20)) for mask in ("", "encoder.0.1")]
    page.goto(f"{own_server.address}/runs")
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
