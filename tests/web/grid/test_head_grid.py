from __future__ import annotations

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.web.charts.palette import GATE, IMPORTANCE, ROLES, importance_colour, ramp_colour
from headscope.web.grid.head_grid import GridStyle, MaskEdit, accepted, look_html, payload

GRID = HeadGrid((HeadBank("decoder", (LayerHeads((0, 0, 1, 1)), LayerHeads((0, 1)))),))
ONE, OTHER = HeadId("decoder", 0, 2), HeadId("decoder", 1, 0)


def test_the_ramps_run_through_their_colours() -> None:
    for theme, steps in IMPORTANCE.items():
        assert [importance_colour(step / 4, theme) for step in range(5)] == list(steps)
    for theme, gate in GATE.items():
        assert [ramp_colour(step / 2, "gate", theme) for step in range(3)] == list(gate)
    assert importance_colour(-1, "light") == IMPORTANCE["light"][0]
    assert importance_colour(2, "light") == IMPORTANCE["light"][-1]


@pytest.mark.parametrize("theme", ROLES)
def test_the_letter_of_every_role_can_be_read_on_its_fill(theme: str) -> None:
    for role, (fill, ink) in ROLES[theme].items():
        dark, light = sorted((_luminance(fill), _luminance(ink)))
        assert (light + 0.05) / (dark + 0.05) >= 5, role


def test_the_most_important_head_is_darkest_and_says_so() -> None:
    html = look_html(GRID, GridStyle.of_scores(dict.fromkeys(GRID, 1.0) | {ONE: 4.0}), "light")
    assert f'decoder.0.2, 100 % of the most important head" style="background:{IMPORTANCE["light"][-1]}' in html
    assert html.count("25 % of the most important head") == 2 * 5  # label and title of the other five


@pytest.mark.parametrize("size", ["normal", "mini"])
def test_a_score_below_0_has_a_mark_that_a_score_of_0_has_not(size: str) -> None:
    look = replace(GridStyle.of_scores(dict.fromkeys(GRID, 0.0) | {ONE: -4.0, OTHER: 1.0}), size=size)
    html = look_html(GRID, look, "light")
    assert html.count("hl-negative") == 1
    assert (
        'class="hl-cell hl-in-group hl-group-first hl-negative" role="gridcell" aria-label="decoder.0.2, below 0"'
        in html
    )


def test_a_removed_head_is_struck_out_and_not_coloured() -> None:
    html = look_html(GRID, replace(GridStyle.of_scores(dict.fromkeys(GRID, 1.0)), removed=frozenset({OTHER})), "dark")
    assert html.count("hl-gone") == 1
    assert 'aria-label="decoder.1.0, removed" title="decoder.1.0, removed" style=""' in html


def test_a_head_that_is_off_looks_removed_and_can_still_be_chosen() -> None:
    off, removed = (GridStyle(**{name: frozenset({OTHER})}) for name in ("off", "removed"))
    assert look_html(GRID, off, "dark") == look_html(GRID, removed, "dark")
    told = {"revision": 0, "heads": [str(OTHER)]}
    assert [accepted(told, MaskEdit(), GRID, look.removed).mask for look in (off, removed)] == [{OTHER}, set()]
    assert [payload(GRID, look, MaskEdit(frozenset({OTHER})))["chosen"] for look in (off, removed)] == [
        [str(OTHER)],
        [],
    ]


def test_key_value_groups_are_boxed_only_where_heads_share() -> None:
    (bank,) = payload(GRID, GridStyle(), MaskEdit())["banks"]
    first, last = "hl-in-group hl-group-first", "hl-in-group hl-group-last"
    assert bank["layers"] == [[first, last, first, last], ["", ""]]


def test_a_group_of_one_among_groups_is_a_box_of_its_own() -> None:
    grid = HeadGrid((HeadBank("decoder", (LayerHeads((0, 0, 3)),)),))
    (bank,) = payload(grid, GridStyle(), MaskEdit())["banks"]
    assert bank["layers"][0][2] == "hl-in-group hl-group-first hl-group-last"


def test_a_row_that_many_layers_share_says_so() -> None:
    grid = HeadGrid((HeadBank("encoder", (LayerHeads((0, 1), calls=12),)),))
    assert "one set of heads, used 12 times" in look_html(grid, GridStyle(), "light")
    assert "41 % of all" in look_html(grid, GridStyle(captions={"encoder": "41 % of all"}), "light")


def test_a_note_and_a_caption_are_escaped_in_the_picture() -> None:
    html = look_html(GRID, GridStyle(notes={ONE: '"><script>'}, captions={"decoder": "<b>"}), "light")
    assert "<script>" not in html
    assert "<b></span>" not in html
    assert html.count("&quot;&gt;&lt;script&gt;") == 2


def test_a_role_is_a_fill_with_its_letter_and_its_name() -> None:
    look = GridStyle(letters={ONE: ("P", "positional")}, second_role=frozenset({ONE}), shades={ONE: 0.5})
    drawn = dict(zip(GRID, payload(GRID, look, MaskEdit())["cells"], strict=True))
    assert drawn[ONE] == {
        "classes": "hl-second-role",
        "fill": "light-dark(#1e40af, #3b82f6)",
        "ink": "light-dark(#ffffff, #0f1220)",
        "letter": "P",
        "note": "positional",
    }
    assert drawn[OTHER]["classes"] == "hl-none"


