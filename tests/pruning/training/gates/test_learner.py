from __future__ import annotations

from typing import Any

import pytest
import torch

from headscope.pruning.training.gate_scheme import Clock, Scheme, scheme_with, schemes
from headscope.pruning.training.gate_training import Learner, clipped
from tests.pruning.training.gates.toy import HEADS, best_at, best_of, learned, loss_of

SEEDS = range(10)
PENALTY = 0.4
SETTINGS: dict[str, dict[str, Any]] = {
    "l0": {"penalty": PENALTY, "rate": 0.05},
    "layerwise": {"penalty": PENALTY},
    "dsp": {"keep": 4},
    "dsp-ste": {"keep": 4},
}


def trained(scheme: Scheme, steps: int, n: int | None = None) -> Learner:
    """A learner of the toy problem after n of its steps, all by default."""
    learner = Learner(scheme, HEADS, steps, 0, torch.device("cpu"))
    for _ in range(steps if n is None else n):
        advance(learner)
    return learner


def advance(learner: Learner) -> None:
    drawn = learner.draw()
    gates = drawn.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(loss_of(gates), gates)
    learner.learn(drawn, gradient)


def test_subset_gates_find_the_best_subset_in_nine_of_ten_seeds() -> None:
    scheme = scheme_with("dsp", {"keep": 4})
    assert sum(learned(scheme, seed, 200) == best_of(4) for seed in SEEDS) >= 9


def test_l0_gates_find_the_best_subset_at_a_suitable_penalty() -> None:
    scheme = scheme_with("l0", SETTINGS["l0"])
    assert best_at(PENALTY) == best_of(4)
    assert sum(learned(scheme, seed, 300) == best_at(PENALTY) for seed in SEEDS) >= 9


@pytest.mark.parametrize("keep", [2, 4])
def test_the_price_is_found_that_leaves_as_many_gates_open_as_are_wanted(keep: int) -> None:
    learner = trained(scheme_with("l0", {"keep": keep}), 300)
    assert learner.n_open() == pytest.approx(keep, abs=0.75)
    assert int(learner.kept().sum()) == keep


def test_a_higher_penalty_keeps_fewer_heads() -> None:
    counts = [len(learned(scheme_with("l0", {"penalty": price}), 0, 200)) for price in (0.01, 0.4, 3.0)]
    assert counts[0] > counts[1] > counts[2]


def test_the_coefficient_of_layer_wise_gates_rises_in_a_line_and_gates_begin_open() -> None:
    scheme = scheme_with("layerwise", {"penalty": 0.3, "warm_up": 0.5})
    learner = Learner(scheme, HEADS, 40, 0, torch.device("cpu"))
    assert min(learner.shown()) > 0.9
    prices = []
    for _ in range(40):
        prices.append(float(learner.price))
        advance(learner)
    assert prices == pytest.approx([0.3 * min(1, step / 20) for step in range(40)])


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_shown_gates_are_from_zero_to_one_and_kept_heads_have_the_highest_scores(key: str) -> None:
    learner = trained(scheme_with(key, SETTINGS[key]), 60)
    assert all(0 <= gate <= 1 for gate in learner.shown())
    scores, kept = learner.scores(), learner.kept().tolist()
    worst_kept = min(score for score, stays in zip(scores, kept, strict=True) if stays)
    assert all(score <= worst_kept for score, stays in zip(scores, kept, strict=True) if not stays)


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_a_learner_that_was_stopped_goes_on_bit_by_bit(key: str) -> None:
    scheme = scheme_with(key, SETTINGS[key])
    whole = trained(scheme, 30)
    stopped = trained(scheme, 30, 13)
    torch.rand(7)  # whatever else the process draws makes no difference
    resumed = Learner(scheme, HEADS, 30, 0, torch.device("cpu"))
    resumed.load(stopped.state())
    while resumed.step < 30:
        advance(resumed)
    assert torch.equal(resumed.numbers, whole.numbers)
    assert torch.equal(resumed.price, whole.price)


def test_the_last_gates_of_a_subset_run_are_exactly_hard() -> None:
    learner = trained(scheme_with("dsp", {"keep": 3}), 50)
    assert sorted(learner.shown()) == [0.0] * 7 + [1.0] * 3
    assert learner.n_open() == 3


def test_every_scheme_has_settings_here_and_words_for_people() -> None:
    assert set(schemes()) == set(SETTINGS)
    for scheme in schemes().values():
        assert scheme.title
        assert scheme.reference
        assert scheme.about.endswith(".")
        assert scheme.score


def test_a_run_too_short_to_cool_says_so_before_it_starts() -> None:
    with pytest.raises(ValueError, match=r"100 steps for gates that cool in 250; .* at least 250 steps"):
        Learner(scheme_with("dsp", {"keep": 3, "cool": 250}), HEADS, 100, 0, torch.device("cpu"))


@pytest.mark.parametrize(
    ("key", "settings", "message"),
    [
        ("dsp", {"keep": 11}, "11 heads to keep of 10; from 1 to 10 are allowed"),
        ("dsp", {}, "0 heads to keep of 10"),
        ("dsp", {"hot": 1e-9, "keep": 2}, "cold must be the lower temperature"),
        ("l0", {"keep": 12}, "12 heads to keep of 10"),
        ("l0", {"penalty": 0.0}, "penalty=0; a number above 0 is needed"),
        ("l0", {"size": 1}, "no setting 'size' of the gates l0; they have: penalty, keep, rate"),
        ("l0", {"penalty": "much"}, "penalty='much'; a value such as 0.02 is needed"),
        ("layerwise", {"warm_up": 2.0}, "warm_up=2; a share from 0 to 1 is needed"),
    ],
)
def test_bad_settings_are_one_sentence(key: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        Learner(scheme_with(key, settings), HEADS, 100, 0, torch.device("cpu"))
    assert message in str(error.value)


def test_all_heads_can_be_kept() -> None:
    for key in ("dsp", "dsp-ste"):
        learner = trained(scheme_with(key, {"keep": HEADS}), 40)
        assert int(learner.kept().sum()) == HEADS
        assert learner.shown() == [1.0] * HEADS


def test_long_gradients_are_shortened_and_such_as_are_no_numbers_dropped() -> None:
    long = torch.tensor([3e44, 4e44], dtype=torch.float64)
    assert clipped(long, 1.0).tolist() == pytest.approx([0.6, 0.8])
    assert clipped(torch.tensor([0.1, 0.0]), 1.0).tolist() == pytest.approx([0.1, 0.0])
    assert clipped(torch.tensor([float("nan"), 1.0]), 1.0).tolist() == [0.0, 0.0]
    assert clipped(torch.tensor([float("inf"), 1.0]), 1.0).tolist() == [0.0, 0.0]


def test_temperature_follows_the_clock() -> None:
    scheme: Any = scheme_with("dsp", {"keep": 2, "hot": 10.0, "cold": 0.1, "cool": 20})
    assert scheme.temperature(Clock(10, 40)) == pytest.approx(1.0)
    assert scheme.temperature(Clock(39, 40)) == pytest.approx(0.1)
