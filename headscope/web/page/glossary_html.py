"""Words of the glossary in a text: a dotted line below, and the meaning where one points or tabs to."""

from __future__ import annotations

from html import escape

from headscope.web.lessons.glossary import Word, glossary, spotted


def explained(text: str, where: str) -> str:
    """The text as safe HTML, each word explained where it comes first; `where` keeps the marks of a page apart."""
    parts, at = [], 0
    for start, end, word in spotted(text):
        parts += [escape(text[at:start]), _word(text[start:end], word, where)]
        at = end
    return "".join(parts) + escape(text[at:])


def paragraphs(text: str, where: str) -> str:
    """The same for a text of several paragraphs; a word is explained in the first that uses it."""
    whole = explained(text, where)
    return "".join(f"<p>{part}</p>" for part in whole.split("\n\n"))


def glossary_html() -> str:
    """All words with their meanings."""
    rows = "".join(f"<dt>{escape(word.name)}</dt><dd>{escape(word.meaning)}</dd>" for word in glossary().values())
    return f'<dl class="hl-glossary">{rows}</dl>'


def _word(shown: str, word: Word, where: str) -> str:
    mark = escape(f"hl-word-{where}-{word.name.lower().replace(' ', '-')}", quote=True)
    return (
        f'<span class="hl-word" tabindex="0" aria-describedby="{mark}">{escape(shown)}'
        f'<span class="hl-meaning" role="tooltip" id="{mark}">{escape(word.meaning)}</span></span>'
    )
