from __future__ import annotations

import pytest

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.random_control import RandomControl
from tests.analysis.subjects import subject


def test_the_numbers_know_neither_model_nor_examples() -> None:
    few = score(RandomControl(), *subject("decoder"), n=2)
    many = score(RandomControl(), *subject("grouped"), n=7)
    assert few.values == pytest.approx(many.values)
    assert (few.n, many.n) == (2, 7)
    assert set(few.errors.values()) == {0.0}


def test_another_seed_is_another_order() -> None:
    orders = set()
    for seed in range(5):
        values = score(RandomControl(seed), *subject("seq2seq"), n=1).values
        assert all(0 <= value < 1 for value in values.values())
        orders.add(tuple(sorted(values, key=lambda head: values[head])))
    assert len(orders) == 5
