"""The Prune Lab as a person uses it, once with every kind of model."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from jobs.run import CANCELLED, DONE
from jobs.store import Store
from tasks.catalog import SPECIMEN_TASKS
from tools.app_server import ROOT, AppServer, running_server

pytestmark = pytest.mark.browser

CELLS = '.hl-editing [role="gridcell"]'
OFF = ".hl-editing .hl-off"
RELOADED = """
import sys
from models.head_model import HeadModel
from tasks.chosen import chosen_task

folder = sys.argv[1]
{snippet}
from models.loading import load
head_model = HeadModel.of(model, load(folder).tokenizer)
task, _ = chosen_task(head_model, sys.argv[2])
estimate = task.estimates(task.outcomes(head_model, "development"))[0]
print(repr(estimate.value), head_model.n_parameters)
"""
STORIES = {
    "looker": ("Top-1 accuracy", 100),
    "reader": ("Accuracy", 100),
    "translator": ("BLEU", 1),
    "writer": ("Perplexity", 1),
    "all-attention-writer": ("Perplexity", 1),
}


def shown_metric(page: Page, kept: str) -> float:
    """The number of the metric tile once the whole split was judged with so many heads kept."""
    expect(page.locator(".hl-numbers > div").first).to_contain_text(kept)
    metric = page.locator(".hl-numbers > div").nth(1)
    expect(metric.locator("em")).to_contain_text(re.compile("p [<=]|no change"))
    expect(page.locator(".hl-numbers > div").first).to_contain_text(kept)
    return float(re.sub(r"[^0-9.]", "", metric.locator("b").inner_text()))


def drawn(page: Page) -> Locator:
    """The chart of the sweep; Streamlit keeps an old one for a moment while it draws the next."""
    return page.locator(".st-key-sweep-chart").first


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server of its own: a model that was swept before shows its curves instead of the form."""
    with running_server(tmp_path_factory.mktemp("lab") / "home") as started:
        yield started


@pytest.fixture(scope="module")
def address(server: AppServer) -> str:
    return server.address


def press(page: Page, key: str) -> None:
    """Clicks a button once the page has settled; one with a tooltip has a hidden twin for small screens."""
    button = page.locator(f".st-key-{key} button").filter(visible=True)
    expect(button).to_have_count(1)
    button.click()


@pytest.mark.parametrize("model", STORIES)
@pytest.mark.timeout(300)
def test_the_whole_story_from_choosing_to_the_same_number_in_another_process(
    model: str, page: Page, server: AppServer, tmp_path: Path
) -> None:
    metric, scale = STORIES[model]
    page.goto(f"{server.address}/prune_lab?model={model}&lab-tab=Take it home")
    expect(page.locator(".hl-numbers")).to_contain_text(metric)
    expect(page.locator(CELLS).first).to_have_attribute("aria-label", re.compile("% of the most important head"))

    page.get_by_role("combobox", name="Points").click()
    page.get_by_role("option", name="every 10 %").click()
    page.get_by_role("button", name="Start the sweep").click()
    expect(page.locator(".st-key-cancel-sweep")).to_be_visible()
    expect(drawn(page)).to_be_visible(timeout=150_000)

    for cell in (1, 5, 9):
        page.locator(CELLS).nth(cell).click()
    expect(page.locator(OFF)).to_have_count(3)
    n_heads = page.locator(CELLS).count()
    value = shown_metric(page, f"{n_heads - 3} / {n_heads}")
    expect(drawn(page)).to_contain_text("your mask")

    page.get_by_role("tab", name="What breaks").click()
    expect(page.get_by_text(re.compile("come out differently|Nothing breaks"))).to_be_visible()

    page.get_by_role("tab", name="Take it home").click()
    page.get_by_role("button", name="Build it and compare it with the mask").click()
    expect(page.locator(".hl-proof")).to_contain_text("Equal to the mask")
    with page.expect_download() as started:
        page.locator(".st-key-download-model button").click()
    snippet = page.locator(".st-key-lab-more code, [data-testid=stCode] code").last.inner_text()
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(started.value.path()) as packed:
        packed.extractall(folder)
    code = RELOADED.format(snippet="\n".join(snippet.splitlines()[1:]))
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), SPECIMEN_TASKS[model]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    again, parameters = done.stdout.split()
    assert float(again) * scale == pytest.approx(value, abs=0.051)
    assert f"{int(parameters):,} of " in page.locator(".hl-proof").inner_text()

    store = Store(server.home)
    sweep = next(run for run in store.runs(kind="sweep") if run.model == model)
    for _ in range(10):  # the card is drawn anew every second, and a click may fall between
        if store.get(sweep.id).ended:
            break
        button = page.locator(".st-key-cancel-sweep button").first
        if button.is_visible():
            button.click(timeout=5000)
        page.wait_for_timeout(3000)
    assert store.get(sweep.id).state in (CANCELLED, DONE)


