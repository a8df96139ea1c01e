"""What a browser asks for a page that it has left does not reach the app."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from headscope.web.server.one_page import OnePage

ROOT = Path(__file__).parents[3]


def asked(page: str, part: str = "") -> bytes:
    message = BackMsg()
    message.rerun_script.page_script_hash = page
    message.rerun_script.fragment_id = part
    return message.SerializeToString()


def passed_on(messages: Sequence[bytes], kind: str = "websocket") -> list[bytes]:
    """What of the messages of one connection reaches the app."""
    events: list[Message] = [{"type": f"{kind}.receive", "bytes": one} for one in messages]
    events.append({"type": f"{kind}.disconnect"})
    reached = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        while (message := await receive())["type"] == f"{kind}.receive":
            reached.append(message["bytes"])

    async def receive() -> Message:
        return events.pop(0)

    async def send(message: Message) -> None:
        raise AssertionError(message)

    asyncio.run(OnePage(app)({"type": kind}, receive, send))
    return reached


def test_a_part_of_the_page_before_is_not_drawn_after_another_page_was_opened() -> None:
    first, late, second, own = asked("a"), asked("a", "side bar"), asked("b"), asked("b", "side bar")
    assert passed_on([first, late, second, late, own]) == [first, late, second, own]


def test_parts_pass_again_after_the_way_back() -> None:
    there, back, part = asked("b"), asked("a"), asked("a", "side bar")
    assert passed_on([asked("a"), there, part, back, part]) == [asked("a"), there, back, part]


def test_the_first_page_of_a_link_has_a_name_only_the_server_knows() -> None:
    messages = [asked(""), asked("a", "side bar")]
    assert passed_on(messages) == messages


@pytest.mark.parametrize("odd", [b"", b"\xff\xff", BackMsg(stop_script=True).SerializeToString()])
def test_whatever_else_is_sent_is_left_to_the_app(odd: bytes) -> None:
    messages = [asked("a"), odd, asked("a", "side bar")]
    assert passed_on(messages) == messages


def test_other_than_web_sockets_pass_as_they_are() -> None:
    messages = [asked("a"), asked("b", "side bar")]
    assert passed_on(messages, "http") == messages


def test_pages_are_left_by_links_alone() -> None:
    """The server would not hear of another way to leave a page, and drop what the next one asks for."""
    code = [path for folder in ("pages", "headscope/web") for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in code if "st.switch_page(" in path.read_text(encoding="utf-8")] == []
