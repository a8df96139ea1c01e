"""Whether everybody can use the pages: by keyboard, on small screens, in both themes, and with a screen reader."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headscope.web.page.site_map import MODEL, SITE_MAP
from tests.browser.conftest import SCREEN
from tests.browser.waiting import eventually

pytestmark = pytest.mark.browser

PAGES = [one for group in SITE_MAP.values() for one in group]
LINKS = {one.title: "/" if one is MODEL else f"/{one.name}" for one in PAGES}
LINKS |= {"an image": "/attention?model=looker&image=3&mask=encoder.0.1", "a matrix": "/attention?view=Matrix"}

LOADING = "[data-testid=stMain] :is([data-testid=stSkeleton], [data-testid=stSpinner], [data-testid=stProgress])"
SCREENS = [(1280, 800), (1024, 768)]
PATIENT = 300_000
"""Milliseconds until the slowest run that a page asks for by itself is done on a busy machine."""

LEAST_CONTRAST = 4.5
MOST_TABS = 60
NAMED = {
    "button", "checkbox", "combobox", "grid", "gridcell", "image", "link", "listbox", "radio", "searchbox", "slider",
    "spinbutton", "switch", "tab", "textbox",
}  # fmt: skip
UNNAMEABLE = {"main-svg", "js-plotly-tester", "aria-rowcount", "aria-colindex"}
"""Drawings, tables and their cells that Streamlit gives no way to name; what they show stands above them as text."""

FOCUSED = """() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const name = element.getAttribute("aria-label") ?? element.textContent;
  const shown = element.matches(":focus-visible") && getComputedStyle(element).outlineStyle !== "none";
  return { role: element.getAttribute("role") ?? element.tagName.toLowerCase(), name: name.trim(), shown };
}"""
TOO_WIDE = """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => `${box.tagName} ${box.scrollWidth}`)"""
CONTRASTS = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parsed = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((part, at) => part * a + below[at] * (1 - a)).concat(1);
  const parent = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host;
  const ground = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = parsed(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(parent(element)));
  };
  const light = (colour) => colour.slice(0, 3).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (element) => {
    const below = ground(element);
    const pair = [light(over(parsed(getComputedStyle(element).color), below)), light(below)];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
  const within = (one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])];
  const all = (root) => [...root.querySelectorAll("*")].flatMap(within);
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  return all(document.body)
    .filter((one) => !one.closest("style, script, noscript, svg, [disabled], [aria-hidden=true]"))
    .filter((one) => !one.closest("[data-testid=stSliderThumbValue]"))  // stands above the thumb that it is a part of
    .filter((one) => hasText(one) && one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .map((one) => [String(one.className), one.textContent.trim().slice(0, 40), contrast(one)]);
}"""


@pytest.fixture(params=LINKS.values(), ids=LINKS.keys())
def shown(request: pytest.FixtureRequest, page: Page, address: str) -> Page:
    """One page after the other."""
    page.emulate_media(color_scheme="light")
    page.goto(address + request.param)
    return settled(page)


def settled(page: Page) -> Page:
    """The page once nothing on it loads any more."""
    expect(page.locator("h1.hl-title")).to_be_visible()
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    expect(page.locator(LOADING)).to_have_count(0, timeout=PATIENT)
    return page


def tab_to(page: Page, role: str, name: str) -> dict[str, Any]:
    """Presses Tab until the focus is on such an element; fails if it never is."""
    passed = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["role"] == role and name in focused["name"]:
            return focused
        passed.append(f"{focused['role']} {focused['name'][:30]!r}")
    raise AssertionError(f"no {role} {name!r} among {passed}")


def test_the_keyboard_alone_chooses_a_head_and_opens_the_attention_page(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_text("coloured by how much the loss depends on each")).to_be_visible()
    settled(page)
    assert tab_to(page, "gridcell", "encoder.0.0")["shown"]
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "Space"):
        page.keyboard.press(key)
    expect(page.locator(".hl-tiles.hl-one b")).to_have_text("encoder.2.1")
    assert settled(page).evaluate(FOCUSED)["name"].startswith("encoder.2.1,"), "the focus stays where it was"
    tab_to(page, "a", "See where it looks")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Attention")
    expect(page).to_have_url(re.compile("/attention.*layer=2.*head=1"))


def test_a_page_is_for_every_screen_theme_and_reader(shown: Page) -> None:
    """One test, as opening a page takes longest: names, headings, width, and contrast in both themes."""
    assert nameless(shown) == []
    assert headings_skip_no_level(shown)
    assert too_faint(shown) == []
    for width, height in SCREENS:
        shown.set_viewport_size({"width": width, "height": height})
        eventually(shown, lambda: settled(shown).evaluate(TOO_WIDE), [])  # charts take a moment to find their width
    shown.set_viewport_size(SCREEN)
    shown.emulate_media(color_scheme="dark")
    shown.reload()
    assert too_faint(settled(shown)) == []


def too_faint(page: Page) -> list[Any]:
    """The texts, with class and contrast, that stand out too little."""
    texts = page.evaluate(CONTRASTS)
    assert {"hl-title", "hl-lede", "hl-card-title"} <= {classes for classes, _, _ in texts}
    return [text for text in texts if text[2] < LEAST_CONTRAST]


def headings_skip_no_level(page: Page) -> bool:
    """Whether one heading of the first level begins the page, and each next one is at most a level deeper."""
    levels = page.locator("h1, h2, h3, h4, h5, h6").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
    return levels[0] == 1 and levels.count(1) == 1 and all(after <= before + 1 for before, after in pairwise(levels))


def nameless(page: Page) -> list[str]:
    """What Chromium hands to a screen reader without a name, although it can be used or seen."""
    session = page.context.new_cdp_session(page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    parts = [node for node in tree if not node["ignored"] and node["role"]["value"].lower() in NAMED]
    assert len(parts) > len(PAGES), "at least the side bar has names"
    without = [part["backendDOMNodeId"] for part in parts if not part.get("name", {}).get("value", "").strip()]
    elements = [session.send("DOM.describeNode", {"backendNodeId": number})["node"] for number in without]
    return [
        f"{one['nodeName']} {one['attributes']}" for one in elements if not UNNAMEABLE.intersection(one["attributes"])
    ]
