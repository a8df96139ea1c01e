from __future__ import annotations

from models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from ui.head_grid import head_grid_html
from ui.palette import IMPORTANCE, importance_colour

GRID = HeadGrid((HeadBank("decoder", (LayerHeads((0, 0, 1, 1)), LayerHeads((0, 1)))),))


def test_the_ramp_runs_through_its_five_colours() -> None:
    for theme, steps in IMPORTANCE.items():
        assert [importance_colour(step / 4, theme) for step in range(5)] == list(steps)
    assert importance_colour(-1, "light") == IMPORTANCE["light"][0]
    assert importance_colour(2, "light") == IMPORTANCE["light"][-1]


def test_the_most_important_head_is_darkest_and_says_so() -> None:
    scores = dict.fromkeys(GRID, 1.0) | {HeadId("decoder", 0, 2): 4.0}
    html = head_grid_html(GRID, scores, frozenset(), "light")
    assert f'decoder.0.2, 100 % of the most important head" style="background:{IMPORTANCE["light"][-1]}' in html
    assert html.count("25 % of the most important head") == 2 * 5  # label and title of the other five


def test_a_removed_head_is_struck_out_and_not_coloured() -> None:
    gone = HeadId("decoder", 1, 0)
    html = head_grid_html(GRID, dict.fromkeys(GRID, 1.0), frozenset({gone}), "dark")
    assert html.count("hl-gone") == 1
    assert 'aria-label="decoder.1.0, removed" title="decoder.1.0, removed" style=""' in html


def test_key_value_groups_are_set_apart_only_where_heads_share() -> None:
    html = head_grid_html(GRID, None, frozenset(), "light")
    assert html.count("hl-new-group") == 1
