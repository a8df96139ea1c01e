from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from headscope.web.charts.palette import IMPORTANCE, VARIABLES
from tests.browser.waiting import eventually
from tools.app_server import shared_server

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="document.body.dataset.ran=1">'
LOOKS = """cells => cells.map(cell => [cell.className, cell.title, cell.ariaLabel, cell.textContent, cell.role,
    getComputedStyle(cell).backgroundColor, getComputedStyle(cell).color, getComputedStyle(cell).backgroundImage,
    getComputedStyle(cell).height])"""


@pytest.fixture(scope="module")
def address(shared_folder: Path) -> Iterator[str]:
    """The address of a server that shows nothing but grids."""
    with shared_server(shared_folder / "grids", script="tests/browser/grid_app.py") as server:
        yield server.address


@pytest.fixture
def grids(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.get_by_text("run 1 is complete")).to_be_visible()
    expect(cells(page, "roles")).to_have_count(144)
    return page


def cells(page: Page, name: str) -> Locator:
    return page.locator(f".st-key-grid-{name} [role=gridcell]")


def cell(page: Page, name: str, head: str) -> Locator:
    return page.locator(f'.st-key-grid-{name} [role=gridcell]:is([aria-label="{head}"], [aria-label^="{head},"])')


def focused(page: Page) -> str:
    """What the focused cell says, in whatever shadow root it is."""
    return str(page.evaluate("document.activeElement.shadowRoot?.activeElement?.ariaLabel ?? 'no cell'"))


