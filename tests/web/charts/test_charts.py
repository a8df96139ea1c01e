from __future__ import annotations

import re

import numpy as np

from headscope.analysis.attention.attention_record import Picture
from headscope.web.cards.prediction_bars import answer_html
from headscope.web.charts.curves import Chart, Curve, pruning_chart
from headscope.web.charts.layout import BIGGER, balance_bars, enlarged, layer_bars
from headscope.web.charts.matrix import matrix_html
from headscope.web.charts.palette import IMPORTANCE
from headscope.web.charts.patches import overlays_html, shares, token_names
from headscope.web.page.shell import stylesheet

CURVE = Curve("Gradient", [{"removed": 0, "value": 0.9, "low": 0.8, "high": 1.0, "metric": "accuracy"}])


def test_a_matrix_shows_the_weights_and_tokens_as_text() -> None:
    weights = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    drawn = matrix_html(weights, ["<b>x</b>", "y"], ["k", ""], "light")
    assert 'title="&lt;b&gt;x&lt;/b&gt; looks at (empty): 0.75"' in drawn
    assert 'aria-label="&lt;b&gt;x&lt;/b&gt; looks most at (empty); y looks most at k"' in drawn
    colours = re.findall(r"background:(#[0-9a-f]{6})", drawn)
    assert [colours[2], colours[3]] == [IMPORTANCE["light"][-1], IMPORTANCE["light"][0]]
    assert len(set(colours)) == 4


def test_a_large_matrix_has_cells_without_words() -> None:
    weights = np.full((60, 60), 1 / 60, dtype=np.float32)
    drawn = matrix_html(weights, ["q"] * 60, ["k"] * 60, "dark")
    assert drawn.count("<i ") == 3600
    assert "title=" not in drawn


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


def test_for_a_lecture_hall_every_type_of_a_figure_is_larger() -> None:
    usual, large = (pruning_chart(Chart([CURVE], full=CURVE.points[0]), "light") for _ in range(2))
    enlarged(large)
    for read in (
        lambda figure: figure.layout.font.size,
        lambda figure: figure.layout.legend.font.size,
        lambda figure: figure.layout.xaxis.tickfont.size,
        lambda figure: figure.layout.yaxis.tickfont.size,
        lambda figure: figure.layout.annotations[0].font.size,
    ):
        assert read(large) == round(BIGGER * read(usual))
    assert large.layout.height > usual.layout.height


def test_for_a_lecture_hall_every_type_of_a_page_is_larger() -> None:
    usual, large = stylesheet(big=False), stylesheet(big=True)
    sizes = [[int(size) for size in re.findall(r"font-size: (\d+)px", css)] for css in (usual, large)]
    assert all(after == round(BIGGER * before) for before, after in zip(*sizes, strict=False))
    assert min(sizes[1]) >= 17
    assert "html { font-size" in large