def test_a_head_that_needs_a_run_shows_no_value() -> None:
    look = GridStyle(letters={ONE: ("P", "positional")}, shades={OTHER: 1.0}, hatched=frozenset({ONE, OTHER}))
    drawn = dict(zip(GRID, payload(GRID, look, MaskEdit())["cells"], strict=True))
    assert drawn[ONE] == {"classes": "hl-hatched", "note": "positional"}
    assert drawn[OTHER] == {"classes": "hl-hatched", "note": "needs a run"}


def test_small_grids_have_no_labels_and_lower_cells() -> None:
    look = GridStyle.of_scores(dict.fromkeys(GRID, 1.0))
    assert "hl-label" in look_html(GRID, look, "light")
    assert "--hl-height:29px" in look_html(GRID, look, "light")
    small = look_html(GRID, replace(look, size="mini"), "light")
    assert "hl-label" not in small
    assert "--hl-height:11px" in small
    assert small.count("hl-cell") == 6


def test_cells_of_many_layers_are_lower() -> None:
    grid = HeadGrid((HeadBank("encoder", (LayerHeads((0,)),) * 32),))
    assert payload(grid, GridStyle(), MaskEdit())["variables"]["height"] == "12px"


def test_the_mask_travels_as_plain_values() -> None:
    sent = payload(GRID, GridStyle(), MaskEdit(frozenset({ONE, OTHER}), 3))
    assert json.loads(json.dumps(sent)) == sent
    assert (sent["revision"], sent["chosen"]) == (3, ["decoder.0.2", "decoder.1.0"])


def test_the_whole_mask_of_the_browser_is_taken_over() -> None:
    given = MaskEdit(frozenset({ONE}), 2)
    choice = {"revision": 2, "heads": ["decoder.1.0", "decoder.0.0"]}
    assert accepted(choice, given, GRID, frozenset()) == MaskEdit(frozenset({OTHER, HeadId("decoder", 0, 0)}), 2)
    assert accepted({"revision": 2, "heads": []}, given, GRID, frozenset()) == MaskEdit(frozenset(), 2)


@pytest.mark.parametrize(
    "choice",
    [
        None,
        "decoder.1.0",
        {"heads": ["decoder.1.0"]},
        {"revision": 1, "heads": ["decoder.1.0"]},  # old
        {"revision": 3, "heads": ["decoder.1.0"]},  # of a session before this one
        {"revision": 2, "heads": "decoder.1.0"},
        {"revision": 2, "heads": [["decoder.1.0"]]},
        {"revision": 2, "heads": ["decoder.1.0", "decoder.1.2"]},  # of another model
    ],
)
def test_any_other_choice_of_the_browser_is_ignored(choice: object) -> None:
    given = MaskEdit(frozenset({ONE}), 2)
    assert accepted(choice, given, GRID, frozenset()) == given


def test_a_head_that_is_gone_is_in_no_mask_that_travels() -> None:
    sent = payload(GRID, GridStyle(removed=frozenset({ONE})), MaskEdit(frozenset({ONE, OTHER})))
    assert sent["chosen"] == ["decoder.1.0"]
    choice = {"revision": 0, "heads": ["decoder.0.2", "decoder.1.0"]}
    assert accepted(choice, MaskEdit(), GRID, frozenset({ONE})) == MaskEdit(frozenset({OTHER}), 0)


def grids_of_odd_names() -> None:
    """A page with two grids for each of some names that a model's folder may have."""
    import streamlit as st

    from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
    from headscope.web.grid.head_grid import GridStyle, MaskEdit, edit_mask, select_head

    grid = HeadGrid((HeadBank("decoder", (LayerHeads((0, 1)),)),))
    for name in ("a__b", "a-_b", "a_-b", "a--b", "_", "ends_", "__", "$$x__y", "é__ø"):
        edited = edit_mask(grid, GridStyle(), key=f"mask-{name}", edit=MaskEdit(frozenset({HeadId("decoder", 0, 1)})))
        picked = select_head(grid, GridStyle(), key=f"mini-{name}", selected=HeadId("decoder", 0, 0))
        st.text(f"{grid.spell(edited.mask)} {picked}")


def test_a_grid_takes_any_name_of_a_model() -> None:
    app = AppTest.from_function(grids_of_odd_names).run()
    assert not app.exception
    assert {one.value for one in app.text} == {"decoder.0.1 decoder.0.0"} and len(app.text) == 9


def test_a_mask_of_python_is_a_new_revision() -> None:
    assert MaskEdit(frozenset({ONE}), 2).replaced(frozenset()) == MaskEdit(frozenset(), 3)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"size": "huge"}, "no size 'huge'; allowed: normal, mini"),
        ({"ramp": "rainbow"}, "no ramp 'rainbow'; allowed: importance, gate"),
        ({"letters": {ONE: ("X", "magic")}}, "no role 'magic'; allowed: positional, syntactic, "),
    ],
)
def test_a_look_that_cannot_be_drawn_is_refused(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        GridStyle(**wrong)  # type: ignore[arg-type]


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
