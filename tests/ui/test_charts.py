from __future__ import annotations

import numpy as np
import pytest

from analysis.attention.seen import Picture
from ui.answers import answer_html
from ui.charts import attention_matrix, balance_bars, layer_bars
from ui.patches import overlays_html, shares, token_names


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_matrix_shows_the_weights_and_tokens_as_text(theme: str) -> None:
    weights = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    figure = attention_matrix(weights, ["<b>x</b>", "y"], ["k", ""], theme)
    np.testing.assert_array_equal(figure.data[0].z, weights)
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;", "y")
    assert figure.layout.xaxis.ticktext == ("k", "(empty)")


def test_bars_of_layers_are_shares_in_percent() -> None:
    figure = layer_bars({"encoder": [0.25, 0.5], "cross": [0.25]}, "light")
    assert [bar.name for bar in figure.data] == ["Encoder", "Cross"]
    assert list(figure.data[0].y) == [25.0, 50.0]
    assert len({bar.marker.pattern.shape for bar in figure.data}) == 2


def test_a_balance_puts_the_parts_beside_the_whole() -> None:
    figure = balance_bars({"all": 3.0, "input": 4.0, "biases": -1.0}, "dark")
    assert [list(bar.x) for bar in figure.data] == [[3.0], [4.0], [-1.0]]
    assert [bar.y[0] for bar in figure.data] == ["goes in", "comes out", "comes out"]


def picture() -> Picture:
    return Picture(np.zeros((4, 6), dtype=np.float32), rows=2, columns=3, n_before=1)


def test_attention_to_patches_is_folded_row_by_row_without_the_class_token() -> None:
    weights = np.array([0.4, 0.0, 0.1, 0.0, 0.0, 0.0, 0.5], dtype=np.float32)
    np.testing.assert_allclose(shares(picture(), weights), [[0.0, 0.2, 0.0], [0.0, 0.0, 1.0]], rtol=1e-6)


def test_an_overlay_says_where_the_head_looks_most() -> None:
    maps = np.zeros((7, 7), dtype=np.float32)
    maps[2, 6] = 1.0
    drawn = overlays_html(picture(), {"<head>": maps}, 2, "light")
    assert 'alt="&lt;head&gt; looks most at patch 1, 2"' in drawn
    assert token_names(picture())[:2] == ["class token", "patch 0, 0"]


def test_words_that_differ_are_marked_and_hostile_ones_stay_text() -> None:
    said = {"kind": "translator", "text": "Der Hund schläft", "guesses": []}
    other = {"kind": "translator", "text": "Der <b>Hund</b> schläft tief", "guesses": []}
    drawn = answer_html(other, said)
    assert "<mark>&lt;b&gt;Hund&lt;/b&gt;</mark>" in drawn
    assert "<mark>tief</mark>" in drawn
    assert "<mark>Der" not in drawn
