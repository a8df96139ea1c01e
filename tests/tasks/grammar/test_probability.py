"""The log probability of a derivation is what the frequencies say."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from headscope.tasks.grammar.lexicon.names import person_name, place_name
from headscope.tasks.grammar.sampler import Sampler, Table
from tests.tasks.grammar.draw import drawn


def test_a_table_gives_each_option_its_probability() -> None:
    table = Table([("a", 3), ("b", 1), ("never", 0)])
    assert [math.exp(log) for log in table.logs] == pytest.approx([0.75, 0.25])
    sampler = Sampler(random.Random(0))
    assert Counter(sampler.pick(table) for _ in range(8000))["a"] == pytest.approx(6000, abs=150)


def test_a_choice_without_alternative_costs_nothing() -> None:
    sampler = Sampler(random.Random(0))
    assert sampler.pick(Table([("only", 2)])) == "only"
    assert sampler.chance(1.0)
    assert not sampler.chance(0.0)
    assert sampler.below(1) == 0
    assert sampler.log_probability == 0.0


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one option"):
        Table([])


def test_the_cost_of_a_chance_is_its_logarithm() -> None:
    for seed in range(20):
        sampler = Sampler(random.Random(seed))
        expected = math.log(0.3) if sampler.chance(0.3) else math.log(0.7)
        assert sampler.log_probability == pytest.approx(expected)


@pytest.mark.parametrize("draw", [person_name, place_name])
def test_a_name_has_one_derivation(draw: object) -> None:
    source = random.Random(3)
    costs: dict[object, float] = {}
    for _ in range(6000):
        sampler = Sampler(source)
        name = draw(sampler)  # type: ignore[operator]
        assert costs.setdefault(name, sampler.log_probability) == pytest.approx(sampler.log_probability)
    assert len(costs) > 3000


def test_the_probabilities_of_noun_phrases_add_up_to_one() -> None:
    draws = drawn("phrases", 5, 60_000)
    costs: dict[str, float] = {}
    counts = Counter[str]()
    for text, cost in draws:
        counts[text] += 1
        assert costs.setdefault(text, cost) == pytest.approx(cost), text
    # What was not yet seen weighs about as much as what was seen once (Good and Turing).
    unseen = sum(times == 1 for times in counts.values()) / len(draws)
    assert unseen < 0.1
    assert sum(map(math.exp, costs.values())) == pytest.approx(1 - unseen, abs=0.02)


def test_frequent_noun_phrases_occur_as_often_as_their_probability_says() -> None:
    draws = drawn("phrases", 6, 60_000)
    counts = Counter(text for text, _ in draws)
    frequent = {text: len(draws) * math.exp(cost) for text, cost in draws if cost > -6}
    assert len(frequent) > 30
    for text, mean in frequent.items():
        assert abs(counts[text] - mean) < 5 * math.sqrt(mean), (text, counts[text], mean)


def test_frequent_sentences_occur_as_often_as_their_probability_says() -> None:
    draws = drawn("derivations", 4, 40_000)
    costs: dict[str, float] = {}
    for text, cost in draws:
        assert costs.setdefault(text, cost) == pytest.approx(cost), text
    counts = Counter(text for text, _ in draws)
    frequent = {text: 40_000 * math.exp(cost) for text, cost in costs.items() if cost > -10}
    assert len(frequent) > 4
    for text, mean in frequent.items():
        assert abs(counts[text] - mean) < 5 * math.sqrt(mean) + 2, (text, counts[text], mean)
