from __future__ import annotations

import re
from html.parser import HTMLParser

from headscope.web.lessons.glossary import glossary
from headscope.web.page.glossary_html import explained, glossary_html, paragraphs


class Read(HTMLParser):
    """The text outside of explanations, and the marks of words and explanations."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.shown, self.described, self.ids, self.open = "", [], [], []
        self.feed(html)

    def handle_starttag(self, _: str, attrs: list) -> None:
        given = dict(attrs)
        self.open.append(given.get("role"))
        if "aria-describedby" in given:
            assert given["tabindex"] == "0", "reached by the keyboard"
            self.described.append(given["aria-describedby"])
        if given.get("role") == "tooltip":
            self.ids.append(given["id"])

    def handle_endtag(self, _: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "tooltip" not in self.open:
            self.shown += data


def test_the_text_stays_as_it_is_and_every_explained_word_has_its_meaning() -> None:
    text = "Each head has a gate. Heads & gates < tokens."
    read = Read(explained(text, "here"))
    assert read.shown == text
    assert read.described == read.ids == ["hl-word-here-head", "hl-word-here-gate", "hl-word-here-token"]


def test_hostile_text_is_shown_and_not_run() -> None:
    text = '<script>alert("head")</script> <img src=x onerror=gate>'
    html = explained(text, '"><b')
    assert Read(html).shown == text
    assert re.findall(r"<(\w+)", html) == ["span", "span", "span", "span"]
    assert '"><b' not in html


def test_a_word_is_explained_in_the_first_paragraph_that_uses_it() -> None:
    html = paragraphs("A head.\n\nA head and a mask.", "here")
    assert html.count("<p>") == html.count("</p>") == 2
    assert Read(html).ids == ["hl-word-here-head", "hl-word-here-mask"]


def test_the_list_has_every_word() -> None:
    html = glossary_html()
    assert html.count("<dt>") == html.count("<dd>") == len(glossary())
