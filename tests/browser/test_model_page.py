from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from models.catalog import specimen_names
from tests.families import family

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
    page.goto(f"{address}/?model=looker")
    expect(page.get_by_text("looker: 36 heads, coloured")).to_be_visible()


def test_a_click_on_a_head_tells_its_rank_and_the_link_keeps_it(page: Page, address: str) -> None:
    page.goto(f"{address}/?model=looker")
    page.locator(f'{CELLS}[aria-label^="encoder.2.3,"]').click()
    expect(page.get_by_text(re.compile("is number [0-9]+ of 36"))).to_be_visible()
    expect(page).to_have_url(re.compile("head=encoder.2.3"))
    page.reload()
    expect(page.get_by_text(re.compile("is number [0-9]+ of 36"))).to_be_visible()


def test_another_task_scores_the_heads_anew(page: Page, address: str) -> None:
    page.goto(f"{address}/?model=looker&task=fidelity")
    expect(page.get_by_text("Fidelity on digits, calibration")).to_be_visible()


def test_a_pruned_folder_shows_what_is_gone(page: Page, address: str, tmp_path: Path) -> None:
    from pruning.export import save_pruned
    from pruning.mask import HeadMask
    from pruning.surgery import without_heads

    head_model = family("llama")
    save_pruned(without_heads(head_model, HeadMask.of(head_model.grid, "decoder.1.2 decoder.1.3")), tmp_path / "small")
    page.goto(f"{address}/?model={tmp_path / 'small'}")
    expect(page.locator(CELLS)).to_have_count(12)
    expect(page.locator('[aria-label="decoder.1.2, removed"]')).to_be_visible()
    expect(page.locator('[aria-label$=", removed"]')).to_have_count(2)


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
    page.get_by_label("Folder with config.json").fill(model)
    page.locator('[data-testid="stFormSubmitButton"] button').click()
    expect(page.locator('[data-testid="stAlert"]')).to_contain_text(sentence)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_a_link_puts_no_link_formula_or_icon_of_its_own_into_a_message(page: Page, address: str) -> None:
    hostile = "[Sign in](https://evil.example) $x^2$ :material/home:"
    page.goto(f"{address}/?{urlencode({'model': hostile})}")
    alert = page.locator('[data-testid="stAlert"]').first
    expect(alert).to_contain_text("[Sign in](https:")
    expect(alert).to_contain_text("evil.example) $x^2$ :")
    expect(alert.locator("a, .katex, [role=img][translate=no]")).to_have_count(0)


def test_there_is_a_card_for_every_specimen(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".hl-specimen")).to_have_count(len(specimen_names()))


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


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("broken.csv", b"text,label\n\xff\xfe\x00", "broken.csv is"),
        ("empty.tsv", b"", "empty.tsv is empty"),
        ("rows.jsonl", b'{"text": 1}\nnot json\n', "broken rows among the first are skipped: rows.jsonl, line 2"),
    ],
)
def test_a_broken_upload_gets_one_sentence(
    page: Page, address: str, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)
    page.goto(f"{address}/?model=looker")
    page.get_by_text("My data", exact=True).click()
    page.locator('input[type="file"]').set_input_files(tmp_path / name)
    expect(page.locator('.st-key-other-models [data-testid="stAlert"]')).to_contain_text(sentence)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