def colour(hexadecimal: str) -> str:
    red, green, blue = (int(hexadecimal[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


def drag(page: Page, start: Locator, end: Locator) -> None:
    start.hover()
    page.mouse.down()
    end.hover()
    page.mouse.up()


def test_a_click_moves_the_amber_ring(grids: Page) -> None:
    cell(grids, "scores", "decoder.3.2").click()
    cell(grids, "scores", "encoder.1.4").click()
    expect(grids.get_by_text("selected: encoder.1.4")).to_be_visible()
    chosen = grids.locator(".st-key-grid-scores [aria-selected=true]")
    expect(chosen).to_have_count(1)
    shadow = chosen.evaluate("cell => getComputedStyle(cell).boxShadow")
    assert shadow == f"{colour('#ffffff')} 0px 0px 0px 2px, {colour('#f59e0b')} 0px 0px 0px 5px"


def test_python_moves_the_ring_as_often_as_it_likes(grids: Page) -> None:
    for _ in range(3):
        grids.get_by_role("button", name="first head").click()
        expect(cell(grids, "scores", "encoder.0.0")).to_have_attribute("aria-selected", "true")
        expect(grids.get_by_text("selected: encoder.0.0")).to_be_visible()
        cell(grids, "scores", "cross.2.5").click()
        expect(grids.get_by_text("selected: cross.2.5")).to_be_visible()


def test_a_head_that_is_gone_can_be_neither_selected_nor_edited(grids: Page) -> None:
    gone = cell(grids, "scores", "encoder.2.2")
    assert gone.get_attribute("aria-label") == "encoder.2.2, removed"
    expect(gone).to_have_attribute("aria-disabled", "true")
    gone.click(force=True)
    cell(grids, "mask", "encoder.0.11").click(force=True)
    drag(grids, cell(grids, "mask", "encoder.1.10"), cell(grids, "mask", "encoder.0.11"))
    expect(grids.get_by_text("3 heads: encoder.0.10 encoder.1.10 encoder.1.11")).to_be_visible()
    expect(grids.get_by_text("selected: None")).to_be_visible()


def test_twelve_fast_clicks_are_twelve_heads(grids: Page) -> None:
    cells(grids, "mask").evaluate_all("cells => cells.slice(12, 24).forEach(cell => cell.click())")
    expect(
        grids.get_by_text(re.compile("revision 0, 12 heads: encoder.1.0 encoder.1.1 .*encoder.1.11"))
    ).to_be_visible()
    expect(grids.locator(".st-key-grid-mask .hl-off")).to_have_count(12)


def test_twelve_fast_mouse_clicks_are_twelve_heads_on_a_slow_page(grids: Page) -> None:
    grids.get_by_text("slow", exact=True).click()
    boxes = [cell(grids, "mask", f"encoder.4.{head}").bounding_box() for head in range(12)]
    for box in boxes:
        assert box is not None
        grids.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert grids.locator(".st-key-grid-mask .hl-off").count() == 12, "painted at once, without waiting for the page"
    expect(grids.get_by_text("revision 0, 12 heads: encoder.4.0 ")).to_be_visible()


def test_a_second_click_keeps_the_head_again(grids: Page) -> None:
    for expected in ("1 heads: encoder.3.3", "0 heads"):
        cell(grids, "mask", "encoder.3.3").click()
        expect(grids.get_by_text(f"revision 0, {expected}")).to_be_visible()


def test_a_dragged_box_takes_the_state_its_first_cell_gets(grids: Page) -> None:
    drag(grids, cell(grids, "mask", "encoder.3.4"), cell(grids, "mask", "encoder.1.2"))
    nine = " ".join(f"encoder.{layer}.{head}" for layer in (1, 2, 3) for head in (2, 3, 4))
    expect(grids.get_by_text(f"revision 0, 9 heads: {nine}")).to_be_visible()
    drag(grids, cell(grids, "mask", "encoder.2.3"), cell(grids, "mask", "encoder.5.9"))
    five = "encoder.1.2 encoder.1.3 encoder.1.4 encoder.2.2 encoder.3.2"
    expect(grids.get_by_text(f"revision 0, 5 heads: {five}")).to_be_visible()


def test_a_box_dragged_back_to_its_first_cell_is_one_click(grids: Page) -> None:
    start = cell(grids, "mask", "encoder.6.6")
    start.hover()
    grids.mouse.down()
    cell(grids, "mask", "encoder.8.8").hover()
    expect(grids.locator(".st-key-grid-mask .hl-off")).to_have_count(9)
    start.hover()
    grids.mouse.up()
    expect(grids.get_by_text("revision 0, 1 heads: encoder.6.6")).to_be_visible()
    expect(grids.get_by_text("run 2 is complete")).to_be_visible()


def test_an_answer_that_comes_late_undoes_no_newer_click(page: Page, address: str) -> None:
    answers: list[tuple[bytes, Callable[[], None]]] = []
    late = False

    def delay(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda m: answers.append((m, lambda: socket.send(m))) if late else socket.send(m))

    page.route_web_socket(re.compile("_stcore/stream"), delay)
    page.goto(address)
    expect(page.get_by_text("run 1 is complete")).to_be_visible()
    late = True
    cell(page, "mask", "encoder.1.1").click()
    eventually(page, lambda: ended(answers), True)
    first = [deliver for _, deliver in answers]
    cell(page, "mask", "encoder.2.2").click()
    for deliver in first:
        deliver()
    expect(page.get_by_text("revision 0, 1 heads: encoder.1.1")).to_be_visible()
    expect(page.get_by_text("run 2 is complete")).to_be_visible()  # which stands below the grid
    assert page.locator(".st-key-grid-mask .hl-off").count() == 2


def ended(answers: list[tuple[bytes, Callable[[], None]]]) -> bool:
    """Whether a whole run has come."""
    return any(ForwardMsg.FromString(message).WhichOneof("type") == "script_finished" for message, _ in answers)


def test_the_keyboard_alone_walks_through_all_banks_and_selects(grids: Page) -> None:
    grids.get_by_role("button", name="first head").focus()
    for key, head in [
        ("Tab", "encoder.0.0"),
        ("ArrowLeft", "encoder.0.0"),
        ("ArrowUp", "encoder.0.0"),
        ("ArrowDown", "encoder.1.0"),
        ("End", "encoder.1.7"),
        ("ArrowRight", "decoder.1.0"),
        ("ArrowLeft", "encoder.1.7"),
        ("Home", "encoder.1.0"),
        ("Control+End", "cross.5.7"),
        ("ArrowRight", "cross.5.7"),
        ("Control+Home", "encoder.0.0"),
        ("ArrowRight", "encoder.0.1"),
    ]:
        grids.keyboard.press(key)
        assert focused(grids).startswith(f"{head}, "), key
    expect(grids.get_by_text("selected: None")).to_be_visible()
    grids.keyboard.press("Enter")
    expect(grids.get_by_text("selected: encoder.0.1")).to_be_visible()
    assert grids.locator(".st-key-grid-scores [tabindex='0']").count() == 1


def test_the_arrows_stay_inside_rows_of_uneven_length(grids: Page) -> None:
    cell(grids, "grouped", "decoder.3.8").click()
    grids.keyboard.press("ArrowDown")
    assert focused(grids).startswith("decoder.4.2, ")
    grids.keyboard.press("ArrowUp")
    assert focused(grids).startswith("decoder.3.2, ")


def test_the_keyboard_alone_prunes_with_a_ring_where_the_focus_is(grids: Page) -> None:
    grids.get_by_text("slow", exact=True).locator("xpath=ancestor::label//input").focus()
    for key in ("Tab", "ArrowDown", "ArrowRight", " ", "ArrowDown", "Enter"):
        grids.keyboard.press(key)
    expect(grids.get_by_text("revision 0, 2 heads: encoder.1.1 encoder.2.1")).to_be_visible()
    last = cell(grids, "mask", "encoder.2.1")
    assert last.evaluate("cell => getComputedStyle(cell).outline") == f"{colour(VARIABLES['light']['text'])} solid 2px"
    grids.keyboard.press(" ")
    expect(grids.get_by_text("revision 0, 1 heads: encoder.1.1")).to_be_visible()


def test_mask_and_focus_survive_a_rerun_by_another_widget(grids: Page) -> None:
    cell(grids, "mask", "encoder.5.5").click()
    expect(grids.get_by_text("revision 0, 1 heads: encoder.5.5")).to_be_visible()
    grids.get_by_role("button", name="another widget").evaluate("button => button.click()")
    expect(grids.get_by_text("run 3 is complete")).to_be_visible()
    expect(cell(grids, "mask", "encoder.5.5")).to_have_class(re.compile("hl-off"))
    expect(grids.get_by_text("revision 0, 1 heads: encoder.5.5")).to_be_visible()
    label = focused(grids)
    assert label.startswith("encoder.5.5, ")
    assert label.endswith(" % of the most important head, removed")


def test_a_mask_that_python_replaced_ignores_what_the_browser_still_sends(grids: Page) -> None:
    cell(grids, "mask", "encoder.6.6").click()
    expect(grids.get_by_text("revision 0, 1 heads: encoder.6.6")).to_be_visible()
    grids.get_by_text("slow", exact=True).click()
    expect(grids.get_by_text("run 3 is complete")).to_be_visible()
    grids.get_by_role("button", name="keep all").evaluate("button => button.click()")
    cell(grids, "mask", "encoder.7.7").evaluate("cell => cell.click()")  # while the page still shows the old mask
    assert grids.locator(".st-key-grid-mask .hl-off").count() == 2
    expect(grids.get_by_text("revision 1, 0 heads")).to_be_visible()
    expect(grids.locator(".st-key-grid-mask .hl-off")).to_have_count(0)
    cell(grids, "mask", "encoder.8.8").click()
    expect(grids.get_by_text("revision 1, 1 heads: encoder.8.8")).to_be_visible()


def test_every_grid_is_named_and_has_one_place_for_the_tab_key(grids: Page) -> None:
    for name in ("Encoder heads", "Decoder heads", "Cross heads"):
        expect(grids.locator(".st-key-grid-scores").get_by_role("grid", name=name)).to_be_visible()
    expect(grids.locator(".st-key-grid-scores").get_by_role("row")).to_have_count(18)
    assert grids.locator(".st-key-grid-roles [tabindex='0']").count() == 1
    assert (cell(grids, "scores", "encoder.1.4").get_attribute("aria-label") or "").endswith(
        "% of the most important head"
    )


def test_a_hostile_note_stays_text(grids: Page) -> None:
    first = cells(grids, "roles").first
    assert first.get_attribute("aria-label") == f"encoder.0.0, {HOSTILE}"
    assert first.get_attribute("title") == f"encoder.0.0, {HOSTILE}"
    assert grids.locator("img[src=x]").count() == 0
    assert grids.evaluate("document.body.dataset.ran ?? 'never'") == "never"


def test_the_browser_draws_the_same_cells_as_the_picture(grids: Page) -> None:
    for name, n_cells in (("roles", 144), ("grouped", 39)):
        picture = grids.locator(f".st-key-picture-{name} [role=gridcell]")
        expect(picture).to_have_count(n_cells)
        assert cells(grids, name).evaluate_all(LOOKS) == picture.evaluate_all(LOOKS)


def test_dark_is_drawn_with_the_dark_palette(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(address)
    best = page.locator('.st-key-grid-scores [aria-label$=", 100 % of the most important head"]').first
    expect(best).to_have_css("background-color", colour(IMPORTANCE["dark"][-1]))
    expect(cell(page, "mask", "encoder.0.11")).to_have_css("background-color", colour(VARIABLES["dark"]["page"]))
    page.emulate_media(color_scheme="light")  # takes effect without a rerun
    expect(best).to_have_css("background-color", colour(IMPORTANCE["light"][-1]))
    expect(cell(page, "mask", "encoder.0.11")).to_have_css("background-color", colour(VARIABLES["light"]["page"]))


def test_thirty_two_columns_fit_seven_hundred_pixels(page: Page, address: str) -> None:
    page.goto(f"{address}/?large")
    expect(cells(page, "large")).to_have_count(32 * 32)
    places = cells(page, "large").evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().toJSON())")
    assert max(place["right"] for place in places) - min(place["left"] for place in places) <= 700
    assert min(place["width"] for place in places) >= 15
    assert min(place["height"] for place in places) >= 12
    labels = page.locator(".st-key-grid-large .hl-header .hl-label")
    assert labels.evaluate_all(
        "labels => labels.every(label => label.scrollWidth <= label.parentElement.scrollWidth / 33)"
    )


def test_banks_wrap_when_the_page_is_narrow(grids: Page) -> None:
    for width, rows in [(1440, 1), (700, 2), (420, 3)]:
        grids.set_viewport_size({"width": width, "height": 900})
        eventually(grids, lambda: laid_out(grids), (rows, True))


def laid_out(grids: Page) -> tuple[int, bool]:
    """In how many rows the banks stand, and whether their cells are wide enough for a finger."""
    drawn = grids.locator(".st-key-grid-scores [role=grid]")
    tops = drawn.evaluate_all("grids => grids.map(grid => Math.round(grid.getBoundingClientRect().top))")
    widths = cells(grids, "scores").evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().width)")
    return len(set(tops)), min(widths) >= 16