def test_twelve_fast_clicks_are_twelve_heads_and_undo_takes_each_back(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker")
    expect(page.locator(".hl-numbers")).to_contain_text("Top-1 accuracy")
    for cell in range(12):
        page.locator(CELLS).nth(cell).click(delay=0)
    expect(page.locator(OFF)).to_have_count(12)
    expect(page.locator(".hl-numbers")).to_contain_text("24 / 36")
    press(page, "lab-undone")
    expect(page.locator(".hl-numbers")).not_to_contain_text("24 / 36")


def test_undo_after_a_preset_restores_exactly_the_mask_before_it(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker&mask=encoder.0.1 encoder.3.4")
    expect(page.locator(OFF)).to_have_count(2)
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(OFF)).to_have_count(9)
    press(page, "lab-undone")
    expect(page.locator(OFF)).to_have_count(2)
    labels = [cell.get_attribute("aria-label") for cell in page.locator(OFF).all()]
    assert [label.partition(",")[0] for label in labels if label] == ["encoder.0.1", "encoder.3.4"]
    press(page, "lab-redone")
    expect(page.locator(OFF)).to_have_count(9)


def test_a_link_opens_the_same_mask_in_another_tab(open_page: Callable[..., Page], address: str) -> None:
    first, second = open_page(), open_page()
    first.goto(f"{address}/prune_lab?model=looker")
    for cell in (0, 7, 35):
        first.locator(CELLS).nth(cell).click()
    expect(first.locator(".hl-numbers")).to_contain_text("33 / 36")
    expect(first).to_have_url(re.compile("mask="))
    second.goto(first.url)
    expect(second.locator(OFF)).to_have_count(3)
    expect(second.locator(".hl-numbers")).to_contain_text("33 / 36")


@pytest.mark.timeout(300)
def test_a_curve_grows_survives_a_refresh_and_a_second_tab_sees_it(
    open_page: Callable[..., Page], server: AppServer
) -> None:
    first, second = open_page(), open_page()
    first.goto(f"{server.address}/prune_lab?model=looker")
    expect(first.locator(".hl-numbers")).to_contain_text("Top-1 accuracy")
    if any(run.model == "looker" for run in Store(server.home).runs(kind="sweep")):
        first.get_by_role("button", name="New sweep").click()
    first.locator(".st-key-sweep-order").get_by_role("combobox").click()
    first.get_by_role("option", name="Reverse").click()
    first.get_by_role("button", name="Start the sweep").click()
    store = Store(server.home)
    expect(first).to_have_url(re.compile("sweep="))
    run = store.get(re.search(r"sweep=(\w+)", first.url)[1])
    expect(drawn(first)).to_be_visible(timeout=150_000)
    first.reload()
    expect(drawn(first)).to_be_visible()
    second.goto(first.url)
    expect(drawn(second)).to_be_visible()
    expect(second.get_by_text(f"run {run.id[:6]}")).to_be_visible()


@pytest.mark.parametrize("mask", ["encoder.99.0", "~!!!", "<script>alert(1)</script>"])
def test_a_broken_mask_in_the_link_is_told_in_one_sentence(page: Page, address: str, mask: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker&mask={mask}")
    expect(page.locator('[data-testid="stAlert"]').first).to_contain_text(re.compile("no head|no mask"))
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
