"""Numbers come although a look for them was lost on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocketRoute
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.browser.waiting import eventually

pytestmark = pytest.mark.browser

CELLS = '.hl-editing [role="gridcell"]'
NUMBERS = ".hl-numbers > div"
N_OTHERS = 4  # metric, parameters, operations, and the empty end
N = 80
"""Heads of the translator."""

LOST = 1
"""Looks that do not arrive."""


def test_a_look_that_is_lost_is_repeated(open_page: Callable[..., Page], address: str) -> None:
    page = open_page()
    lost: list[bytes] = []

    def lose_a_look(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            if isinstance(message, bytes) and is_look(message) and len(lost) < LOST:
                lost.append(message)
            else:
                server.send(message)

        socket.on_message(pass_on)

    page.route_web_socket("**/_stcore/stream", lose_a_look)
    page.goto(f"{address}/prune_lab?model=translator")
    cells = page.locator(CELLS)
    cells.first.wait_for()
    eventually(page, lambda: measured(page), f"{N} / {N}")
    lost.clear()
    cells.nth(3).click()  # what a translator writes takes longer than the page waits for it
    eventually(page, lambda: measured(page), f"{N - 1} / {N}")
    assert len(lost) == LOST


def is_look(message: bytes) -> bool:
    """Whether a clock of the page rings by this."""
    states = BackMsg.FromString(message).rerun_script.widget_states.widgets
    return any("refresh" in state.id and state.json_trigger_value for state in states)


def measured(page: Page) -> str:
    """How many heads of all the page says are kept, once their metric is that of the whole split."""
    kept, *rest = [*page.locator(NUMBERS).all_inner_texts(), ""]
    is_known = len(rest) == N_OTHERS and not any("…" in one or "≈" in one for one in rest)
    lines = kept.splitlines()  # fewer than two while the tile is being drawn
    return lines[1] if is_known and len(lines) > 1 else ""
