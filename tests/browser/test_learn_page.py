from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

PATIENT = 300_000
"""Milliseconds that a short training takes at most on a busy machine."""


def test_gates_are_learned_watched_opened_and_sent_to_the_lab(page: Page, address: str) -> None:
    page.goto(f"{address}/learn?model=looker")
    page.get_by_text("Subset", exact=True).click()
    expect(page.get_by_text("Differentiable subset pruning")).to_be_visible()
    for label, value in (("Heads that stay", "20"), ("Steps", "30"), ("then fine-tune", "10")):
        page.get_by_role("spinbutton", name=label).fill(value)
        page.get_by_role("spinbutton", name=label).press("Tab")
    page.locator(".st-key-start-learning button").click()
    expect(page.get_by_text("The gate movie")).to_be_visible()
    expect(page.get_by_role("link", name="Send the mask to the Prune Lab")).to_be_visible(timeout=PATIENT)
    expect(page.locator(".hl-numbers")).to_contain_text("20 would stay")
    page.locator('.st-key-gates-grid [role=gridcell][aria-label^="encoder.2.1,"]').click()
    expect(page.locator(".st-key-head-card")).to_contain_text("Encoder 2.1")
    page.locator(".st-key-close-card button").click()
    expect(page.locator(".st-key-head-card")).to_have_count(0)
    page.locator(".st-key-play button").click()
    expect(page.get_by_text(re.compile("At step 3|At step 2"))).to_be_visible()
    page.get_by_role("link", name="Send the mask to the Prune Lab").click()
    expect(page.locator(".hl-editing .hl-off")).to_have_count(16)
    expect(page.locator(".hl-numbers")).to_contain_text("20 / 36")


def test_one_click_stops_a_run_that_is_drawn_again_and_again(page: Page, address: str) -> None:
    page.goto(f"{address}/learn?model=looker")
    for label, value in (("Steps", "90000"), ("Seed", "7")):
        page.get_by_role("spinbutton", name=label, exact=True).fill(value)
        page.get_by_role("spinbutton", name=label, exact=True).press("Tab")
    page.locator(".st-key-start-learning button").click()
    expect(page.get_by_text("The gate movie")).to_be_visible()
    page.locator(".st-key-stop-learning button").click()
    expect(page.get_by_text("it can go on")).to_be_visible()
    expect(page.locator(".st-key-go-on-learning button")).to_be_visible()
    expect(page.locator(".st-key-stop-learning")).to_have_count(0)
