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


@pytest.mark.parametrize("bank", ["Encoder", "Decoder", "Cross"])
def test_every_bank_has_its_lines(page: Page, address: str, bank: str) -> None:
    page.goto(f"{address}/attention?text={SENTENCE}&bank={bank}")
    expect(drawing(page).locator("svg line").first).to_be_attached()
    expect(drawing(page).locator("body")).to_contain_text("doctor" if bank != "Decoder" else "Arzt")


def test_two_texts_are_compared_and_their_label_shown(page: Page, address: str) -> None:
    page.goto(f"{address}/attention?model=reader&text=The dog sleeps.&pair=The dog sleeps.")
    expect(page.locator(".hl-guess").first).to_be_visible()
    expect(page.locator(".hl-answer b").first).to_have_text(re.compile("entailment|neutral|contradiction"))


def test_an_image_shows_the_patches_that_heads_look_at(page: Page, address: str) -> None:
    page.goto(f"{address}/attention?model=looker&image=3&mask=encoder.0.1")
    expect(page.locator(".hl-overlays img")).to_have_count(12)
    expect(page.locator(".hl-overlays img").first).to_have_attribute("alt", re.compile("head 0 looks most at patch"))


def test_a_hostile_token_stays_text(page: Page, address: str) -> None:
    page.goto(f"{address}/attention")
    page.get_by_label("Sentence").fill(HOSTILE)
    page.get_by_label("Sentence").press("Enter")
    expect(drawing(page).locator("body")).to_contain_text("script")
    page.get_by_text("Matrix", exact=True).click()
    expect(page.locator(".hl-matrix")).to_be_visible()
    assert page.title() != "ran"
    assert page.locator('img[src="x"]').count() == 0


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("text= ", "an empty text; at least one word is needed"),
        (f"text={'dog ' * 200}", "at most 96"),
        ("mask=encoder.9.9", "The mask of the link is left out: no head encoder.9.9"),
    ],
)
def test_a_wrong_link_gets_one_sentence(page: Page, address: str, query: str, sentence: str) -> None:
    page.goto(f"{address}/attention?{query}")
    expect(page.locator('[data-testid="stAlert"]').first).to_contain_text(sentence)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
