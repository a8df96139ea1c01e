"""What a model says, in words and bars."""

from __future__ import annotations

import difflib
from html import escape
from typing import Any

LEADS = {
    "translator": "It translates",
    "classifier": "It decides",
    "writer": "It goes on",
    "filler": "It fills in",
    "looker": "It sees",
    "encoder": "It gives hidden states, no answer",
}


def answer_html(answer: dict[str, Any], other: dict[str, Any] | None = None) -> str:
    """The answer, words that the other answer does not have marked, and the likeliest choices as bars."""
    text = marked(answer["text"], other["text"]) if other else escape(answer["text"])
    bars = "".join(_bar(guess) for guesses in answer["guesses"][:1] for guess in guesses)
    lead = LEADS.get(answer["kind"], "It answers")
    return f'<div class="hl-answer"><span>{lead}</span><b>{text or "…"}</b>{bars}</div>'


def _bar(guess: dict[str, Any]) -> str:
    share = guess["probability"]
    return (
        f'<div class="hl-guess"><span>{escape(guess["text"]) or "(empty)"}</span>'
        f'<i style="width:{100 * share:.1f}%"></i><span>{100 * share:.0f}\N{NO-BREAK SPACE}%</span></div>'
    )


def marked(text: str, other: str) -> str:
    """The text with the words marked that differ from the other's."""
    own, theirs = text.split(), other.split()
    same = difflib.SequenceMatcher(a=theirs, b=own, autojunk=False).get_matching_blocks()
    kept = {place for block in same for place in range(block.b, block.b + block.size)}
    words = (escape(word) if place in kept else f"<mark>{escape(word)}</mark>" for place, word in enumerate(own))
    return " ".join(words)
