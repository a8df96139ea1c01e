from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from headscope.tasks.natural import CONLLU
from tests.browser.downloads import downloaded

pytestmark = pytest.mark.browser

CELLS = ".st-key-grid [role=gridcell]"
CARD = ".st-key-head-card"


def test_letters_are_counted_and_a_picked_head_opens_its_card_which_the_link_keeps(page: Page, address: str) -> None:
    page.goto(f"{address}/roles?model=reader&passages=400")
    expect(page.get_by_text(re.compile("of the 48 heads ha(s|ve) a role we can name"))).to_be_visible()
    expect(page.locator(".st-key-offsets .js-plotly-plot")).to_be_visible()
    expect(page.locator(".st-key-relation-card .hl-bar").first).to_be_visible()
    expect(page.locator(".st-key-left-card .js-plotly-plot")).to_be_visible()
    cell = page.locator(f'{CELLS}[aria-label="encoder.3.5, same token"]')
    expect(cell).to_have_text("T")
    cell.click()
    expect(page.locator(CARD)).to_contain_text("Looks at the same token elsewhere.")
    expect(page.locator(f"{CARD} .hl-example img").first).to_have_attribute("alt", re.compile(" looks at "))
    expect(page).to_have_url(re.compile("head=encoder.3.5"))
    page.reload()
    expect(page.locator(CARD)).to_contain_text("Encoder 3.5")
    page.locator(".st-key-close-card button").click()
    expect(page.locator(CARD)).to_have_count(0)
    expect(page.locator(f'{CELLS}[aria-selected="true"]')).to_have_count(0)


def test_a_head_without_a_role_says_what_is_nearest_and_offers_what_takes_long(page: Page, address: str) -> None:
    page.goto(f"{address}/roles?model=looker&head=encoder.0.5")
    expect(page.locator(CARD)).to_contain_text("No role found.")
    expect(page.locator(CARD)).to_contain_text("Nearest: ")
    expect(page.locator(f"{CARD} .js-plotly-plot .heatmaplayer")).to_have_count(1)
    page.get_by_role("button", name="What does removing it cost?").click()
    expect(page.locator(f"{CARD} [data-testid=stProgress], {CARD} .hl-cost").first).to_be_visible()


def test_own_trees_are_asked_for_their_relations_and_can_be_left(page: Page, address: str, tmp_path: Path) -> None:
    trees = Path(CONLLU).read_text(encoding="utf-8").split("\n\n")[:120]
    (tmp_path / "mine.conllu").write_text("\n\n".join(trees) + "\n\n", encoding="utf-8")
    page.goto(f"{address}/roles?model=reader&passages=200")
    page.get_by_role("button", name="Sample").click()
    page.locator('input[type="file"]').set_input_files(tmp_path / "mine.conllu")
    page.locator(".st-key-use-trees button").click()
    expect(page.get_by_text("120 passages of mine.conllu")).to_be_visible()
    expect(page).to_have_url(re.compile("trees=[0-9a-f]{16}"))


def test_a_list_of_heads_is_counted_and_a_wrong_one_gets_one_sentence(page: Page, address: str) -> None:
    page.goto(f"{address}/roles?model=looker&mask=encoder.0.0,encoder.5.5")
    expect(page.get_by_text("they go by your list")).to_be_visible()
    page.goto(f"{address}/roles?model=looker&mask=encoder.9.9")
    expect(page.locator('.st-key-left-card [data-testid="stAlert"]')).to_contain_text("no head encoder.9.9")


def test_the_table_of_a_role_can_be_taken_home(page: Page, address: str) -> None:
    page.goto(f"{address}/roles?model=looker&view=Tables&role=Neighbourhood")
    lines = downloaded(page, page.locator(".st-key-csv button")).read_text().splitlines()
    assert lines[0] == "Head,Has it,Score,Baseline,Looks,Case,Compared with,p"
    assert len(lines) == 37
    assert "a patch at most one away" in lines[1]
