"""The newest link of a page wins over what a browser still says of an older one."""

from __future__ import annotations

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from headscope.web.server.one_link import SECONDS_ON_THE_WAY, Link, corrected, note


@pytest.fixture
def link() -> Link:
    """A page that the browser shows with an open card, which the server closes."""
    opened = Link(clock=lambda: 0.0)
    assert opened.of_request("learn", "model=looker&head=encoder.2.1") == "model=looker&head=encoder.2.1"
    opened.change("model=looker")
    return opened


def test_a_request_from_before_the_change_gets_the_newest_link(link: Link) -> None:
    assert link.of_request("learn", "model=looker&head=encoder.2.1") == "model=looker"
    assert link.of_request("learn", "model=looker&head=encoder.2.1") == "model=looker", "however many there are"


def test_what_the_browser_changed_itself_is_kept(link: Link) -> None:
    assert link.of_request("learn", "model=looker&head=encoder.2.1&tab=Speed") == "model=looker&tab=Speed"


def test_once_the_browser_shows_the_change_it_may_go_back_to_what_was_before(link: Link) -> None:
    assert link.of_request("learn", "model=looker") == "model=looker"
    assert link.of_request("learn", "model=looker&head=encoder.2.1") == "model=looker&head=encoder.2.1"


def test_a_browser_that_shows_the_change_and_one_of_its_own_has_caught_up(link: Link) -> None:
    assert link.of_request("learn", "model=looker&tab=Speed") == "model=looker&tab=Speed"
    assert link.of_request("learn", "head=encoder.2.1") == "head=encoder.2.1"


def test_of_several_changes_the_browser_may_show_the_first_while_the_last_is_on_the_way(link: Link) -> None:
    link.change("model=looker&head=encoder.0.0")
    assert link.of_request("learn", "model=looker") == "model=looker&head=encoder.0.0"
    assert link.of_request("learn", "model=looker&head=encoder.0.0") == "model=looker&head=encoder.0.0"
    assert link.of_request("learn", "model=looker") == "model=looker"


def test_another_page_and_a_way_back_keep_their_own_link(link: Link) -> None:
    assert link.of_request("roles", "model=looker&head=encoder.2.1") == "model=looker&head=encoder.2.1"
    link.change("model=looker")
    back = link.of_request("roles", "model=looker&head=encoder.2.1", is_way_back=True)
    assert back == "model=looker&head=encoder.2.1"


def test_a_change_that_never_arrives_is_forgotten(link: Link) -> None:
    link.clock = lambda: SECONDS_ON_THE_WAY
    assert link.of_request("learn", "model=looker&head=encoder.2.1") == "model=looker&head=encoder.2.1"


def test_messages_are_changed_in_their_link_alone(link: Link) -> None:
    state = ClientState(page_script_hash="learn", query_string="model=looker&head=encoder.2.1", fragment_id="card")
    message = BackMsg.FromString(corrected(BackMsg(rerun_script=state).SerializeToString(), link))
    assert (message.rerun_script.query_string, message.rerun_script.fragment_id) == ("model=looker", "card")


@pytest.mark.parametrize("odd", [b"\xff\xff", BackMsg(stop_script=True).SerializeToString()])
def test_whatever_else_is_sent_stays_as_it_is(link: Link, odd: bytes) -> None:
    assert corrected(odd, link) == odd


def test_the_server_changes_the_link_by_one_kind_of_message(link: Link) -> None:
    message = ForwardMsg()
    message.page_info_changed.query_string = "model=looker&head=encoder.3.3"
    note(message.SerializeToString(), link)
    assert link.of_request("learn", "model=looker&head=encoder.2.1") == "model=looker&head=encoder.3.3"


def asked(is_clock: bool) -> bytes:
    """What a clock of the page asks for, or a click."""
    state = ClientState(page_script_hash="learn", query_string="model=looker", is_auto_rerun=is_clock)
    if not is_clock:
        state.widget_states.widgets.add(id="close", trigger_value=True)
    return BackMsg(rerun_script=state).SerializeToString()


def test_a_clock_waits_for_the_end_of_a_click() -> None:
    clock, click = asked(is_clock=True), asked(is_clock=False)
    began, ended = ForwardMsg(), ForwardMsg(script_finished=0)
    began.new_session.name = "run"
    link = Link(clock=lambda: 0.0)
    assert corrected(clock, link) == clock
    assert corrected(click, link) == click
    note(ended.SerializeToString(), link)  # of a run before the click
    assert corrected(clock, link) == b""
    assert corrected(click, link) == click, "a second click does not wait"
    note(began.SerializeToString(), link)
    assert corrected(clock, link) == b""
    note(ended.SerializeToString(), link)
    assert corrected(clock, link) == clock


def test_a_clock_does_not_wait_for_ever() -> None:
    now = [0.0]
    link = Link(clock=lambda: now[0])
    corrected(asked(is_clock=False), link)
    now[0] = SECONDS_ON_THE_WAY
    assert corrected(asked(is_clock=True), link) == asked(is_clock=True)


def test_a_clock_that_rings_before_a_click_is_sent_does_not_click() -> None:
    state = ClientState(page_script_hash="learn", query_string="model=looker", is_auto_rerun=True, fragment_id="news")
    state.widget_states.widgets.add(id="undo", trigger_value=True)
    state.widget_states.widgets.add(id="grid", json_trigger_value='["clicked"]')
    state.widget_states.widgets.add(id="search", string_trigger_value={"data": "head"})
    state.widget_states.widgets.add(id="talk", chat_input_value={"data": "head"})
    state.widget_states.widgets.add(id="step", string_value="every 2 %")
    sent = BackMsg(rerun_script=state).SerializeToString()
    link = Link(clock=lambda: 0.0)
    clock = BackMsg.FromString(corrected(sent, link)).rerun_script
    assert [one.id for one in clock.widget_states.widgets] == ["step"]
    assert (clock.fragment_id, clock.is_auto_rerun, clock.query_string) == ("news", True, "model=looker")
    assert not link.is_clicked()


def test_a_click_stays_in_what_is_sent_for_it() -> None:
    assert corrected(asked(is_clock=False), Link(clock=lambda: 0.0)) == asked(is_clock=False)
