"""What a page that was left still asks for does not reach the page that came after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.browser.waiting import eventually

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
    sent: list[bytes] = []
    errors: list[str] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(frame) if isinstance(frame, bytes) else None)

    page.on("websocket", listen)
    page.on("console", lambda said: errors.append(said.text) if "delta path" in said.text else None)
    page.goto(f"{address}/runs")
    eventually(page, lambda: len(looks(sent)) >= PARTS, True)
    late = looks(sent)
    go(page, "Roles")
    for message in late.values():
        page.evaluate(SEND, list(message))
        page.wait_for_timeout(1500)
    assert errors == []
    go(page, "Importance")


def go(page: Page, title: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()
    expect(page.locator("h1.hl-title")).to_have_text(title)


def looks(sent: list[bytes]) -> dict[str, bytes]:
    """What was sent to have a part of the page drawn anew, by part."""
    asked = {one: BackMsg.FromString(one) for one in sent}
    return {
        message.rerun_script.fragment_id: one
        for one, message in asked.items()
        if message.WhichOneof("type") == "rerun_script" and message.rerun_script.fragment_id
    }
