from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headscope.models.heads import HeadId
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.evaluation.head_effects import (
    ALONE,
    CHOSEN,
    ONLY,
    SECOND,
    Effect,
    Judges,
    best_heads,
    effects,
    pearson,
)
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.tasks.task import Splits
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import fresh, subject
from tests.reference import ablations as reference
from tests.tasks.tiny import TEXTS

N = 8


def judges_of(kind: str) -> Judges:
    head_model, task = subject(kind)
    return Judges(*(Evaluator.of(head_model, task, split, N) for split in ("development", "test", "calibration")))


def test_every_head_alone_every_head_left_alone_the_best_on_test_and_the_second_data() -> None:
    judges = judges_of("decoder")
    found = list(effects(judges))
    grid = judges.head_model.grid
    assert len(found) == judges.total
    heads = [str(head) for head in grid]
    layers = len(grid.banks[0].layers)
    assert [one.table for one in found] == [ALONE] * len(heads) + [ONLY] * len(heads) + [CHOSEN] * layers + [
        SECOND
    ] * len(heads)
    assert [one.head for one in found if one.table != CHOSEN] == heads * 3


@pytest.mark.parametrize("kind", ["decoder", "vision"])
def test_effects_are_those_of_loading_gating_and_comparing_for_each(kind: str) -> None:
    found = {(one.table, one.head): one for one in effects(judges_of(kind))}
    head_model, _ = subject(kind)

    def make() -> Any:
        return fresh(kind)

    for head in (head_model.grid.heads[1], head_model.grid.heads[-1]):
        for table, split, removed in (
            (ALONE, "development", {head}),
            (ONLY, "development", reference.others(head_model, head)),
            (SECOND, "calibration", {head}),
        ):
            value, compared = reference.compared(make, split, N, removed)
            assert found[table, str(head)] == Effect(
                table, str(head), value, compared.difference, compared.low, compared.high, compared.p_value, N,
                compared.test,
            )  # fmt: skip
    last = head_model.grid.heads[-1]
    best = reference.best_head(make, N, last.bank, last.layer)
    value, compared = reference.compared(make, "test", N, reference.others(head_model, best))
    assert (found[CHOSEN, str(best)].value, found[CHOSEN, str(best)].p) == (value, compared.p_value)


def test_the_head_that_does_the_work_is_found_by_both_tables() -> None:
    head_model, task, important = hand_wired()
    judges = Judges(*(Evaluator.of(head_model, task, split) for split in ("development", "test")))
    found = list(effects(judges))
    alone = [one for one in found if one.table == ALONE]
    assert [one.head for one in alone if one.significant] == [str(important)]
    (worst,) = (one for one in alone if one.significant)
    assert (worst.difference, worst.low <= worst.difference <= worst.high) == (pytest.approx(-0.5), True)
    chosen = {HeadId.parse(one.head).layer: one for one in found if one.table == CHOSEN}
    assert chosen[important.layer].head == str(important)
    assert (chosen[important.layer].value, chosen[important.layer].significant) == (1.0, False)
    assert not [one for one in found if one.table == SECOND]


def test_the_head_is_chosen_on_development_even_where_another_is_best_on_test() -> None:
    head_model, task = subject("decoder")
    apart = replace(task, examples=Splits.of(TEXTS[:8], TEXTS[8:16], TEXTS[16:]))
    judges = Judges(*(Evaluator.of(head_model, apart, split, 5) for split in ("development", "test")))
    found = list(effects(judges))
    grid, better = judges.head_model.grid, 0
    for one in (one for one in found if one.table == CHOSEN):
        head = HeadId.parse(one.head)
        layer = set(grid.layer(head.bank, head.layer))
        on_test = {other: judges.test.outcomes(HeadMask(grid, frozenset(layer - {other}))) for other in layer}
        values = {other: judges.test.task.metrics[0].estimate(seen).value for other, seen in on_test.items()}
        assert one.value == values[head]
        better += min(values.values()) < values[head]
    assert better, "on some layer another head would have looked better"


def test_stopped_after_any_effect_and_taken_up_again_it_ends_the_same() -> None:
    head_model, task, _ = hand_wired()
    judges = Judges(*(Evaluator.of(head_model, task, split) for split in ("development", "test", "calibration")))
    whole = list(effects(judges))
    assert len(whole) == judges.total
    for n in range(len(whole) + 1):
        assert [*whole[:n], *effects(judges, have=whole[:n])] == whole


def test_what_the_cache_holds_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judges, cache = judges_of("decoder"), {}
    first = list(effects(judges, cache))
    monkeypatch.setattr(Evaluator, "outcomes", None)
    assert list(effects(judges, cache)) == first


def test_heads_that_are_gone_and_layers_of_one_head_are_left_out() -> None:
    head_model, task = subject("encoder")
    gone = HeadMask(head_model.grid).prune(*head_model.grid.layer("encoder", 0)[1:], HeadId("encoder", 1, 0))
    smaller = without_heads(head_model, gone)
    found = list(effects(Judges(*(Evaluator.of(smaller, task, split, N) for split in ("development", "test")))))
    assert not {one.head for one in found} & {str(head) for head in gone.removed}
    assert "encoder.0.0" in {one.head for one in found if one.table == ALONE}
    assert "encoder.0.0" not in {one.head for one in found if one.table == ONLY}


def _effect(table: str, head: str, value: float, difference: float = 0.0) -> Effect:
    return Effect(table, head, value, difference, 0.0, 0.0, 1.0, 10)


def test_the_best_of_a_layer_is_the_highest_or_the_lowest_and_the_first_of_equals() -> None:
    found = [_effect(ONLY, f"encoder.0.{head}", value) for head, value in enumerate([1.0, 3.0, 3.0, 1.0])]
    found += [_effect(ALONE, "encoder.0.0", 9.0), _effect(ONLY, "cross.0.0", 5.0)]
    assert {layer: one.head for layer, one in best_heads(found, True).items()} == {
        ("encoder", 0): "encoder.0.1",
        ("cross", 0): "cross.0.0",
    }
    assert best_heads(found, False)["encoder", 0].head == "encoder.0.0"


def test_the_correlation_is_that_of_the_differences() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    found = [_effect(ALONE, f"encoder.0.{head}", 0, value) for head, value in enumerate(first)]
    assert pearson(found) is None
    found += [_effect(SECOND, f"encoder.0.{head}", 0, value) for head, value in enumerate(second)]
    centred, other = first - first.mean(), second - second.mean()
    assert pearson(found) == pytest.approx(centred @ other / np.sqrt((centred @ centred) * (other @ other)))
    flat = [_effect(SECOND, f"encoder.0.{head}", 0, 0.5) for head in range(12)]
    assert pearson([*found[:12], *flat]) is None
