from __future__ import annotations

import math
import random
from collections.abc import Generator, Mapping, Sequence

import pytest

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.results import Point
from headscope.pruning.evaluation.speed import Spread, Timing
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.budget_candidates import Candidates
from headscope.pruning.search.budget_search import Found, Judge, Search, Timer, Trial, timer_of
from headscope.pruning.search.budgets import (
    AtMost,
    Budget,
    Faster,
    Within,
    budget_fields,
    budget_of,
    parse_budget,
    parse_budgets,
)
from headscope.pruning.surgery import without_heads
from tests.families import family

UNPRUNED = 0.9


def shuffled(head_model: HeadModel, seed: int = 0) -> list[HeadId]:
    return random.Random(seed).sample(list(head_model.grid), len(head_model.grid))


class Judging:
    """Judges by arithmetic: every head is worth a known part of the accuracy. Counts how often it was asked."""

    def __init__(self, worth: Mapping[HeadId, float], higher_is_better: bool = True) -> None:
        self.worth, self.asked, self.higher = worth, 0, higher_is_better

    def value(self, mask: HeadMask) -> float:
        fall = sum(self.worth.get(head, 0.0) for head in mask.removed)
        return UNPRUNED - fall if self.higher else UNPRUNED + fall

    def point_steps(self, mask: HeadMask) -> Generator[object, None, Point]:
        self.asked += 1
        yield 1, 2
        value = self.value(mask)
        metric = "accuracy" if self.higher else "perplexity"
        return Point(
            removed=len(mask), mask=str(mask), metric=metric, value=value, low=value, high=value, n=10,
            loss=1 - value, parameters=0, flops=0, p=None, worse=False,
        )  # fmt: skip

    @property
    def judge(self) -> Judge:
        return Judge(self.point_steps, self.higher)


def timer_with(head_model: HeadModel, gain: float, asked: list[HeadMask]) -> Timer:
    """A machine on which the speed-up is what operations predict, times a gain."""
    costs = Costs.of(head_model, 16)

    def time(mask: HeadMask, budget: Faster) -> Generator[object, None, Timing]:
        asked.append(mask)
        yield None
        speedup = gain * costs.under(HeadMask(head_model.grid)).flops / costs.under(mask).flops
        return Timing(
            budget.batch, 16, Spread(1, 1, 1), Spread(1, 1, 1), Spread(speedup, speedup, speedup), 1.0, 1, 1, 0.0
        )

    return time


def searched(
    head_model: HeadModel, order: Sequence[HeadId], budgets: Sequence[Budget], judge: Judge | None = None,
    timer: Timer | None = None, known: Sequence[Trial] = (),
) -> tuple[list[Trial], Found]:  # fmt: skip
    candidates = Candidates.of(head_model, order, budgets)
    steps = Search(candidates, budgets, timer or timer_of(head_model), judge, known).steps()
    trials = []
    while True:
        try:
            trial = next(steps)
        except StopIteration as end:
            return trials, end.value
        trials += [trial] if trial is not None else []


def never(*_: object) -> Generator[object, None, Timing]:
    raise AssertionError("nothing needs to be timed")
    yield


