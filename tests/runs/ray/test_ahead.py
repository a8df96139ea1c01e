from __future__ import annotations

import threading

import pytest

from headscope.pruning.evaluation import head_effects
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.evaluation.head_effects import CHOSEN, Judges, effects
from headscope.pruning.search.strategies.fisher import FisherSearch
from headscope.pruning.search.strategies.score import ByScore
from headscope.pruning.search.sweep import Sweep, masks_ahead
from headscope.runs.ray.cluster import Alone, Places, Shared
from headscope.runs.run import Cancelled
from tests.analysis.hand_wired import hand_wired
from tests.pruning.search.strategies.made_up import MadeUp


def test_all_masks_of_an_order_are_known_ahead_and_each_is_named_once() -> None:
    subject = MadeUp().subject()
    plan = Sweep(ByScore(), 0.25)
    counts = plan.counts(subject)
    curve = [str(mask) for mask in ByScore().masks(subject, counts)]
    band = [[str(mask) for mask in one.masks(subject, counts[1:])] for one in plan.random_orders()]
    in_turn = [masks[place] for place in range(len(counts) - 1) for masks in band]
    assert [str(mask) for mask in masks_ahead(subject, plan)] == list(dict.fromkeys(curve + in_turn))


def test_of_a_search_only_the_random_orders_are_known_ahead() -> None:
    subject = MadeUp().subject()
    found = [str(mask) for mask in masks_ahead(subject, Sweep(FisherSearch(), 0.25))]
    drawn = [str(mask) for one in Sweep(ByScore()).random_orders() for mask in one.masks(subject, [4, 8, 12, 16])]
    assert set(found) == set(drawn)
    assert len(found) == len(set(found))


def test_all_effects_but_those_of_the_best_heads_are_known_ahead() -> None:
    head_model, task, _ = hand_wired()
    judges = Judges(*(Evaluator.of(head_model, task, split, 4) for split in ("development", "test")))
    ahead = {
        f"{judge.mark} {mask}": head_effects.change(judge, mask) for judge, mask in head_effects.masks_ahead(judges)
    }
    n_ahead = len(ahead)
    found = list(effects(judges, ahead))
    assert found == list(effects(judges))
    assert len(ahead) - n_ahead == sum(effect.table == CHOSEN for effect in found)


def test_a_run_that_waits_for_a_node_ends_when_it_is_cancelled() -> None:
    asked: list[int] = []
    places = object.__new__(Places)  # without a cluster
    places.__dict__.update(_changed=threading.Condition(), _trouble=None, _under_way={"answer": ("place", "mark mask")})
    places._is_wanted = lambda: asked.append(1) or len(asked) < 3
    with pytest.raises(Cancelled):
        Shared({}, places, "mark ").get("mask")
    assert len(asked) == 3


def test_what_others_are_at_is_waited_for_and_the_rest_is_the_askers() -> None:
    cache: dict[str, dict[str, int]] = {}

    class Busy(Alone):
        def __init__(self) -> None:
            self.asked: list[str] = []

        def at_work(self, part: str) -> bool:
            self.asked.append(part)
            if len(self.asked) == 3:
                cache["mask"] = {"value": 1}
            return len(self.asked) < 3

    others = Busy()
    shared = Shared(cache, others, "mark ")
    assert shared.get("mask") == {"value": 1}
    assert others.asked == ["mark mask"] * 3
    assert shared.get("other") is None
    shared["other"] = {"value": 2}
    assert cache["other"] == {"value": 2}
