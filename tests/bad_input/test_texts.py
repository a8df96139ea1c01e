"""Texts of 100,000 characters and tokens with markup: refused or handled, soon, and never as markup."""

from __future__ import annotations

import time

import numpy as np
import pytest

from headscope.analysis.attention.bertviz_html import bertviz_html, sandboxed
from headscope.analysis.attention.drawing_content import Drawing
from headscope.analysis.attention.example import Example
from headscope.analysis.attention.example_run import see
from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.tasks.batches.encoding import longest_text, text_inputs
from headscope.tasks.own_data import Columns, read_task
from headscope.tasks.readers import Source
from headscope.tasks.task_catalog import task_for
from headscope.web.cards.prediction_bars import answer_html
from headscope.web.charts.matrix import matrix_html
from tests.bad_input.mutations import sentence_of

LONG = 100_000
MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&lt;b"
TEXTS = {
    "words": "the old key " * (LONG // 12),
    "one word": "x" * LONG,
    "spaces": " " * LONG,
    "emoji": "💩" * LONG,
    "marks": "[MASK]</s><pad>" * (LONG // 15),
    "combining": "e" + "\u0301" * LONG,
    "control": "\u202e\0\x1b[31m" * (LONG // 7),
    "markup": MARKUP * (LONG // len(MARKUP)),
}


@pytest.fixture(scope="module", params=["reader", "writer"])
def head_model(request: pytest.FixtureRequest) -> HeadModel:
    return load(request.param, device="cpu")


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_100000_characters_is_refused_in_one_sentence_or_shown(name: str, head_model: HeadModel) -> None:
    started = time.process_time()
    sentence_of(lambda: see(head_model, Example(TEXTS[name])))
    inputs = text_inputs(head_model, [(TEXTS[name], None)])
    assert len(inputs[0]["input_ids"]) <= longest_text(head_model)
    assert time.process_time() - started < 10


def test_rows_of_100000_characters_are_judged_like_any_other(head_model: HeadModel) -> None:
    rows = "".join(
        f"{number} {TEXTS['words'][:2000] if number % 40 else TEXTS['words']}\t{number % 2}\n" for number in range(80)
    )
    labelled = task_for(head_model).key != "stories"
    columns = Columns("text", label="label" if labelled else None)
    source = Source("rows.tsv", f"text\tlabel\n{rows}".encode())
    sentence_of(lambda: read_task(source, columns)[0].rows(head_model, "calibration", 4))


def test_tokens_with_markup_are_text_wherever_they_are_drawn(head_model: HeadModel) -> None:
    seen = see(head_model, Example(MARKUP[:60]))
    document = bertviz_html(seen, Drawing("head", seen.banks[0].bank))
    assert "<script>alert" not in document
    assert "<img src=x" not in document
    frame = sandboxed(document, MARKUP, 300)
    assert "<img src=x" not in frame
    tokens = [MARKUP, "plain"]
    drawn = matrix_html(np.full((2, 2), 0.5, dtype=np.float32), tokens, tokens, "light")
    said = answer_html(
        {"kind": "classifier", "text": MARKUP, "guesses": [[{"text": MARKUP, "probability": 0.5}]], "certainty": 0.5}
    )
    for html in (drawn, said):
        assert "<script" not in html
        assert "<img" not in html
