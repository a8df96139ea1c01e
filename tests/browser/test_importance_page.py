from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.downloads import downloaded

pytestmark = pytest.mark.browser


def test_heads_are_scored_compared_and_one_of_them_opened(page: Page, address: str) -> None:
    page.goto(f"{address}/importance?model=looker&n=32")
    expect(page.get_by_text("A third of the heads carry")).to_be_visible()
    expect(page.get_by_text("ranks of two halves of the examples agree to")).to_be_visible()
    expect(page.locator(".st-key-multiples [role=grid]")).to_have_count(4)
    page.locator('.st-key-grid [role=gridcell][aria-label^="encoder.1.2,"]').click()
    expect(page.locator(".st-key-head-card")).to_contain_text("Encoder 1.2")
    expect(page.locator(".st-key-head-card .hl-ranks > div").nth(3)).to_be_visible()
    expect(page.locator(".st-key-head-card img")).to_have_attribute("alt", re.compile("encoder.1.2 looks most"))
    page.locator('.st-key-mini-wanda [role=gridcell][aria-label^="encoder.2.0,"]').click()
    expect(page.locator(".st-key-head-card")).to_contain_text("Encoder 2.0")
    expect(page.locator('.st-key-grid [aria-selected="true"]')).to_have_attribute(
        "aria-label", re.compile("encoder.2.0")
    )
    page.get_by_role("tab", name="Agreement").click()
    expect(page.locator(".hl-agreement")).to_have_attribute("aria-label", re.compile("Gradient and Taylor"))


def test_a_link_restores_method_head_and_level(page: Page, address: str) -> None:
    page.goto(f"{address}/importance?model=looker&n=32&method=Confidence&head=encoder.3.4&level=true")
    expect(page.get_by_text("of the confidence score")).to_be_visible()
    expect(page.locator(".st-key-head-card")).to_contain_text("Encoder 3.4")
    expect(page.locator('.st-key-grid [aria-selected="true"]')).to_have_attribute(
        "aria-label", re.compile("encoder.3.4")
    )


def test_a_link_restores_the_options_of_a_method(page: Page, address: str) -> None:
    page.goto(f"{address}/importance?model=looker&n=32&gradient-estimator=token")
    expect(page.get_by_text("A third of the heads carry")).to_be_visible()
    page.get_by_role("button", name="Options").click()
    expect(page.get_by_role("combobox", name="Estimator")).to_have_value("token")


def test_a_method_that_needs_a_run_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}/importance?model=looker&n=32&method=Subset gates · needs a run")
    expect(page.locator('[data-testid="stAlert"]').first).to_contain_text("Subset gates needs")
    expect(page.get_by_role("link", name="Start one")).to_have_attribute("href", re.compile("learn.*gates=Subset"))


def test_the_table_can_be_taken_home(page: Page, address: str) -> None:
    page.goto(f"{address}/importance?model=looker&n=32")
    expect(page.locator(".st-key-multiples [role=grid]")).to_have_count(4)
    page.get_by_role("tab", name="Table").click()
    lines = downloaded(page, page.locator(".st-key-csv button")).read_text().splitlines()
    assert lines[0].startswith("Head,Gradient,Gradient ±")
    assert len(lines) == 37
