"""Keeps what a page asks for with an old link from taking back what a click has put into the link.

Pages keep in the link what is open: a head, a step, a run. A click changes the link on the server, which tells the
browser. Whatever the browser asks for meanwhile, a part of the page that looks for news for example, still carries the
link of before. Streamlit would take that as the newest word: a card that was closed would open again, and a lesson go
back a step. So such a request gets the link of the server here, with what the browser itself changed in it.

What a page asks for by its clock while a click is under way is left out, as the server has not changed the link yet:
the clock goes on and asks again.

A browser sends a click a moment after it was made. If a clock of the page rings in between, its request holds the click
too, and the server would take one click for two. So clicks are taken out of what a clock asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates

Query = dict[str, list[str]]
SECONDS_ON_THE_WAY = 10.0
"""A browser that has not shown a link for so long will not show it any more."""

LONGEST = 20_000
"""Bytes that a message with a link, or with news of a run, has at most."""


@dataclass
class Link:
    """The link of one open page, as the browser shows it and as the server has changed it since."""

    clock: Callable[[], float] = time.monotonic
    page: str = ""
    shown: Query = field(default_factory=dict)
    on_the_way: list[tuple[float, Query]] = field(default_factory=list)
    clicked: float | None = None
    is_begun: bool = False

    def click(self) -> None:
        """A click is passed on to the server; what it does to the link is not known yet."""
        self.clicked, self.is_begun = self.clock(), False

    def begin(self) -> None:
        """The server begins a run, after a click that of the click."""
        self.is_begun = True

    def finish(self) -> None:
        """The server has ended a run; what was under way before the click is none of the click."""
        if self.is_begun:
            self.clicked = None

    def is_clicked(self) -> bool:
        """Whether the run of a click has not ended yet."""
        return self.clicked is not None and self.clock() - self.clicked < SECONDS_ON_THE_WAY

    def change(self, query: str) -> None:
        """The server has sent another link."""
        self.on_the_way.append((self.clock(), _parsed(query)))

    def of_request(self, page: str, query: str, is_way_back: bool = False) -> str:
        """The link with which a request of the browser is to be answered; another page and a way back keep theirs."""
        said, now = _parsed(query), self.clock()
        self.on_the_way = [one for one in self.on_the_way if now - one[0] < SECONDS_ON_THE_WAY]
        if page != self.page or is_way_back:
            self.page, self.on_the_way = page, []
        self._note_what_is_shown(said)
        if not self.on_the_way:
            self.shown = said
            return query
        newest = dict(self.on_the_way[-1][1])
        for name in said.keys() | self.shown.keys():
            if said.get(name) != self.shown.get(name):
                newest[name] = said.get(name, [])
        return urlencode(newest, doseq=True)

    def _note_what_is_shown(self, said: Query) -> None:
        """Forgets what the browser has caught up with."""
        links = [self.shown, *(query for _, query in self.on_the_way)]
        names = {name for one in links for name in one if any(one.get(name) != other.get(name) for other in links)}
        for place in reversed(range(len(self.on_the_way))):
            sent = self.on_the_way[place][1]
            if all(said.get(name) == sent.get(name) for name in names):
                self.shown, self.on_the_way = sent, self.on_the_way[place + 1 :]
                return


CLICKS = ("trigger_value", "string_trigger_value", "chat_input_value", "json_trigger_value")
"""What says that something was done, where all else that a browser sends says how something is."""


class OneLink:
    """Answers what a browser asks for with the newest link of its page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Every connection has a link of its own."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        link = Link()

        async def with_newest_link() -> Message:
            while True:
                message = await receive()
                asked = message.get("bytes")
                if not asked:
                    return message
                if answered := corrected(asked, link):
                    return {**message, "bytes": answered}

        async def noted(message: Message) -> None:
            note(message.get("bytes") or b"", link)
            await send(message)

        await self.app(scope, with_newest_link, noted)


def corrected(asked: bytes, link: Link) -> bytes:
    """What a browser asks for, with the newest link of its page, and without clicks if it is a clock that asks.

    Empty if a clock asks while a click is under way.
    """
    try:
        message = BackMsg.FromString(asked)
    except DecodeError:
        return asked
    if message.WhichOneof("type") != "rerun_script":
        return asked
    request = message.rerun_script
    if request.is_auto_rerun and link.is_clicked():
        return b""
    is_changed = request.is_auto_rerun and _without_clicks(request.widget_states)
    query = link.of_request(request.page_script_hash, request.query_string, request.is_history_navigation)
    if any(state.trigger_value for state in request.widget_states.widgets):
        link.click()
    if query == request.query_string and not is_changed:
        return asked
    request.query_string = query
    return bytes(message.SerializeToString())


def _without_clicks(states: WidgetStates) -> bool:
    """Takes the clicks out; says whether there were any."""
    kept = [state for state in states.widgets if state.WhichOneof("value") not in CLICKS]
    if len(kept) == len(states.widgets):
        return False
    states.CopyFrom(WidgetStates(widgets=kept))
    return True


def note(sent: bytes, link: Link) -> None:
    """Notes what a message of the server does to the link."""
    if not 0 < len(sent) < LONGEST:
        return
    message = ForwardMsg.FromString(sent)
    match message.WhichOneof("type"):
        case "page_info_changed":
            link.change(message.page_info_changed.query_string)
        case "new_session":
            link.begin()
        case "script_finished":
            link.finish()


def _parsed(query: str) -> Query:
    return parse_qs(query.removeprefix("?"), keep_blank_values=True)
