from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from models.catalog import specimen_names
from tests.families import family

pytestmark = pytest.mark.browser


def test_the_first_screen_shows_a_coloured_grid_without_any_choice(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text("See what every attention head does")
    expect(page.get_by_text("coloured by how much the loss depends on each")).to_be_visible()
    cells = page.locator(".hl-grid .hl-cell")
    colours = cells.evaluate_all("cells => cells.map(cell => cell.style.background)")
    assert len(set(colours)) > len(colours) / 4
    assert cells.first.get_attribute("aria-label").startswith("encoder.0.0, ")


def test_a_specimen_loads_by_its_button_and_by_its_link(page: Page, address: str) -> None:
    name = "looker"
    page.goto(address)
    page.locator(f".st-key-load-{name} button").click()
    expect(page).to_have_url(f"{address}/?model={name}")
    expect(page.get_by_text("36 heads, coloured")).to_be_visible()
    expect(page.locator(".hl-grid .hl-cell")).to_have_count(36)
    page.goto(f"{address}/?model={name}")
    expect(page.get_by_text("36 heads, coloured")).to_be_visible()


def test_a_deep_link_to_the_page_itself_has_the_whole_look(page: Page, address: str) -> None:
    page.goto(f"{address}/model?model=looker")
    expect(page.locator(".hl-grid .hl-cell")).to_have_count(36)
    expect(page.locator(".hl-logo")).to_have_text("Headlight")


def test_a_pruned_folder_shows_what_is_gone(page: Page, address: str, tmp_path: Path) -> None:
    from pruning.export import save_pruned
    from pruning.mask import HeadMask
    from pruning.surgery import without_heads

    head_model = family("llama")
    save_pruned(without_heads(head_model, HeadMask.of(head_model.grid, "decoder.1.2 decoder.1.3")), tmp_path / "small")
    page.goto(f"{address}/?model={tmp_path / 'small'}")
    expect(page.locator(".hl-grid .hl-cell")).to_have_count(12)
    expect(page.locator(".hl-gone")).to_have_count(2)
    expect(page.locator('[aria-label="decoder.1.2, removed"]')).to_be_visible()


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("/no/such/folder", "no folder /no/such/folder"),
        ("owner/no-such-model", "the model hub cannot be reached"),
        ("<script>alert(1)</script>", "no model '<script>alert(1)</script>'; give a folder"),
    ],
)
def test_a_wrong_model_gets_one_sentence_and_no_traceback(page: Page, address: str, model: str, sentence: str) -> None:
    page.goto(address)
    page.get_by_label("Folder or hub id").fill(model)
    page.locator('[data-testid="stFormSubmitButton"] button').click()
    expect(page.locator('[data-testid="stAlert"]')).to_contain_text(sentence)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_there_is_a_card_for_every_specimen(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".hl-specimen")).to_have_count(len(specimen_names()))
