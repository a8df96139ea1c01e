"""Walks from the first visit to the first insight as docs/first-five-minutes.md tells it, and pictures every step."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

WIDTH, HEIGHT = 1440, 900
PATIENCE = 240_000  # milliseconds, for a busy machine
MEASURED = re.compile(r"accuracy\s*\d")
DOCUMENT = Path(__file__).parents[1] / "docs" / "first-five-minutes.md"
MEASURING = ("walk-4-remove", "walk-5-remove-another", "walk-6-remove-many")
"""Steps whose accuracy the document states."""

PALE, DARK = "encoder.5.2", "encoder.0.2"


def walk(browser: Browser, address: str) -> Iterator[tuple[str, float, Page]]:
    """The name of a picture, the seconds since the first visit, and the page as it is then; one a step."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    began = time.monotonic()
    for name, step in STEPS.items():
        step(page, address)
        if name in MEASURING:
            check_told(name, page.locator(".hl-numbers").first.inner_text())
        yield name, time.monotonic() - began, page
    context.close()


def check_told(name: str, numbers: str) -> None:
    """A ValueError if the part of the document that has this picture states another accuracy than the page shows."""
    (shown,) = re.findall(r"accuracy\s*(\d+\.\d)", numbers, re.IGNORECASE)
    if f"{shown} %" not in part_of(name):
        raise ValueError(f"{DOCUMENT.name} does not state the {shown} % that {name} shows; write it there")


def part_of(name: str) -> str:
    """What the document says above a picture, from the heading on."""
    before = DOCUMENT.read_text(encoding="utf-8").partition(f"images/{name}.png")[0]
    return before.rpartition("\n## ")[2]


def _arrive(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".st-key-tour").first.wait_for()
    page.locator(".hl-legend").first.wait_for()


def _pick(page: Page, address: str) -> None:
    del address
    page.locator(".st-key-tour-next button").first.click()
    page.get_by_text("looker: 36 heads, coloured").first.wait_for()


def _look(page: Page, address: str) -> None:
    del address
    _head(page, DARK).click()
    page.locator(".st-key-head-card, .hl-card-title").get_by_text(re.compile("Encoder 0.2")).first.wait_for()


def _remove(page: Page, address: str) -> None:
    del address
    page.get_by_role("link", name="Next: remove a head").first.click()
    page.get_by_text("A click switches a head off").first.wait_for()
    _head(page, PALE).click()
    _measured(page, "35 / 36")


def _remove_another(page: Page, address: str) -> None:
    del address
    _head(page, DARK).click()
    _measured(page, "34 / 36")


def _remove_many(page: Page, address: str) -> None:
    del address
    page.get_by_role("button", name="Apply").first.click()
    _measured(page, "27 / 36")


def _learn(page: Page, address: str) -> None:
    del address
    page.get_by_role("link", name="Next: take a lesson").first.click()
    page.locator(".hl-lesson-card").nth(4).wait_for()


STEPS = {
    "walk-1-arrive": _arrive,
    "walk-2-pick": _pick,
    "walk-3-look": _look,
    "walk-4-remove": _remove,
    "walk-5-remove-another": _remove_another,
    "walk-6-remove-many": _remove_many,
    "walk-7-learn": _learn,
}


def _head(page: Page, address: str) -> Locator:
    return page.get_by_role("gridcell", name=address).first


def _measured(page: Page, kept: str) -> None:
    """Waits for the numbers of the mask that keeps so many heads, those of all examples."""
    numbers = page.locator(".hl-numbers").first
    expect(numbers).to_contain_text(kept, timeout=PATIENCE)
    expect(numbers).to_contain_text(MEASURED, timeout=PATIENCE)
    expect(numbers).not_to_contain_text("≈", timeout=PATIENCE)
