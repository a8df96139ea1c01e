"""What a page that was left still asks for does not reach the page that came after it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.waiting import Traffic, eventually

pytestmark = pytest.mark.browser

KEEP_THE_SOCKET = """
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) { window.lastSocket = this; send.call(this, data); };
"""
PARTS = 2
"""Of the Runs page that look for news: the list of runs, and the side bar, which every page has."""

SEND = "(bytes) => window.lastSocket.send(new Uint8Array(bytes))"


def test_a_look_for_news_of_the_page_before_that_comes_late_leaves_the_page_as_it_is(
    open_page: Callable[..., Page], address: str
) -> None:
    """A slow server gets it after the click on a link. Streamlit alone would turn the page white."""
    page = open_page()
    page.add_init_script(KEEP_THE_SOCKET)
    traffic = Traffic(page)
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if "delta path" in said.text else None)
    page.goto(f"{address}/runs")
    eventually(page, lambda: len(traffic.parts()) >= PARTS, True)
    late = traffic.parts()
    go(page, "Roles")
    for message in late.values():
        page.evaluate(SEND, list(message))
        asked, ended = len(traffic.looks), traffic.n_ended
        eventually(page, lambda: len(traffic.looks) > asked and traffic.n_ended > ended, True)  # noqa: B023
    assert errors == []
    go(page, "Importance")


def test_a_look_sent_before_a_click_changed_the_link_does_not_take_the_click_back(page: Page, address: str) -> None:
    """A look that meets the new link on its way. Streamlit alone would open again the card that was closed."""
    late: list[bytes] = []

    def delay(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            if isinstance(message, bytes) and b"close-card" in message:
                asked = BackMsg.FromString(message)
                del asked.rerun_script.widget_states.widgets[:]
                asked.rerun_script.fragment_id = ""
                late.append(asked.SerializeToString())
            server.send(message)

        def pass_back(message: str | bytes) -> None:
            if late and isinstance(message, bytes) and changes_the_link(message):
                server.send(late.pop())
            socket.send(message)

        socket.on_message(pass_on)
        server.on_message(pass_back)

    page.route_web_socket("**/_stcore/stream", delay)
    page.goto(f"{address}/?model=looker&head=encoder.3.4")
    card = page.locator(".st-key-head-card")
    expect(card).to_contain_text("Encoder 3.4")
    page.locator(".st-key-close-card button").click()
    expect(page).not_to_have_url(re.compile("head="))
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    assert late == []
    expect(card).to_have_count(0)


def changes_the_link(message: bytes) -> bool:
    return ForwardMsg.FromString(message).WhichOneof("type") == "page_info_changed"


def go(page: Page, title: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()
    expect(page.locator("h1.hl-title")).to_have_text(title)
