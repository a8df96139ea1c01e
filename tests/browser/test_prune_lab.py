"""The Prune Lab as a person uses it."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from headscope.runs.client import wait
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import CANCELLED
from headscope.runs.store import Store
from headscope.tasks.task_catalog import SPECIMEN_TASKS
from tests.browser.downloads import downloaded
from tests.browser.waiting import eventually
from tools.app_server import ROOT, AppServer

pytestmark = pytest.mark.browser

CELLS = '.hl-editing [role="gridcell"]'
OFF = ".hl-editing .hl-off"
RELOADED = """
import sys
from headscope.models.head_model import HeadModel
from headscope.tasks.task_selection import chosen_task

folder = sys.argv[1]
{snippet}
from headscope.models.loading.loader import load
head_model = HeadModel.of(model, load(folder).tokenizer)
task, _ = chosen_task(head_model, sys.argv[2])
estimate = task.estimates(task.outcomes(head_model, "development"))[0]
print(repr(estimate.value), head_model.n_parameters)
"""
POINTS = """() => [...document.querySelectorAll('.st-key-sweep-chart .js-plotly-plot')].slice(0, 1)
  .flatMap((chart) => chart.data ?? []).filter((line) => line.legendgroup === "0" && line.name)
  .reduce((n, line) => n + line.x.length, 0)"""
CLOCKS = """window.clocks = new Map();
const [begin, end] = [window.setInterval, window.clearInterval];
window.setInterval = (ring, ...rest) => {
  const clock = begin(ring, ...rest);
  window.clocks.set(clock, ring);
  return clock;
};
window.clearInterval = (clock) => {
  window.clocks.delete(clock);
  end(clock);
};"""
"""Keeps the clocks of a page at hand."""

CLICK_AND_RING = """(button) => {
  button.click();
  for (const ring of window.clocks.values()) ring();
  return window.clocks.size;
}"""
"""A browser that was busy makes up for what is due: the click, the clocks, and only then what sends the click."""

SCROLLED = """(pixels) => new Promise((done) => {
  document.querySelector('[data-testid="stMain"]').scrollBy({top: pixels, behavior: "instant"});
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""
"""Scrolls the page and waits until it was told so."""

MODEL = "looker"
"""The cheapest; tests/pruning/export/test_export_specimen.py loads every other specimen again after it was pruned."""

PATIENT = 300_000
"""Milliseconds in which a worker, which gives way to all else, makes the first points of a sweep."""

SECONDS = 60
"""Until a cancelled run has ended."""


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


def n_drawn(page: Page) -> int:
    """How many points the newest curve on the page has; none while the chart is drawn anew."""
    return int(page.evaluate(POINTS))


def more(page: Page, name: str) -> Locator:
    """What chooses among the parts below the grid."""
    return page.locator(".st-key-lab-tab").get_by_role("radio", name=name)


def press(page: Page, key: str) -> None:
    """Clicks a button once the page has settled; one with a tooltip has a hidden twin for small screens."""
    button = page.locator(f".st-key-{key} button").filter(visible=True)
    expect(button).to_have_count(1)
    button.click()


def pick(page: Page, key: str, option: str) -> None:
    """Chooses from the one box that has this key, wherever it stands; names alone occur in several forms."""
    box = page.locator(f".st-key-{key}").filter(visible=True)
    expect(box).to_have_count(1)
    box.get_by_role("combobox").click()
    page.get_by_role("option", name=option, exact=True).click()
    expect(box.get_by_role("combobox")).to_have_value(option)


def open_sweep_form(page: Page) -> None:
    """The form for a sweep, which is behind a button once the model was swept."""
    form, behind = page.locator(".st-key-sweep-order"), page.get_by_role("button", name="New sweep").first
    expect(form.or_(behind).filter(visible=True).first).to_be_visible()
    if not form.filter(visible=True).count():
        behind.click()
    expect(form.filter(visible=True)).to_have_count(1)


def test_the_whole_story_from_choosing_to_the_same_number_in_another_process(
    page: Page, server: AppServer, tmp_path: Path
) -> None:
    page.goto(server.address)
    page.locator(f".st-key-load-{MODEL} button").click()
    expect(page.locator(".hl-current")).to_have_text(MODEL)
    page.locator("[data-testid=stSidebar]").get_by_role("link", name="Prune Lab").click()
    expect(page.locator(".hl-numbers")).to_contain_text("Top-1 accuracy")
    expect(page.locator(CELLS).first).to_have_attribute("aria-label", re.compile("% of the most important head"))

    open_sweep_form(page)
    pick(page, "sweep-order", "Random")
    pick(page, "sweep-step", "one head at a time")  # which is still under way at the end of this
    press(page, "start-sweep")
    expect(page).to_have_url(re.compile("sweep="))
    sweep = re.search(r"sweep=(\w+)", page.url)[1]
    expect(page.locator(".st-key-cancel-sweep button")).to_be_visible()
    page.keyboard.press("Escape")  # the form stands above the page where there was a sweep before

    for cell in (1, 5):
        page.locator(CELLS).nth(cell).click()
    expect(page.locator(OFF)).to_have_count(2)
    more(page, "Masks put aside").click()
    press(page, "remember")
    expect(page.get_by_role("button", name="Back to mask A")).to_be_visible()
    page.locator(CELLS).nth(9).click()
    n_heads = page.locator(CELLS).count()
    value = shown_metric(page, f"{n_heads - 3} / {n_heads}")
    expect(drawn(page)).to_contain_text("your mask", timeout=PATIENT)

    more(page, "What breaks").click()
    pick(page, "breaks-against", "mask A, 2 heads off")
    expect(page.get_by_text(re.compile("come out differently|Nothing breaks"))).to_be_visible()

    more(page, "Take it home").click()
    press(page, "export")
    expect(page.locator(".hl-proof")).to_contain_text("Equal to the mask")
    file = downloaded(page, page.locator(".st-key-download-model button"))
    snippet = page.locator(".st-key-lab-more code, [data-testid=stCode] code").last.inner_text()
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(file) as packed:
        packed.extractall(folder)
    code = RELOADED.format(snippet="\n".join(snippet.splitlines()[1:]))
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), SPECIMEN_TASKS[MODEL]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    again, parameters = done.stdout.split()
    assert float(again) * 100 == pytest.approx(value, abs=0.051)
    assert f"{int(parameters):,} of " in page.locator(".hl-proof").inner_text()

    store = Store(server.home)
    assert not store.get(sweep).ended
    press(page, "cancel-sweep")
    assert wait(store, store.get(sweep), SECONDS).state == CANCELLED


def test_a_single_click_can_be_undone(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker")
    page.locator(CELLS).nth(5).click()
    expect(page.locator(OFF)).to_have_count(1)
    press(page, "lab-undone")
    expect(page.locator(OFF)).to_have_count(0)


def test_the_first_click_moves_nothing_below_the_grid(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker")
    expect(page.locator(".hl-numbers")).to_contain_text("interval")
    below = more(page, "Speed")
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    before = below.bounding_box()
    page.locator(CELLS).nth(5).click()
    shown_metric(page, "35 / 36")
    assert below.bounding_box() == before


def test_twelve_fast_clicks_are_twelve_heads_and_undo_takes_each_back(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker")
    expect(page.locator(".hl-numbers")).to_contain_text("Top-1 accuracy")
    for cell in range(12):
        page.locator(CELLS).nth(cell).click(delay=0)
    expect(page.locator(OFF)).to_have_count(12)
    expect(page.locator(".hl-numbers")).to_contain_text("24 / 36")
    for left in reversed(range(12)):
        press(page, "lab-undone")
        expect(page.locator(OFF)).to_have_count(left)
    expect(page.locator(".st-key-lab-undone button").filter(visible=True)).to_be_disabled()


def test_one_press_of_undo_is_one_step_though_a_clock_rings_before_it_is_sent(
    open_page: Callable[..., Page], address: str
) -> None:
    page = open_page()
    page.add_init_script(CLOCKS)
    page.goto(f"{address}/prune_lab?model=looker")
    for cell in range(4):
        page.locator(CELLS).nth(cell).click()
        expect(page.locator(OFF)).to_have_count(cell + 1)
    undo = page.locator(".st-key-lab-undone button").filter(visible=True)
    for left in (3, 2):
        page.locator('[data-test-script-state="notRunning"]').wait_for()
        assert undo.evaluate(CLICK_AND_RING)
        expect(page.locator(OFF)).to_have_count(left)
        shown_metric(page, f"{36 - left} / 36")
        expect(page.locator(OFF)).to_have_count(left)
    press(page, "lab-redone")
    expect(page.locator(OFF)).to_have_count(3)


def test_an_open_list_stays_open_beside_its_box_when_the_page_scrolls(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker&mask=encoder.0.1&lab-tab=What breaks")
    expect(page.get_by_text(re.compile("come out differently|Nothing breaks"))).to_be_visible()
    box = page.locator(".st-key-breaks-against")
    box.scroll_into_view_if_needed()
    box.get_by_role("combobox").click()
    before = page.get_by_role("listbox").bounding_box()
    assert before
    page.evaluate(SCROLLED, 40)
    expect(box.get_by_role("combobox")).to_have_attribute("aria-expanded", "true")
    eventually(page, lambda: page.get_by_role("listbox").bounding_box(), before | {"y": before["y"] - 40})


def test_the_form_of_a_sweep_and_its_open_list_stay_when_somebody_else_starts_a_sweep(
    page: Page, server: AppServer
) -> None:
    held: list[Callable[[], None]] = []
    slow = False

    def delay(socket: WebSocketRoute) -> None:
        served = socket.connect_to_server()

        def pass_back(message: str | bytes) -> None:
            if slow:
                held.append(lambda: socket.send(message))
            else:
                socket.send(message)

        served.on_message(pass_back)

    page.route_web_socket("**/_stcore/stream", delay)
    page.goto(f"{server.address}/prune_lab?model=translator")  # whose store has no sweep
    open_sweep_form(page)
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    store = Store(server.home)
    run = store.submit(SweepRun("translator").as_run(server.home))
    store.cancel(run.id)
    try:
        slow = True
        pick(page, "sweep-order", "Random")  # for which the whole page is drawn anew
        box = page.locator(".st-key-sweep-step").get_by_role("combobox")
        box.click()
        expect(box).to_have_attribute("aria-expanded", "true")
        eventually(page, lambda: len(held) > 1, True)
        for deliver in held:
            deliver()
        slow = False
        expect(page.locator(".st-key-resume-sweep button")).to_be_visible()
        page.locator('[data-test-script-state="notRunning"]').wait_for()
        expect(box).to_have_attribute("aria-expanded", "true")
        page.get_by_role("option", name="one head at a time", exact=True).click()
        expect(box).to_have_value("one head at a time")
    finally:
        store.delete(run.id)


def test_a_click_in_the_middle_of_a_redraw_opens_what_was_clicked(page: Page, address: str) -> None:
    """The server is slow: of what is drawn anew only the first piece has come."""
    held: list[Callable[[], None]] = []
    slow = False

    def delay(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def pass_back(message: str | bytes) -> None:
            if held:
                held.append(lambda: socket.send(message))
                return
            socket.send(message)
            if slow and isinstance(message, bytes) and b"lab-tab" in message:
                held.append(lambda: None)

        server.on_message(pass_back)

    page.route_web_socket("**/_stcore/stream", delay)
    page.goto(f"{address}/prune_lab?model=looker")
    expect(page.locator(".hl-numbers")).to_contain_text("interval")
    slow = True
    page.locator(CELLS).nth(5).click()
    eventually(page, lambda: len(held) > 1, True)
    place = more(page, "Speed").bounding_box()
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    slow = False
    for deliver in held:
        deliver()
    held.clear()
    expect(page.get_by_role("button", name="Measure it")).to_be_visible()


def test_the_card_is_that_of_the_head_clicked_last(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker&lab-tab=Head card")
    card = page.locator(".st-key-lab-part")
    expect(card).to_contain_text("Encoder 0.0")
    for place, name in ((8, "Encoder 1.2"), (22, "Encoder 3.4"), (8, "Encoder 1.2")):
        page.locator(CELLS).nth(place).click()
        expect(card).to_contain_text(name)
    expect(page.locator(OFF)).to_have_count(1)


def test_undo_after_a_preset_restores_exactly_the_mask_before_it(page: Page, address: str) -> None:
    page.goto(f"{address}/prune_lab?model=looker&mask=encoder.0.1 encoder.3.4")
    expect(page.locator(OFF)).to_have_count(2)
    press(page, "preset-apply")
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


@pytest.mark.long  # on a free machine the sweep may be done before it is watched
def test_a_curve_grows_survives_a_refresh_and_a_second_tab_sees_it(
    open_page: Callable[..., Page], server: AppServer
) -> None:
    first, second = open_page(), open_page()
    first.goto(f"{server.address}/prune_lab?model=looker")
    expect(first.locator(".hl-numbers")).to_contain_text("Top-1 accuracy")
    open_sweep_form(first)
    pick(first, "sweep-order", "Greedy")  # which takes long enough to be watched
    press(first, "start-sweep")
    store = Store(server.home)
    expect(first).to_have_url(re.compile("sweep="))
    run = store.get(re.search(r"sweep=(\w+)", first.url)[1])
    eventually(first, lambda: n_drawn(first) > 0, True)
    before = n_drawn(first)
    eventually(first, lambda: n_drawn(first) > before, True)
    first.reload()
    expect(drawn(first)).to_be_visible()
    second.goto(first.url)
    expect(drawn(second)).to_be_visible()
    expect(second.get_by_text(f"run {run.id[:6]}")).to_be_visible()
    eventually(second, lambda: n_drawn(second) > before, True)
    store.cancel(run.id)
