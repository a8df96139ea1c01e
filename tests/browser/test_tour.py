"""The tour as a first visitor takes it, and everybody else does not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tools.app_server import AppServer

pytestmark = pytest.mark.browser


def test_the_tour_leads_from_a_specimen_to_a_lesson_and_never_comes_back(page: Page, server: AppServer) -> None:
    tour = page.locator(".st-key-tour").first
    page.goto(server.address)
    expect(tour).to_contain_text("step 1 of 4")
    page.get_by_role("button", name="Pick the looker").click()
    expect(tour).to_contain_text("Every square is a head")
    expect(page).to_have_url(re.compile("model=looker"))
    page.get_by_role("link", name="Next: remove a head").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Prune Lab")
    expect(tour).to_contain_text("step 3 of 4")
    page.get_by_role("link", name="Next: take a lesson").click()
    expect(tour).to_contain_text("Five papers")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".st-key-tour")).to_have_count(0)
    page.goto(server.address)
    expect(page.locator(".hl-specimen").first).to_be_visible()
    expect(page.locator(".st-key-tour")).to_have_count(0)


def test_the_side_bar_leads_back_to_the_tour_and_words_explain_themselves_outside_of_lessons(
    page: Page, server: AppServer
) -> None:
    page.goto(f"{server.address}/fiak?model=looker")
    word = page.locator(".hl-lede .hl-word", has_text="priors").first
    meaning = word.locator(".hl-meaning")
    expect(meaning).not_to_be_visible()
    word.hover()
    expect(meaning).to_contain_text("How likely a key is to be looked at")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Tour").click()
    expect(page.locator(".st-key-tour").first).to_contain_text("step 1 of 4")
    expect(page).to_have_url(re.compile("tour=1"))


def test_a_tour_that_was_closed_stays_away_in_this_browser_only(
    open_page: Callable[..., Page], server: AppServer
) -> None:
    page = open_page()
    page.goto(server.address)
    page.get_by_role("button", name="Close the tour").click()
    expect(page.locator(".st-key-tour")).to_have_count(0)
    expect(page.locator(".hl-specimen").first).to_be_visible()
    page.wait_for_function("document.cookie.includes('headscope-tour=seen')")
    page.goto(server.address)
    expect(page.locator(".hl-specimen").first).to_be_visible()
    expect(page.locator(".st-key-tour")).to_have_count(0)
    other = open_page()
    other.goto(server.address)
    expect(other.locator(".st-key-tour")).to_be_visible()


@pytest.mark.parametrize("link", ["/?model=looker", "/prune_lab?model=looker", "/?model=looker&tour=9"])
def test_whoever_comes_by_a_link_gets_no_tour(page: Page, server: AppServer, link: str) -> None:
    page.goto(server.address + link)
    expect(page.get_by_text(re.compile("Pick a model|and watch what the model loses"))).to_be_visible()
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    expect(page.locator(".st-key-tour")).to_have_count(0)
