"""What a lesson says of its paper's claim is what the numbers say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headscope.models.heads import HeadId
from headscope.web.lessons.control import Found
from headscope.web.lessons.controls.clicking import alone_spared
from headscope.web.lessons.controls.curve import PruningCurve
from headscope.web.lessons.controls.gates import GateMovie
from headscope.web.lessons.controls.stages import beats_chance
from headscope.web.lessons.controls.subset import as_good
from headscope.web.lessons.lesson import Lesson, PaperFigure, Step, lessons
from headscope.web.lessons.parts import significantly_worse
from headscope.web.lessons.view import DENIED, beside

ROOT = Path(__file__).parents[3]
FULL = {"metric": "accuracy", "value": 0.9, "n": 100, "worse": False, "higher_is_better": True}
EVERY_LESSON = pytest.mark.parametrize("lesson", lessons().values(), ids=lessons().keys())


def change(difference: float, p_value: float) -> dict[str, float]:
    return {"difference": difference, "p_value": p_value}


def learned(removed: int, before: float, after: float, p_value: float = 0.5, higher: bool = True) -> Any:
    """A finished run of ten gates."""
    test = {"before": {"value": before}, "after": {"value": after}, "change": change(after - before, p_value)}
    gates = {f"encoder.0.{head}": 1.0 for head in range(10)}
    return SimpleNamespace(
        result={"removed": removed, "gates": gates, "report": {"test": test}, "higher_is_better": higher}
    )


@EVERY_LESSON
def test_every_lesson_judges_its_paper_and_names_where_that_was_done_with_care(lesson: type[Lesson]) -> None:
    assert any(step.paper is not None and step.claim for step in lesson.steps)
    assert (ROOT / lesson.reproduced).is_file()


def test_a_claim_is_said_to_hold_or_not_beside_the_figure_of_the_paper() -> None:
    step = Step("t", "x", "curve", "q?", "n", paper=PaperFigure("40 <b>", "table 1"), claim="most heads go")
    said = {holds: beside(step, Found("3 go.", holds), "docs/r.md") for holds in (True, False, None)}
    assert all("40 &lt;b&gt;" in one and "3 go." in one for one in said.values())
    assert "Holds here:</span> most heads go." in said[True]
    assert "Does not hold here:</span> most heads go." in said[False]
    assert DENIED.partition("'")[2] in said[False].replace("&#x27;", "'")
    assert DENIED.partition("'")[2] not in said[True]
    assert "hold" not in said[None].lower()


@pytest.mark.parametrize(
    ("difference", "p_value", "higher", "worse"),
    [(-1, 0.001, True, True), (-1, 0.5, True, False), (1, 0.001, True, False), (1, 0.001, False, True)],
)
def test_worse_is_a_fall_that_chance_does_not_explain(
    difference: float, p_value: float, higher: bool, worse: bool
) -> None:
    assert significantly_worse(change(difference, p_value), {"higher_is_better": higher}) is worse


@pytest.mark.parametrize(("removed", "after", "holds"), [(6, 95.5, True), (4, 95.5, False), (6, 90.0, False)])
def test_many_heads_must_go_at_little_cost(removed: int, after: float, holds: bool) -> None:
    assert GateMovie(share=0.5, cost=1.0).holds(learned(removed, 96.0, after), None) is holds


@pytest.mark.parametrize(("p_value", "holds"), [(0.5, True), (0.001, False)])
def test_without_a_cost_the_loss_must_not_be_significant(p_value: float, holds: bool) -> None:
    run = learned(3, 12.0, 13.0, p_value, higher=False)
    assert GateMovie(gates="layerwise", share=0.17).holds(run, None) is holds


def test_exactly_k_heads_stay_or_the_claim_falls() -> None:
    assert GateMovie(gates="dsp", scheme={"keep": 4}).holds(learned(6, 1, 1), None) is True
    assert GateMovie(gates="dsp", scheme={"keep": 5}).holds(learned(6, 1, 1), None) is False


def test_a_training_is_judged_against_another_once_both_are_there() -> None:
    sudden = GateMovie(gates="layerwise", against={"penalty": 0.1})
    slow = learned(3, 12.0, 13.0, higher=False)
    assert sudden.holds(learned(3, 12.0, 14.0, higher=False), slow) is True
    assert sudden.holds(learned(3, 12.0, 12.5, higher=False), slow) is False
    assert sudden.holds(slow, None) is None
    assert GateMovie().holds(slow, None) is None


def test_a_curve_holds_if_a_fifth_of_the_heads_goes_and_says_nothing_in_reverse() -> None:
    points = [{"removed": gone} for gone in (0, 2, 3)]
    result = {"first_worse": points[2], "points": points}
    assert PruningCurve(spared=0.2).holds(result, 10) is True
    assert PruningCurve(spared=0.2).holds(result, 11) is False
    assert PruningCurve(spared=0.2).holds({"first_worse": None, "points": points}, 15) is True
    assert PruningCurve(strategy="reverse").holds(result, 10) is None


def test_one_head_alone_is_judged_only_once_it_was_measured_whole() -> None:
    head = frozenset({HeadId("encoder", 0, 0)})
    assert alone_spared(head, FULL, FULL) is True
    assert alone_spared(head, FULL | {"worse": True}, FULL) is False
    assert alone_spared(head, FULL | {"n": 10}, FULL) is None
    assert alone_spared(frozenset(), FULL, FULL) is None


def test_training_must_do_at_least_as_well_as_rank() -> None:
    assert as_good(FULL | {"value": 0.8}, FULL | {"value": 0.8}, FULL)
    assert not as_good(FULL | {"value": 0.7}, FULL | {"value": 0.8}, FULL)


def test_priors_are_judged_beside_chance_once_both_were_tuned() -> None:
    def tuned(value: float) -> dict[str, Any]:
        return {"measured": {"tuned": {"test": {"value": value}}}, "higher_is_better": True}

    assert beats_chance({"prior": tuned(0.9), "random": tuned(0.8)}) is True
    assert beats_chance({"prior": tuned(0.7), "random": tuned(0.8)}) is False
    assert beats_chance({"prior": tuned(0.7)}) is None
