"""Keeps what a page still asks for after it was left from the page that came after it.

Parts of a page look for news by themselves. Where a server is slow, such a look may come after the click that opened
another page. Streamlit would then draw that part as one of the page before: the browser throws the new page away, finds
no place for the part, and stays white until it is reloaded. Which page is open is told by the browser alone, as people
leave pages by links; `st.switch_page` is not used here, and this would not know of it.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg


class OnePage:
    """Drops what a browser asks for a part of a page that it has left."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Every connection of its own knows which page its browser opened last."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        opened = ""

        async def of_this_page() -> Message:
            nonlocal opened
            while True:
                message = await receive()
                page, is_part = asked_page(message.get("bytes") or b"")
                if not is_part:
                    opened = page or opened
                if not is_part or not opened or page == opened:
                    return message

        await self.app(scope, of_this_page, send)


def asked_page(message: bytes) -> tuple[str, bool]:
    """Of which page a browser wants something drawn, if that is what it wants, and whether only a part of it."""
    try:
        asked = BackMsg.FromString(message)
    except DecodeError:
        return "", False
    if asked.WhichOneof("type") != "rerun_script":
        return "", False
    return asked.rerun_script.page_script_hash, bool(asked.rerun_script.fragment_id)
