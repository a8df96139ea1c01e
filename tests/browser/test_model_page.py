from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

CELLS = ".st-key-grid [role=gridcell]"


def test_the_first_screen_shows_a_coloured_grid_without_any_choice(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text("See what every attention head does")
    expect(page.get_by_text("coloured by how much the loss depends on each")).to_be_visible()
    cells = page.locator(CELLS)
    expect(cells.first).to_have_attribute("aria-label", re.compile("encoder.0.0, .* of the most important head"))
    colours = cells.evaluate_all("cells => cells.map(cell => getComputedStyle(cell).backgroundColor)")
    assert len(set(colours)) > len(colours) / 4


def test_a_specimen_loads_by_its_button_and_by_its_link(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".st-key-load-looker button").click()
    expect(page).to_have_url(f"{address}/?model=looker")
    expect(page.get_by_text("looker: 36 heads, coloured")).to_be_visible()
    expect(page.locator(CELLS)).to_have_count(36)
    page.reload()
    expect(page.get_by_text("looker: 36 heads, coloured")).to_be_visible()


def test_a_click_on_a_head_tells_its_rank_and_the_link_keeps_it(page: Page, address: str) -> None:
    page.goto(f"{address}/?model=looker")
    page.locator(f'{CELLS}[aria-label^="encoder.2.3,"]').click()
    expect(page.get_by_text(re.compile("is number [0-9]+ of 36"))).to_be_visible()
    expect(page).to_have_url(re.compile("head=encoder.2.3"))
    page.reload()
    expect(page.get_by_text(re.compile("is number [0-9]+ of 36"))).to_be_visible()


def test_own_rows_are_looked_at_and_judge_the_model(page: Page, address: str, tmp_path: Path) -> None:
    rows = [f"sentence number {n} about a dog,{('positive', 'negative')[n % 2]}" for n in range(120)]
    (tmp_path / "mine.csv").write_text("\n".join(["words,feeling", *rows]))
    page.goto(f"{address}/?model=writer")
    expect(page.get_by_text("writer: 48 heads, coloured")).to_be_visible()
    page.get_by_text("My data", exact=True).click()
    page.locator('input[type="file"]').set_input_files(tmp_path / "mine.csv")
    expect(page.get_by_role("combobox", name="Text", exact=True)).to_have_value("words")
    page.locator(".st-key-use-data button").click()
    expect(page).to_have_url(re.compile("data=[0-9a-f]{16}&column-text=words"))
    expect(page.get_by_text("mine.csv, calibration")).to_be_visible()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_text("mine.csv, calibration")).to_be_visible()
