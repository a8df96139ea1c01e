from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FrameLocator, Page, expect

pytestmark = pytest.mark.browser

SENTENCE = "The old doctor sees the small dog."
HOSTILE = "</script><img src=x onerror=\"top.document.title='ran'\"> dog"


def drawing(page: Page) -> FrameLocator:
    """The frame of bertviz inside the frame of the page."""
    return page.frame_locator("[data-testid=stIFrame]").frame_locator("iframe[sandbox=allow-scripts]")


def test_a_typed_sentence_is_translated_and_drawn_by_bertviz(page: Page, address: str) -> None:
    page.goto(f"{address}/attention")
    page.get_by_label("Sentence").fill(SENTENCE)
    page.get_by_label("Sentence").press("Enter")
    expect(page.locator(".hl-answer b").first).to_contain_text("Arzt")
    expect(drawing(page).locator("body")).to_contain_text("doctor")
    expect(page).to_have_url(re.compile("text="))


def test_heads_switched_off_change_the_answer_beside_it_and_the_link_brings_it_back(
    page: Page, address: str, open_page: Callable[..., Page]
) -> None:
    page.goto(f"{address}/attention?text={SENTENCE}&view=Matrix")
    cells = page.locator('.st-key-mask-translator [role=gridcell][aria-label^="cross.1."]')
    expect(cells).to_have_count(8)
    for number in range(8):
        cells.nth(number).click()
    expect(page.get_by_text("Without these 8 heads it says something else")).to_be_visible()
    expect(page.locator(".hl-matrix")).to_have_count(2)
    expect(page).to_have_url(re.compile("mask=cross.1.0"))
    other = open_page()
    other.goto(page.url)
    expect(other.get_by_text("Without these 8 heads it says something else")).to_be_visible()


def test_every_bank_has_its_lines(page: Page, address: str) -> None:
    for bank, word in (("Encoder", "doctor"), ("Decoder", "Arzt"), ("Cross", "doctor")):
        page.goto(f"{address}/attention?text={SENTENCE}&bank={bank}")
        expect(drawing(page).locator("svg line").first).to_be_attached()
        expect(drawing(page).locator("body")).to_contain_text(word)


def test_a_hostile_token_stays_text(page: Page, address: str) -> None:
    page.goto(f"{address}/attention")
    page.get_by_label("Sentence").fill(HOSTILE)
    page.get_by_label("Sentence").press("Enter")
    expect(drawing(page).locator("body")).to_contain_text("script")
    page.get_by_text("Matrix", exact=True).click()
    expect(page.locator(".hl-matrix")).to_be_visible()
    assert page.title() != "ran"
    assert page.locator('img[src="x"]').count() == 0
