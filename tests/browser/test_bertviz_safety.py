"""Bertviz in a sandboxed frame of a real browser: it draws, it is readable, and hostile tokens do nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from headscope.analysis.attention.attention_record import Seen
from headscope.analysis.attention.bertviz_html import LONGEST_TOKEN, bertviz_height, bertviz_html, sandboxed
from headscope.analysis.attention.drawing_content import Drawing
from headscope.models.heads import HeadId
from tests.analysis.attention.made import HOSTILE, made_up

pytestmark = pytest.mark.browser

WORDS = ("<s>", "The", "old", "key", "lies", "here", "</s>")
VIEWS = ("head", "model")
CONTRAST = """
(element) => {
  const light = (colour) => {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pair = [light(getComputedStyle(element).fill), light(getComputedStyle(document.body).backgroundColor)];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}
"""


@pytest.fixture
def window(browser: Browser) -> Iterator[Page]:
    """A page whose every request would be answered; that one was made, or an error thrown, fails the test."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    requested: list[str] = []

    def answer(route, request) -> None:
        requested.append(request.url)
        route.fulfill(status=200, body="hacked=1", content_type="text/javascript")

    context.route("**/*", answer)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert requested == [], "requests that the document made"
    assert errors == [], "errors that the document threw"


def drawn(window: Page, seen: Seen, drawing: Drawing) -> Frame:
    """The frame in which the drawing stands."""
    height = bertviz_height(seen, drawing)
    window.set_content(f"<body>{sandboxed(bertviz_html(seen, drawing), 'attention', height)}</body>")
    expect(window.frame_locator("iframe").locator("svg line").first).to_be_attached()
    return window.frames[1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_head_view_draws_every_token_and_every_line(window: Page, theme: str) -> None:
    frame = drawn(window, made_up(2, 3, WORDS), Drawing("head", "encoder", theme))
    assert frame.locator("#left text").all_text_contents() == list(WORDS)
    assert frame.locator("#right text").all_text_contents() == list(WORDS)
    expect(frame.locator("#attention line")).to_have_count(3 * len(WORDS) ** 2)
    assert frame.locator(".number").all_text_contents() == ["0", "1", "2"]
    assert all(
        contrast > 7
        for contrast in frame.locator("#vis g > text:not(.number)").evaluate_all(f"all => all.map({CONTRAST})")
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_model_view_draws_every_head_and_enlarges_one(window: Page, theme: str) -> None:
    frame = drawn(window, made_up(2, 3, WORDS), Drawing("model", "encoder", theme, heads=(0, 2)))
    expect(frame.locator(".attn_background")).to_have_count(2 * 2)
    assert frame.locator("svg > text").all_text_contents() == ["Heads", "0", "2", "Layers", "0", "1"]
    frame.locator("#attn_background_1_1 ~ rect").click()
    assert frame.locator(".detail .token").all_text_contents() == [*WORDS, *WORDS]
    expect(frame.get_by_text("Layer 1, Head 2")).to_be_visible()
    assert all(contrast > 7 for contrast in frame.locator("#vis text").evaluate_all(f"all => all.map({CONTRAST})"))


def test_removed_heads_are_struck_out_in_their_own_layer_only(window: Page) -> None:
    seen = made_up(2, 3, WORDS, frozenset({HeadId("encoder", 1, 2)}))
    frame = drawn(window, seen, Drawing("head", "encoder"))
    expect(frame.locator("text.gone")).to_have_count(0)
    frame.locator("#layer").select_option("1")
    assert frame.locator("text.gone").all_text_contents() == ["2"]
    frame = drawn(window, seen, Drawing("model", "encoder"))
    expect(frame.locator("g:has(> #attn_background_1_2) path.gone")).to_have_count(1)
    expect(frame.locator("path.gone")).to_have_count(1)


def test_a_click_on_a_number_hides_that_head(window: Page) -> None:
    frame = drawn(window, made_up(1, 3, WORDS), Drawing("head", "encoder"))
    lines = frame.locator(".headAttention[head-index='1'] line")
    opacities = "all => all.map((line) => Number(line.getAttribute('stroke-opacity')))"
    assert sum(lines.evaluate_all(opacities)) > 0
    box = frame.locator(".number").nth(1).bounding_box()
    assert box is not None
    window.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert sum(lines.evaluate_all(opacities)) == 0


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_tokens_are_shown_and_do_nothing(window: Page, view: str) -> None:
    seen, drawing = made_up(2, 3, HOSTILE), Drawing(view, "encoder")
    frame = drawn(window, seen, drawing)
    if view == "model":
        frame.locator("#attn_background_0_0 ~ rect").click()
    texts = frame.locator("#vis text").evaluate_all("all => all.map((text) => text.textContent)")
    short = [token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…" for token in HOSTILE]
    assert set(short) <= set(texts)
    expect(frame.locator("img, #vis script, b")).to_have_count(0)
    assert frame.evaluate("typeof hacked") == window.evaluate("typeof hacked") == "undefined"
    assert window.evaluate("document.body.children.length") == 1


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_tokens_do_nothing_even_without_the_frame(window: Page, view: str) -> None:
    window.set_content(bertviz_html(made_up(2, 3, HOSTILE), Drawing(view, "encoder")))
    expect(window.locator("svg line").first).to_be_attached()
    assert window.evaluate("typeof hacked") == "undefined"


def test_the_document_can_reach_neither_the_network_nor_the_page_around_it(window: Page) -> None:
    frame = drawn(window, made_up(1, 2, WORDS), Drawing("head", "encoder"))
    assert frame.evaluate("fetch('https://example.org/').then(() => 'read', () => 'refused')") == "refused"
    frame.evaluate(
        """() => {
          document.body.append(Object.assign(new Image(), { src: "https://example.org/x.png" }));
          document.body.append(Object.assign(document.createElement("script"), { src: "https://example.org/x.js" }));
          document.body.append(Object.assign(document.createElement("script"), { textContent: "hacked = 1" }));
          document.body.insertAdjacentHTML("beforeend", "<p onclick='hacked = 1' id='trap'></p>");
          document.getElementById("trap").click();
        }"""
    )
    assert frame.evaluate("typeof hacked") == "undefined"
    assert frame.evaluate("(() => { try { return parent.document.title } catch { return 'refused' } })()") == "refused"
