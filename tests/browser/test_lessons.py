"""A lesson as a class takes it, and questions answered by clicking; tests/web/test_lessons_page.py has every step."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from headscope.runs.run import DONE, WAITING
from headscope.runs.store import Store
from headscope.web.lessons.lesson import lesson_of
from headscope.web.runs.role_facts import RoleFacts
from tools.app_server import AppServer

pytestmark = pytest.mark.browser

PATIENT = 300_000
MEASURED = re.compile(r"Here:(?!\s*measuring)")
CARD = ".st-key-head-card"
OFF = ".hl-editing .hl-off"


def here(page: Page, step: int) -> Locator:
    """What was found in this very step; Streamlit keeps that of the step before for a moment."""
    return page.locator(f".st-key-lesson-here-{step} .hl-here").first


def open_step(page: Page, server: AppServer, lesson: str, step: int, more: str = "") -> None:
    page.goto(f"{server.address}/lessons?lesson={lesson}&step={step}{more}")
    expect(page.get_by_role("heading", level=1)).to_have_text(lesson_of(lesson).steps[step - 1].title)


def test_a_lesson_runs_from_start_to_end(page: Page, server: AppServer) -> None:
    lesson = lesson_of("sixteen_heads")
    page.goto(f"{server.address}/lessons")
    page.locator(f".st-key-start-{lesson.key} button").click()
    for number, step in enumerate(lesson.steps, 1):
        expect(page.get_by_role("heading", level=1)).to_have_text(step.title)
        expect(page.locator(".hl-pills")).to_have_attribute("aria-label", f"step {number} of {len(lesson.steps)}")
        expect(here(page, number)).to_contain_text(MEASURED, timeout=PATIENT)
        expect(page.locator('[data-testid="stException"], [data-testid="stAlert"]')).to_have_count(0)
        if number < len(lesson.steps):
            page.locator(f".st-key-lesson-next-{number} button").click()
    expect(page).to_have_url(re.compile(f"lesson={lesson.key}&step={len(lesson.steps)}&model={lesson.model}"))


def test_a_training_is_watched_and_the_page_turned_before_it_ends(page: Page, server: AppServer) -> None:
    lesson = lesson_of("specialised_heads")
    number = next(at for at, step in enumerate(lesson.steps, 1) if step.control == "gates")
    open_step(page, server, lesson.key, number)
    expect(page.get_by_text(re.compile("The gate movie|The first gates")).first).to_be_visible(timeout=PATIENT)
    page.locator(f".st-key-lesson-next-{number} button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(lesson.steps[number].title)
    store = Store(server.home)
    for run in store.runs(WAITING, kind="learn"):
        if run.model == lesson.model:
            store.cancel(run.id)


def verdict(page: Page) -> Locator:
    return page.locator(".hl-verdict-line").first


def cell(page: Page, head: str) -> Locator:
    return page.locator(f'[role=gridcell][aria-label^="{head}"]').first


def test_a_head_of_the_role_is_found_by_clicking(page: Page, server: AppServer) -> None:
    open_step(page, server, "specialised_heads", len(lesson_of("specialised_heads").steps))
    expect(verdict(page)).to_contain_text("Pick a head in the grid", timeout=PATIENT)
    run = next(run for run in Store(server.home).runs((DONE,), kind="roles") if run.model == "translator")
    facts = RoleFacts.from_json(run.result)
    has = [head for head in facts.heads if "positional" in facts.held(head)]
    cell(page, str(next(head for head in facts.heads if head not in has))).click()
    expect(verdict(page)).to_contain_text("Look on")
    cell(page, str(has[0])).click()
    expect(verdict(page)).to_contain_text("Found: ")


def test_the_pair_that_costs_most_is_found_by_clicking(page: Page, server: AppServer) -> None:
    open_step(page, server, "sixteen_heads", 7)
    said_so = verdict(page)
    expect(said_so).to_contain_text("0 heads off; switch off exactly 2")
    cells = page.locator(".hl-editing [role=gridcell]")
    expect(cells.first).to_have_attribute("aria-label", re.compile("of the most important head"))
    cells.last.click()
    expect(said_so).to_contain_text("1 head off")
    cells.last.click()
    labels = [str(cell.get_attribute("aria-label")) for cell in cells.all()]
    darkest = sorted(range(len(labels)), key=lambda at: -int(re.search(r"(\d+) %", labels[at])[1]))
    for at in darkest[:2]:
        cells.nth(at).click()
    expect(said_so).to_contain_text("Found: this pair costs", timeout=PATIENT)
    assert "hl-good" in str(said_so.get_attribute("class"))


def test_a_step_is_a_link_with_its_mask_slider_and_what_to_notice(
    open_page: Callable[..., Page], server: AppServer
) -> None:
    first, second = open_page(), open_page()
    open_step(first, server, "sixteen_heads", 1)
    first.locator(".hl-editing [role=gridcell]").nth(7).click()
    expect(here(first, 1)).to_contain_text("1 head off")
    first.locator(".st-key-lesson-notice button").click()
    expect(first.locator(".hl-notice")).to_be_visible()
    expect(first).to_have_url(re.compile("mask=.*notice=1"))
    second.goto(first.url)
    expect(second.locator(".hl-editing .hl-off")).to_have_count(1)
    expect(second.locator(".hl-notice")).to_be_visible()
    open_step(second, server, "sixteen_heads", 5, "&k=12")
    expect(second.get_by_role("slider")).to_have_value("12")
    expect(here(second, 5)).to_contain_text("12 heads gone", timeout=PATIENT)


def test_a_teacher_jumps_turns_pages_by_keys_and_presents(page: Page, server: AppServer) -> None:
    steps = lesson_of("sixteen_heads").steps
    heading = page.get_by_role("heading", level=1)
    open_step(page, server, "sixteen_heads", 1)
    page.get_by_role("button", name="Steps").click()
    page.locator(".st-key-jump-4 button").click()
    expect(heading).to_have_text(steps[3].title)
    expect(page.locator(".st-key-lesson-next-4 button")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect(heading).to_have_text(steps[4].title)
    expect(page.locator(".st-key-lesson-previous-5 button")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(heading).to_have_text(steps[3].title)
    expect(page.locator("[data-testid=stSidebar]")).to_be_visible()
    page.locator(".st-key-lesson-size button").click()
    expect(page).to_have_url(re.compile("step=4.*size=presenter"))
    expect(page.locator("[data-testid=stSidebar]")).not_to_be_visible()
    assert heading.evaluate("one => getComputedStyle(one).fontSize") == "44px"
    page.locator(".st-key-lesson-next-4 button").click()
    expect(heading).to_have_text(steps[4].title)
    expect(page).to_have_url(re.compile("size=presenter"))


def test_a_head_picked_in_a_lesson_opens_its_card_which_the_next_step_closes(page: Page, server: AppServer) -> None:
    open_step(page, server, "sixteen_heads", 3)
    hollow = page.locator(f'{small_grid(3)} [role=gridcell][aria-label="encoder.0.0, removed"]')
    hollow.click()
    expect(page.locator(CARD)).to_contain_text("Encoder 0.0")
    expect(hollow).to_have_attribute("aria-selected", "true")
    open_step(page, server, "sixteen_heads", 4)
    cell(page, "encoder.1.2,").click()
    expect(page.locator(CARD)).to_contain_text("Encoder 1.2")
    expect(page.locator(CARD)).to_contain_text("Where it looks")
    expect(page).to_have_url(re.compile("head=encoder.1.2"))
    page.locator(".st-key-next button").filter(visible=True).click()
    expect(cell(page, "encoder.1.3,")).to_have_attribute("aria-selected", "true")
    page.locator(".st-key-close-card button").click()
    expect(page.locator(CARD)).to_have_count(0)
    expect(page.locator('[aria-selected="true"][role=gridcell]')).to_have_count(0)
    cell(page, "encoder.0.5,").click()
    expect(page.locator(CARD)).to_contain_text("Encoder 0.5")
    page.locator(".st-key-lesson-next-4 button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(lesson_of("sixteen_heads").steps[4].title)
    expect(page.locator(CARD)).to_have_count(0)


def test_where_a_click_switches_a_head_off_a_button_opens_the_card_of_the_last(page: Page, server: AppServer) -> None:
    open_step(page, server, "sixteen_heads", 1)
    button = page.locator('[class*="st-key-lesson-sixteen_heads-1-card"] button').filter(visible=True)
    expect(button).to_be_disabled()
    cell(page, "encoder.1.2").click()
    expect(page.locator(OFF)).to_have_count(1)
    expect(button).to_have_text(re.compile("Card of Encoder 1.2"))
    expect(page.locator(CARD)).to_have_count(0)
    button.click()
    expect(page.locator(CARD)).to_contain_text("Encoder 1.2")
    cell(page, "encoder.3.4").click()
    expect(page.locator(CARD)).to_contain_text("Encoder 3.4")
    expect(page.locator(OFF)).to_have_count(2)
    page.locator(".st-key-previous button").filter(visible=True).click()
    expect(page.locator(CARD)).to_contain_text("Encoder 3.3")
    expect(page.locator(OFF)).to_have_count(2)


def small_grid(step: int) -> str:
    """The grid of a step of the first lesson."""
    return f'[class*="st-key-lesson-sixteen-heads-{step}-grid"]'


def test_arrow_keys_in_the_grid_move_in_the_grid(page: Page, server: AppServer) -> None:
    open_step(page, server, "sixteen_heads", 1)
    page.locator(".hl-editing [role=gridcell]").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator(".hl-editing .hl-off")).to_have_attribute("aria-label", re.compile("^encoder.0.1,"))
    expect(page.get_by_role("heading", level=1)).to_have_text(lesson_of("sixteen_heads").steps[0].title)


def test_a_word_explains_itself_to_pointer_and_keyboard(page: Page, server: AppServer) -> None:
    open_step(page, server, "sixteen_heads", 1)
    word = page.locator(".hl-text .hl-word").first
    meaning = page.locator(f"[id='{word.get_attribute('aria-describedby')}']")
    expect(meaning).not_to_be_visible()
    word.hover()
    expect(meaning).to_be_visible()
    page.mouse.move(0, 0)
    expect(meaning).not_to_be_visible()
    word.focus()
    expect(meaning).to_be_visible()
    assert meaning.get_attribute("role") == "tooltip"
