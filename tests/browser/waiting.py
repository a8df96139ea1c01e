"""Waits for what no locator can tell."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

PATIENCE = 300
"""Seconds, for a busy machine."""

LOOK_AGAIN = 100
"""Milliseconds between two looks, in which the browser goes on."""


def eventually(page: Page, found: Callable[[], object], wanted: object) -> None:
    """Returns once what is found is what is wanted; the browser goes on meanwhile. Fails after five minutes."""
    until = time.monotonic() + PATIENCE
    while found() != wanted and time.monotonic() < until:
        page.wait_for_timeout(LOOK_AGAIN)
    assert found() == wanted


class Traffic:
    """What a page that is opened after this asks of the server by itself, and how often it was answered."""

    def __init__(self, page: Page) -> None:
        self.looks: list[bytes] = []
        self.n_ended = 0
        page.on("websocket", self._listen)

    def parts(self) -> dict[str, bytes]:
        """The newest look for news of each part of the page."""
        return {BackMsg.FromString(look).rerun_script.fragment_id: look for look in self.looks}

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: self._sent(frame) if isinstance(frame, bytes) else None)
        socket.on("framereceived", lambda frame: self._received(frame) if isinstance(frame, bytes) else None)

    def _sent(self, frame: bytes) -> None:
        if BackMsg.FromString(frame).rerun_script.fragment_id:
            self.looks.append(frame)

    def _received(self, frame: bytes) -> None:
        self.n_ended += ForwardMsg.FromString(frame).WhichOneof("type") == "script_finished"
