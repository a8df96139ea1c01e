"""What the page of roles draws, from the result of a run as plain values."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headscope.analysis.roles.role_importance import importance_by_role
from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.runs.execution.process import Identity
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.run import DONE
from headscope.runs.store import Store
from headscope.web.charts.palette import ROLE_PATTERNS, ROLES
from headscope.web.charts.role_charts import offset_bars, offset_map, role_bars, signed
from headscope.web.charts.role_view import (
    bars_html,
    case_bars,
    cost_html,
    cost_title,
    example_html,
    grid_finding,
    importance_bars,
    role_legend_html,
    role_style,
    sentence_html,
)
from headscope.web.page.choice import Choice
from headscope.web.runs.role_facts import NONE, RoleFacts, kept_of
from headscope.web.runs.role_masks import by_scores, by_sweep, mask_of_run, masked_runs, masks_of_points, spread, sweeps

GRID = HeadGrid((HeadBank("encoder", (LayerHeads((0, 1, 2)),)), HeadBank("cross", (LayerHeads((0,)),))))
A, B, C, CROSS = GRID.heads


def found(score: float, verdict: bool, case: str = "c", **more: Any) -> dict[str, Any]:
    detail = {"case": case, "control": "even attention", "p": 0.5} | more
    return {"score": score, "baseline": 0.2, "n": 50, "verdict": verdict, "detail": detail}


def relation(score: float, verdict: bool) -> dict[str, Any]:
    return {"score": score, "baseline": 0.4, "n": 30, "verdict": verdict}


def about(letter: str, title: str, **thresholds: float) -> dict[str, Any]:
    return {
        "letter": letter,
        "title": title,
        "asks": "<much>",
        "reference": "ours",
        "ours": "",
        "thresholds": thresholds,
    }


def told(nearest: str = "", **clauses: str) -> dict[str, Any]:
    return {"clauses": {key.replace("_", " "): text for key, text in clauses.items()}, "nearest": nearest, "offset": ""}


RESULT: Mapping[str, Any] = {
    "about": {
        "broad": about("B", "Broad", evenness=0.95),
        "positional": about("P", "Positional", share=0.9),
        "syntactic": about("S", "Syntactic", margin=0.1),
    },
    "roles": {
        "broad": {str(head): found(0.3, False) for head in GRID},
        "positional": {
            str(A): found(0.95, True, "-1", histogram={"-1": 0.9, "+2": 0.1}),
            str(B): found(0.3, False, "0"),
        },
        "syntactic": {
            str(A): found(0.8, True, cases={"x": relation(0.7, True), "y": relation(0.5, True)}),
            str(B): found(0.9, True, cases={"x": relation(0.9, True), "y": relation(0.6, False)}),
        },
    },
    "relations": {"x": "verb → <subject>", "y": "noun → verb"},
    "told": {
        str(A): told(positional="looks 1 back: 95 %, offset -1: 2 %", syntactic="looks at <b>: 80 %"),
        str(B): told(syntactic="looks from x to y: 90 %"),
        str(C): told(nearest="looks <everywhere>: 30 %"),
        str(CROSS): told(),
    },
}
FACTS = RoleFacts.from_json(RESULT)


def test_the_clearest_role_gives_the_letter_and_a_second_one_a_dot() -> None:
    look = role_style(FACTS, frozenset())
    assert look.letters == {A: ("P", "positional"), B: ("S", "syntactic")}
    assert look.second_role == {A}
    assert look.notes[A] == "positional, syntactic" and look.notes[C] == "no role found"
    assert look.captions == {"encoder": "mostly positional", "cross": "no role found"}


def test_the_finding_counts_heads_with_a_role_and_with_more_than_one() -> None:
    assert grid_finding(FACTS) == "2 of the 4 heads have a role we can name, one of them two"
    nobody = RoleFacts.from_json(RESULT | {"told": {str(head): told() for head in GRID}})
    assert grid_finding(nobody) == "None of the 4 heads passes the test of a role"


def test_the_legend_counts_each_head_once_and_names_roles_that_nobody_has() -> None:
    drawn = role_legend_html(FACTS, "light")
    counts = dict(re.findall(r"</i>([a-z ]+) <b>(\d+)</b>", drawn))
    assert counts == {"positional": "1", "syntactic": "1", "broad": "0", "none": "2"}
    assert "<much>" not in drawn and "&lt;much&gt;" in drawn


def test_a_sentence_has_a_clause_for_each_role_and_no_hostile_text() -> None:
    drawn = sentence_html(FACTS, A, "dark")
    assert drawn.count("hl-clause") == 2
    assert "<b>Looks 1 back.</b><span>95 %, offset \N{MINUS SIGN}1: 2 %</span>" in drawn
    assert "&lt;b&gt;" in drawn
    assert "Nearest: looks &lt;everywhere&gt;: 30 %" in sentence_html(FACTS, C, "light")
    assert "no longer in the model" in sentence_html(FACTS, HeadId("encoder", 5, 5), "light")


def test_every_relation_has_its_best_head_and_one_that_passes_comes_before_a_better_one() -> None:
    rows = FACTS.best_of_relations()
    assert [(row.name, row.head, row.verdict) for row in rows] == [
        ("verb → <subject>", B, True),
        ("noun → verb", A, True),
    ]
    assert [row.score for row in FACTS.relations_of(A)] == [0.7, 0.5]
    assert FACTS.relations_of(CROSS) == []


def test_a_table_of_bars_has_the_baseline_as_a_tick_and_the_margin_as_a_chip() -> None:
    drawn = bars_html(case_bars(FACTS.relations_of(B)), ("relation", "best head", "found", "baseline", ""), "light")
    assert f'<b style="width:90.0%;background:{ROLES["light"]["syntactic"][0]}"></b><i style="left:40.0%"></i>' in drawn
    assert "✓ +50 pt" in drawn and ">+20 pt<" in drawn
    assert "<subject>" not in drawn


def test_where_no_trees_are_the_best_head_of_each_role_is_shown_with_what_is_asked() -> None:
    chips = {bar.name: bar.chip for bar in case_bars(FACTS.best_of_roles())}
    assert chips == {"Positional": "✓ passes", "Syntactic": "✓ passes", "Broad": "asks 95 %"}
    assert FACTS.needed("syntactic") == "+10 points"


def test_roles_among_those_left_are_counted_for_a_bank_or_for_all() -> None:
    assert FACTS.counts(kept_of(FACTS, {A}, "")) == {"syntactic": 1, NONE: 2}
    assert kept_of(FACTS, (), "cross") == [CROSS]


def test_importance_by_role_is_drawn_as_shares_beside_the_share_of_heads() -> None:
    scores = {A: 6.0, B: 2.0, C: 1.0, CROSS: 1.0}
    bars = {bar.name: bar for bar in importance_bars(FACTS, importance_by_role(FACTS.found, scores, scores))}
    assert (bars["Positional"].value, bars["Positional"].tick) == (0.6, 0.25)
    assert (bars["No role"].value, bars["No role"].good) == (0.2, False)


def test_offsets_are_drawn_in_percent_with_the_line_of_the_test() -> None:
    figure = offset_bars({"-1": 0.95, "+2": 0.05, "+40": 0.0}, 0.9, "light")
    (bars,) = figure.data
    drawn = dict(zip(bars.x, bars.y, strict=True))
    assert (drawn[-1], drawn[2], drawn[0]) == (95.0, pytest.approx(5.0), 0.0)
    assert set(bars.x) == set(range(-5, 6))
    assert [text for text in bars.text if text] == ["95 %"]
    assert figure.layout.shapes[0].y0 == 90
    strong = bars.marker.color[list(bars.x).index(-1)]
    assert strong == ROLES["light"]["positional"][0]
    (weak,) = offset_bars({"-1": 0.5}, 0.9, "light").data
    assert ROLES["light"]["positional"][0] not in weak.marker.color


def test_offsets_of_a_decoder_have_no_place_for_what_comes_later() -> None:
    (bars,) = offset_bars({"-1": 0.5, "0": 0.5}, 0.9, "dark").data
    assert max(bars.x) == 0


def test_offsets_of_an_image_are_a_square_around_the_patch_itself() -> None:
    (drawn,) = offset_map({"0 +1": 0.75, "-2 0": 0.25}, "light").data
    assert list(drawn.x) == list(drawn.y) == [-2, -1, 0, 1, 2]
    assert drawn.z[2][3] == 75.0 and drawn.z[0][2] == 25.0 and drawn.z.sum() == 100.0


def test_stacked_bars_hold_every_head_once_in_the_order_of_the_palette_with_patterns() -> None:
    figure = role_bars({"4": {"syntactic": 1, "positional": 1, NONE: 2}, "1": {NONE: 1}}, {"positional": "P"}, "light")
    assert [bar.name for bar in figure.data] == ["positional", "syntactic", NONE]
    assert [sum(bar.y[step] for bar in figure.data) for step in range(2)] == [4, 1]
    assert figure.data[1].marker.pattern.shape == "/" and figure.layout.barmode == "stack"


def test_roles_that_look_alike_in_a_bar_never_occur_in_one_model() -> None:
    """They share fill and pattern: a model has cross-attention, or is causal, or looks at images."""
    looks: dict[tuple[str, str], set[str]] = {}
    for role, (fill, _) in ROLES["light"].items():
        looks.setdefault((fill, ROLE_PATTERNS[role]), set()).add(role)
    alike = [roles for roles in looks.values() if len(roles) > 1]
    assert alike == [{"alignment", "induction", "neighbourhood"}]
    assert list(ROLES["light"]) == list(ROLES["dark"]) == list(ROLE_PATTERNS)


def test_signs_are_real_minus_signs() -> None:
    assert [signed(number) for number in (-2, 0, 3)] == ["\N{MINUS SIGN}2", "0", "+3"]


def test_an_example_marks_the_looks_draws_all_lines_and_speaks() -> None:
    example = {"queries": ["<i>", "dog"], "keys": ["the", "cat"], "looks": [[1, 0, 0.9]], "others": [[0, 1, 0.2]]}
    drawn = example_html(example, "syntactic", "light")
    assert '<i class="hl-looks">dog</i>' in drawn and '<i class="">&lt;i&gt;</i>' in drawn
    assert 'alt="dog looks at the: 0.90"' in drawn
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", drawn)[1]).decode()  # type: ignore[index]
    assert svg.count("<path") == 2 and svg.count(ROLES["light"]["syntactic"][0]) == 1


def test_a_cost_within_its_error_is_no_difference() -> None:
    assert cost_title(0.01, 0.02) == "Removing it alone makes no difference that can be told"
    assert cost_title(0.2, 0.02) == "Removing it alone raises the loss by 0.2"
    assert cost_title(-0.2, 0.02) == "Removing it alone lowers the loss by 0.2"
    assert 'aria-label="0.2, 95 % interval 0.1608 to 0.2392"' in cost_html(0.2, 0.02, 1.0)
    assert '<b style="left:59.6%">' in cost_html(0.2, 0.02, 1.0)


def test_heads_with_the_lowest_scores_go_first() -> None:
    heads = [HeadId("encoder", 0, head) for head in range(20)]
    masks = by_scores({head: float(-head.head) for head in heads})
    assert [len(mask) for mask in masks] == [0, 5, 10, 13, 16, 18]
    assert masks[1] == frozenset(heads[15:])


def test_a_few_of_many_points_lie_evenly_and_have_both_ends() -> None:
    assert spread([0, 1, 2], 7) == [0, 1, 2]
    places = spread(list(range(100)), 7)
    assert (len(places), places[0], places[-1]) == (7, 0, 99)


def sweep(store: Store, name: str, points: list[dict[str, Any]]) -> str:
    """A finished run of the kind `sweep`, as far as the page looks at it."""
    run = ImportanceRun("looker", method=name).as_run(store.folder)
    values = {**run.__dict__, "kind": "sweep", "title": name}
    store.submit(type(run)(**values))
    store.claim_one(run.id, Identity.own())
    store.advance(run.id, 1, 1, points)
    store.end(run.id, DONE, "", {})
    return run.id


def test_a_run_is_offered_if_it_took_heads_away(tmp_path: Path) -> None:
    store = Store(tmp_path)
    asked = {"learned": {"mask": f"{A} {B}"}, "nothing": {"mask": ""}, "other": {}, "listed": {"mask": ["x"]}}
    ids = {name: done(store, name, result) for name, result in asked.items()}
    offered = masked_runs(store, Choice("looker"))
    assert list(offered) == [ids["learned"]]
    assert GRID.parse(mask_of_run(offered[ids["learned"]])) == {A, B}
    assert masked_runs(store, Choice("reader")) == {}


def done(store: Store, name: str, result: dict[str, Any]) -> str:
    """A finished run of any kind with that result."""
    run = ImportanceRun("looker", method=name).as_run(store.folder)
    store.submit(run)
    store.claim_one(run.id, Identity.own())
    store.end(run.id, DONE, "", result)
    return run.id


def test_a_sweep_is_offered_if_its_points_say_which_heads_were_gone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    masks = ["", str(A), f"{A} {B}"]
    points = [{"mask": mask, "series": "order"} for mask in masks]
    good = sweep(store, "good", [*points, {"mask": str(C), "series": "random 0"}])
    sweep(store, "without", [{"removed": 3, "series": "order"}])
    offered = sweeps(store, Choice("looker"))
    assert list(offered) == [good]
    assert sweeps(store, Choice("reader")) == {}
    assert by_sweep(store, offered[good], GRID) == [frozenset(), frozenset({A}), frozenset({A, B})]
    assert masks_of_points(store.points(good)) == masks
