"""A server that asks for a password, in a real browser: links, downloads and runs of two users."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from headscope.runs.data_dir import write_whole
from headscope.runs.store import Store
from tests.browser.conftest import PASSWORD
from tests.browser.downloads import download_of
from tools.app_server import AppServer

pytestmark = pytest.mark.browser


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def status(address: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def cookies(context: BrowserContext) -> str:
    return "; ".join(f"{one['name']}={one['value']}" for one in context.cookies())


def test_a_deep_link_to_a_fresh_server_asks_for_the_password_and_then_leads_there(
    page: Page, closed: AppServer
) -> None:
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.goto(f"{closed.address}/runs?model=looker&run=0123")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    sign_in(page, "ada", "wrong password")
    expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
    assert sockets == [], "Streamlit has not even begun"
    sign_in(page, "ada")
    expect(page).to_have_url(re.compile(r"/runs\?model=looker&run="))
    expect(page.locator("h1.hl-title")).to_have_text("Runs")
    expect(page.get_by_text("Signed in as ada")).to_be_visible()
    assert [one["httpOnly"] for one in page.context.cookies() if one["name"] == "headscope_user"] == [True]


def test_two_users_see_their_own_runs_alone(open_page: Callable[..., Page], closed: AppServer) -> None:
    (run,) = Store(closed.home, "ada").runs()
    ada, bob = open_page(), open_page()
    for page, name in ((ada, "ada"), (bob, "bob")):
        page.goto(f"{closed.address}/runs?run={run.id}")
        sign_in(page, name)
    expect(ada.get_by_text("1 run, 0 under way")).to_be_visible()
    expect(ada.get_by_text(run.id).first).to_be_visible()
    expect(bob.get_by_text("Nothing was computed yet")).to_be_visible()
    assert run.id not in bob.locator("[data-testid=stMain]").inner_text()


def test_a_download_needs_the_cookie_of_somebody_who_signed_in(page: Page, closed: AppServer) -> None:
    page.goto(f"{closed.address}/runs")
    sign_in(page, "ada")
    file = download_of(page, page.locator(".st-key-report button")).url
    assert file.startswith(f"{closed.address}/media/")
    assert status(file) == 401
    assert status(file, Cookie=cookies(page.context)) == 200
    assert status(closed.address, Cookie=cookies(page.context)) == 200
    assert status(closed.address, Cookie=cookies(page.context), Host="evil.example") == 400


def test_who_signs_out_is_out(page: Page, closed: AppServer) -> None:
    page.goto(f"{closed.address}/runs")
    sign_in(page, "bob")
    page.get_by_text("Signed in as bob").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto(f"{closed.address}/importance")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_a_user_who_is_taken_from_the_list_sees_nothing_more_on_an_open_page(page: Page, closed: AppServer) -> None:
    page.goto(f"{closed.address}/runs")
    sign_in(page, "cara")
    expect(page.get_by_text("Nothing was computed yet")).to_be_visible()
    listed = closed.home / "users"
    others = [line for line in listed.read_text().splitlines() if not line.startswith("cara")]
    write_whole(listed, "".join(f"{line}\n" for line in others).encode())
    expect(page.get_by_text("to go on. Where that page is missing").first).to_be_visible()
