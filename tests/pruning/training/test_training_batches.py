"""Rounds of training: fresh examples where a task makes them, calibration's again and again where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headscope.models.head_model import HeadModel
from headscope.pruning.training.fine_tuning import FineTuning
from headscope.pruning.training.settings import Settings
from headscope.pruning.training.training_batches import Rounds
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits
from tests.tasks.tiny import TEXTS, tiny

SETTINGS = Settings(steps=12, batch=4, every=4, n_judged=2)


def fresh(seed: int, number: int) -> tuple[str, ...]:
    """Six texts of a round, which say whose they are."""
    return tuple(f"w{40 + seed} w{50 + number} w{place}" for place in range(6))


ENDLESS = LanguageModelling("texts", "Texts", Splits(lambda _: tuple(TEXTS[:9]), fresh))
FINITE = replace(ENDLESS, examples=Splits(lambda _: tuple(TEXTS[:9])))


@pytest.fixture(scope="module")
def writer() -> HeadModel:
    return tiny("gpt2", "<s> $A </s>")


def told(rounds: Rounds, step: int) -> list[str]:
    """The texts of a step."""
    tokens = [row.inputs["input_ids"] for row in rounds.at(step)]
    return [
        text.removeprefix("<s> ").removesuffix(" </s>") for text in rounds.head_model.tokenizer.batch_decode(tokens)
    ]


def test_every_round_has_its_own_fresh_examples_each_once(writer: HeadModel) -> None:
    rounds = Rounds(writer, ENDLESS, SETTINGS)
    assert rounds.steps_a_round == 2
    for number in range(3):
        seen = told(rounds, 2 * number) + told(rounds, 2 * number + 1)
        assert sorted(seen) == sorted(fresh(0, number))


def test_another_seed_sees_other_examples(writer: HeadModel) -> None:
    rounds = Rounds(writer, ENDLESS, replace(SETTINGS, seed=3))
    assert sorted(told(rounds, 0) + told(rounds, 1)) == sorted(fresh(3, 0))


def test_a_step_has_the_same_examples_whenever_it_is_asked_for(writer: HeadModel) -> None:
    forwards, backwards = Rounds(writer, ENDLESS, SETTINGS), Rounds(writer, ENDLESS, SETTINGS)
    one = [told(forwards, step) for step in range(7)]
    assert one == [told(backwards, step) for step in reversed(range(7))][::-1]


def test_rounds_of_other_sizes_take_as_many_steps_as_the_first(writer: HeadModel) -> None:
    """Otherwise a step would depend on the rounds before it, and a run taken up again would see something else."""
    sizes = [6, 20, 3]
    uneven = replace(ENDLESS, examples=Splits(ENDLESS.examples.make, lambda _, number: tuple(TEXTS[: sizes[number]])))
    rounds = Rounds(writer, uneven, SETTINGS)
    seen = [told(rounds, step) for step in range(6)]
    assert sorted(map(len, seen[:2])) == [2, 4]
    assert [len(texts) for texts in seen[2:4]] == [4, 4]
    assert seen[4] == seen[5]


def test_a_task_without_fresh_examples_repeats_calibration(writer: HeadModel) -> None:
    rounds = Rounds(writer, FINITE, SETTINGS)
    for number in range(2):
        seen = [text for place in range(3) for text in told(rounds, 3 * number + place)]
        assert sorted(seen) == sorted(TEXTS[:9])


def test_examples_that_come_again_count_once(writer: HeadModel) -> None:
    assert Rounds(writer, ENDLESS, SETTINGS).n_seen(12) == 48
    assert Rounds(writer, FINITE, SETTINGS).n_seen(12) == 9
    assert Rounds(writer, FINITE, SETTINGS).n_seen(2) == 8


def test_longer_examples_are_left_out(writer: HeadModel) -> None:
    rounds = Rounds(writer, FINITE, replace(SETTINGS, longest=6))
    lengths = [row.lengths[0] for step in range(rounds.steps_a_round) for row in rounds.at(step)]
    assert 0 < len(lengths) < 9
    assert max(lengths) <= 6
    with pytest.raises(ValueError, match="Texts: no example to train on of at most 2 tokens"):
        Rounds(writer, FINITE, replace(SETTINGS, longest=2))


def test_a_training_taken_up_again_sees_the_same_fresh_examples(writer: HeadModel) -> None:
    whole, first = (FineTuning(writer, ENDLESS, SETTINGS) for _ in range(2))
    for _ in range(5):
        first.train_step()
    second = FineTuning(writer, ENDLESS, SETTINGS)
    second.load(first.state())
    for _ in range(7):
        whole.train_step()
    for _ in range(2):
        second.train_step()
    ends = (one.head_model.model.state_dict() for one in (whole, second))
    first_weights, second_weights = ends
    assert all(first_weights[name].equal(second_weights[name]) for name in first_weights)