# text


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("keep accuracy within 1 point", Within("accuracy", 1)),
        ("BLEU within 0.5 points of the unpruned model", Within("bleu", 0.5)),
        ("loss within 5 %", Within("loss", 5, "%")),
        ("metric within 2%", Within("", 2, "%")),
        ("at least 1.3 times faster at batch 16 and length 128", Faster(1.3, 16, 128)),
        ("1.5x faster", Faster(1.5)),
        ("2 times as fast at batch 4", Faster(2, 4)),
        ("At most 40 % of attention parameters", AtMost(0.4, "attention parameters")),
        ("at most 7 % of the parameters", AtMost(0.07, "parameters")),
        ("at most 60 percent of FLOPs", AtMost(0.6, "operations")),
        ("key/value cache halved", AtMost(0.5, "key/value cache")),
        ("half the heads", AtMost(0.5, "heads")),
    ],
)
def test_people_can_write_a_budget(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget
    assert parse_budget(str(budget)) == budget
    assert budget_of(budget_fields(budget)) == budget


def test_several_budgets_may_stand_in_one_text() -> None:
    several = parse_budgets(["accuracy within 1 point; cache halved", "kv cache halved"])
    assert several == (Within("accuracy", 1), AtMost(0.5, "key/value cache"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("make it small", "no budget 'make it small'; allowed are 'accuracy within 1 point'"),
        ("at most 40 % of the money", "what can be limited: attention parameters, parameters, operations"),
        ("at most 100 % of heads", "at most 100 % of heads; allowed are 0 to under 100 %"),
        ("0.9 times faster", "0.9 times faster at batch 16 and length 128; allowed is more than 1"),
        ("", "no budget given"),
    ],
)
def test_what_is_no_budget_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        parse_budgets([text])


def test_a_point_is_a_hundredth_of_a_share_and_one_of_anything_else() -> None:
    assert Within("accuracy", 1).limit(0.9, "top-1 accuracy", True) == pytest.approx(0.89)
    assert Within("", 2).limit(30.0, "BLEU", True) == 28.0
    assert Within("", 10, "%").limit(5.0, "perplexity", False) == 5.5


# size


@pytest.mark.parametrize("name", ["bert", "llama", "marian"])
@pytest.mark.parametrize("what", ["attention parameters", "parameters", "operations", "heads"])
def test_a_size_is_reached_and_no_removed_head_could_stay(name: str, what: str) -> None:
    head_model = family(name)
    order, share = shuffled(head_model), 0.8 if what in ("parameters", "operations") else 0.45
    _, found = searched(head_model, order, [AtMost(share, what)], timer=never)
    candidates = Candidates.of(head_model, order, [])
    place = {unit[0]: number for number, unit in enumerate(candidates.units)}

    def left(mask: HeadMask) -> float:
        return candidates.left(what, tuple(sorted(place[head] for head in mask.removed)))

    assert found.met
    assert left(found.mask) <= share
    assert all(left(found.mask.restore(head)) > share for head in found.mask.removed)
    smaller = without_heads(head_model, found.mask)
    if what == "parameters":
        assert smaller.n_parameters <= share * head_model.n_parameters


def test_equal_heads_go_from_the_front_of_the_order() -> None:
    head_model = family("bert")  # twelve heads alike
    order = shuffled(head_model)
    _, found = searched(head_model, order, [AtMost(0.5, "heads")], timer=never)
    assert found.mask.removed == set(order[:6])


def test_a_halved_cache_takes_whole_groups_by_the_mean_place_of_their_heads() -> None:
    head_model = family("llama")  # three layers of two groups of two heads
    places = {(0, 0): (0, 11), (1, 0): (1, 2), (2, 0): (3, 4), (0, 1): (6, 7), (1, 1): (8, 9), (2, 1): (5, 10)}
    heads = {
        place: HeadId("decoder", layer, 2 * group + number)
        for (layer, group), pair in places.items()
        for number, place in enumerate(pair)
    }
    order = [heads[place] for place in range(12)]
    _, found = searched(head_model, order, [AtMost(0.5, "key/value cache")], timer=never)
    costs = Costs.of(head_model, 8)
    assert costs.under(found.mask).cache * 2 == costs.under(HeadMask(head_model.grid)).cache
    assert found.mask == HeadMask.of(
        head_model.grid, "decoder.0.0 decoder.0.1 decoder.1.0 decoder.1.1 decoder.2.0 decoder.2.1"
    )


def test_heads_without_a_cache_stay_when_the_cache_is_halved() -> None:
    head_model = family("marian")
    _, found = searched(head_model, shuffled(head_model), [AtMost(0.5, "key/value cache")], timer=never)
    assert found.met
    assert {head.bank for head in found.mask.removed} == {"decoder", "cross"}


def test_a_model_without_a_cache_is_told_so() -> None:
    head_model = family("bert")
    with pytest.raises(ValueError, match="a budget for the key/value cache; this model has none"):
        searched(head_model, list(head_model.grid), [AtMost(0.5, "key/value cache")])


def test_what_cannot_be_reached_is_said_with_the_most_that_can() -> None:
    head_model = family("bert")
    _, found = searched(head_model, list(head_model.grid), [AtMost(0.1, "parameters")], timer=never)
    least = without_heads(head_model, HeadMask(head_model.grid, frozenset(head_model.grid))).n_parameters
    assert not found.met
    assert found.sentence == (
        "Not possible: at most 10 % of parameters. The most that can be had is 12 of 12 heads removed, "
        f"{100 * least / head_model.n_parameters:.3g} % of parameters left."
    )


def test_heads_that_are_gone_already_are_not_offered_again() -> None:
    head_model = family("bert")
    smaller = without_heads(head_model, HeadMask.of(head_model.grid, "encoder.0.0 encoder.0.1"))
    _, found = searched(smaller, list(head_model.grid), [AtMost(0.5, "heads")], timer=never)
    assert len(found.mask) == 5
    assert not found.mask.removed & smaller.removed


# quality


def test_quality_is_used_up_and_not_one_head_more_could_go() -> None:
    head_model = family("marian")
    order = shuffled(head_model)
    worth = {head: 0.001 * number for number, head in enumerate(order)}
    judging = Judging(worth)
    _, found = searched(head_model, order, [Within("accuracy", 3)], judging.judge, never)
    most = max(n for n in range(37) if sum(0.001 * k for k in range(n)) <= 0.03 + 1e-12)
    assert found.mask.removed == set(order[:most])
    assert found.point is not None and found.point.value == pytest.approx(judging.value(found.mask))
    assert judging.asked < 6 + 8 + 3, "halving and a few later heads, not every count"


def test_later_heads_that_do_no_harm_go_too() -> None:
    head_model = family("bert")
    order = list(head_model.grid)
    dear = {order[4], order[5]}
    _, found = searched(head_model, order, [Within("", 1)], Judging(dict.fromkeys(dear, 0.5)).judge, never)
    assert found.mask.removed == set(order) - dear


def test_a_metric_that_should_be_low_is_kept_low() -> None:
    head_model = family("bert")
    order = list(head_model.grid)
    judging = Judging(dict.fromkeys(order, 0.01), higher_is_better=False)
    _, found = searched(head_model, order, [Within("perplexity", 5, "%")], judging.judge, never)
    assert len(found.mask) == math.floor(0.05 * UNPRUNED / 0.01)
    _, by_loss = searched(head_model, order, [Within("loss", 0)], Judging(dict.fromkeys(order, 0.01)).judge, never)
    assert len(by_loss.mask) == 0


def test_a_metric_that_the_task_does_not_have_is_refused() -> None:
    head_model = family("bert")
    with pytest.raises(ValueError, match="this model is judged by accuracy, or by its loss"):
        searched(head_model, list(head_model.grid), [Within("bleu", 1)], Judging({}).judge)
    with pytest.raises(ValueError, match="'accuracy within 1 point' needs a task by which the model is judged"):
        searched(head_model, list(head_model.grid), [Within("accuracy", 1)])


def test_size_and_quality_together_pass_over_heads_that_quality_needs() -> None:
    head_model = family("bert")
    order = list(head_model.grid)
    dear = {order[0], order[3]}
    budgets = (Within("accuracy", 1), AtMost(0.5, "heads"))
    _, found = searched(head_model, order, budgets, Judging(dict.fromkeys(dear, 0.2)).judge, never)
    assert found.met
    assert found.mask.removed == set(order[1:8]) - dear
    _, hopeless = searched(head_model, order, budgets, Judging(dict.fromkeys(order[4:], 0.2)).judge, never)
    assert not hopeless.met
    assert hopeless.mask.removed == set(order[:4])
    assert hopeless.sentence.startswith(
        "Not found along this order of heads: at most 50 % of heads with accuracy within 1 point. The nearest is 4 of"
    )


def test_size_that_quality_allows_at_once_is_judged_only_twice() -> None:
    head_model = family("bert")
    judging = Judging({})
    _, found = searched(head_model, list(head_model.grid), (Within("", 1), AtMost(0.5, "heads")), judging.judge, never)
    assert (found.met, len(found.mask), judging.asked) == (True, 6, 2)


# speed


@pytest.mark.parametrize("gain", [0.9, 1.0, 1.05])
def test_speed_is_verified_by_measurement_and_the_search_goes_on_from_it(gain: float) -> None:
    head_model = family("bert")
    order, asked = shuffled(head_model), list[HeadMask]()
    timer = timer_with(head_model, gain, asked)
    trials, found = searched(head_model, order, [Faster(1.15, 4, 16)], timer=timer)
    costs = Costs.of(head_model, 16)
    dense = costs.under(HeadMask(head_model.grid)).flops
    enough = next(
        n
        for n in range(13)
        if gain * dense / costs.under(HeadMask(head_model.grid, frozenset(order[:n]))).flops >= 1.15
    )
    assert found.met
    assert found.timings[0].speedup.median >= 1.15
    assert enough <= len(found.mask) <= enough + 1
    assert [trial.mask for trial in trials] == asked
    assert len(asked) <= 3


def test_a_speed_that_no_mask_has_is_said_with_the_most_that_was_measured() -> None:
    head_model = family("bert")
    _, found = searched(head_model, shuffled(head_model), [Faster(9, 4, 16)], timer=timer_with(head_model, 1.0, []))
    assert not found.met
    assert len(found.mask) == 12
    assert found.sentence == (
        "Not possible: 9 times faster at batch 4 and length 16. The most that can be had is 12 of 12 heads removed, "
        f"{found.timings[0].speedup.median:.2f} times faster at batch 4 and length 16."
    )


def test_what_is_known_is_not_tried_again_and_leads_to_the_same_mask() -> None:
    head_model = family("bert")
    order, asked = shuffled(head_model), list[HeadMask]()
    judging = Judging({head: 0.004 * number for number, head in enumerate(order)})
    timer = timer_with(head_model, 0.9, asked)
    budgets = (Within("accuracy", 12), Faster(1.1, 4, 16))
    trials, found = searched(head_model, order, budgets, judging.judge, timer)
    before = judging.asked, len(asked)
    again, same = searched(head_model, order, budgets, judging.judge, timer, trials)
    assert (again, same) == ([], found)
    assert (judging.asked, len(asked)) == before
    rest, resumed = searched(head_model, order, budgets, judging.judge, timer, trials[:2])
    assert (trials[:2] + rest, resumed) == (trials, found)


def test_the_smaller_model_is_really_timed() -> None:
    head_model = family("bert")
    trials, found = searched(head_model, list(head_model.grid), [Faster(50, 1, 4)])
    assert not found.met
    assert trials[0].timing is not None and trials[0].timing.dense.median > 0
