"""What is sent to a browser is whole: a page must not depend on what the server believes the browser still has.

Streamlit sends a large message once and then only its name, as long as the browser said that it has it. A browser that
has thrown it away since, as several parts of the page were drawn meanwhile, stops at the name and never goes on.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

pytestmark = pytest.mark.browser

LARGE = 10_000
"""Bytes from which Streamlit would by itself send a name the next time."""

CELLS = ".st-key-grid [role=gridcell]"


def test_every_message_is_sent_whole(open_page: Callable[..., Page], address: str) -> None:
    page = open_page()
    received: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(frame) if isinstance(frame, bytes) else None)

    page.on("websocket", listen)
    page.goto(f"{address}/importance?model=looker")
    for place, head in ((1, "Encoder 0.1"), (2, "Encoder 0.2")):  # the second time most of the page is as it was
        page.locator(CELLS).nth(place).click()
        expect(page.locator(".st-key-head-card")).to_contain_text(head)
    messages = [ForwardMsg.FromString(one) for one in received]
    assert any(len(one) > LARGE for one in received)
    assert not any(one.metadata.cacheable or one.WhichOneof("type") == "ref_hash" for one in messages)
