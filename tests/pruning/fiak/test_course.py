from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from headscope.models.example_inputs import main_output
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import sized_inputs
from headscope.pruning.fiak.course import PRIORS, TUNING, Course, Plan, longest_example
from headscope.pruning.fiak.diversity import distance
from headscope.pruning.fiak.layers import PriorLayer
from headscope.pruning.fiak.pruning_choice import Choice
from headscope.pruning.fiak.savings import savings
from headscope.pruning.fiak.summary import BINS, head_means, histograms
from headscope.pruning.training.settings import Settings
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits
from tests.tasks.tiny import TEXTS, tiny

LONGEST = 10  # `<s> w10 … w16 w25 </s>`
TRAINING = Settings(steps=8, rate=2e-3, batch=8, every=4, n_judged=8)


def writer() -> HeadModel:
    return tiny("gpt2", "<s> $A </s>")


def texts() -> LanguageModelling:
    return LanguageModelling("texts", "Texts", Splits.of(TEXTS[:8], TEXTS[8:16], TEXTS[16:]))


def ended(course: Course) -> list[tuple[str, int]]:
    return [(moment.phase, moment.progress.step) for moment in course.steps() if moment is not None]


def test_a_course_trains_prunes_and_fine_tunes() -> None:
    head_model = writer()
    before = main_output(head_model, sized_inputs(head_model.model, 1, LONGEST))
    course = Course(head_model, texts(), Plan(Choice(0.5), priors=TRAINING, tuning=TRAINING))
    assert {layer.length for layer in course.layers} == {LONGEST}
    steps = [(phase, step) for phase in (PRIORS, TUNING) for step in range(9)]
    assert ended(course) == steps
    losses = [progress.loss for progress in course.training.history if progress.loss is not None]
    assert losses[-1] < losses[0]
    n_scores = 4 * LONGEST * (LONGEST + 1) // 2
    assert [one.n_scores for one in course.kept.values()] == [n_scores // 2] * 3
    assert list(course.measured) == ["dense", "priors", "pruned", "tuned"]
    assert course.difference(course.result()) < 1e-5
    torch.testing.assert_close(main_output(head_model, sized_inputs(head_model.model, 1, LONGEST)), before)


def test_priors_of_scores_that_no_example_has_stay_as_they_are() -> None:
    course = Course(writer(), texts(), Plan(Choice(0.5), length=LONGEST + 3, priors=TRAINING, tuning=TRAINING))
    ended(course)
    for layer in course.layers:
        learned = course.priors[layer.name]
        assert (learned[:, LONGEST:] == layer.initial).all()
        assert (learned[:, ~layer.visible()] == layer.initial).all()
        moved = learned[:, :LONGEST, :LONGEST][:, layer.visible()[:LONGEST, :LONGEST]] != layer.initial
        assert (moved.sum(dim=1) == 55 - 11).all()  # the first query has one key only, and after the last comes nothing


def test_the_control_prunes_otherwise_but_trains_alike() -> None:
    courses = [
        Course(writer(), texts(), Plan(Choice(0.5, by=by), priors=TRAINING, tuning=TRAINING))
        for by in ("prior", "random")
    ]
    for course in courses:
        ended(course)
    learned, control = courses
    assert learned.training.history == control.training.history
    assert learned.measured["priors"] == control.measured["priors"]
    assert not torch.equal(learned.kept["decoder.0"].scores, control.kept["decoder.0"].scores)


def test_heads_go_first_and_dense_stays_the_whole_model() -> None:
    plan = Plan(Choice(0.5), priors=TRAINING, tuning=TRAINING, mask="decoder.0.1 decoder.2.3")
    course = Course(writer(), texts(), plan)
    ended(course)
    assert [len(layer.heads) for layer in course.layers] == [3, 4, 3]
    assert list(course.measured) == ["dense", "heads", "priors", "pruned", "tuned"]
    whole = Course(writer(), texts(), replace(plan, mask=""))
    outcomes = [texts().outcomes(one.dense, "test", None) for one in (whole, course)]
    assert texts().metrics[0].estimate(outcomes[0]).value == course.measured["dense"]["test"]["value"]
    assert course.measured["heads"]["test"]["value"] != course.measured["dense"]["test"]["value"]
    saved = savings(course.dense, course.result(), course.layers, course.kept, course.headless)
    n_scores = LONGEST * (LONGEST + 1) // 2
    assert (saved.scores, saved.keys) == (12 * n_scores, 12 * LONGEST)
    assert saved.scores_kept == sum(n * n_scores // 2 for n in (3, 4, 3))
    assert saved.flops <= saved.flops_headless < saved.flops_dense
    bare = savings(whole.dense, course.result(), course.layers, course.kept)
    assert bare.flops_dense == saved.flops_dense


def test_from_scratch_the_weights_are_new_and_those_of_the_seed() -> None:
    plan = Plan(Choice(0.5), form="distance", priors=TRAINING, tuning=TRAINING, start="scratch")
    courses = [Course(writer(), texts(), replace(plan, priors=replace(TRAINING, seed=seed))) for seed in (0, 0, 1)]
    same = sized_inputs(writer().model, 1, LONGEST)
    first, again, other = (main_output(course.beginning, same) for course in courses)
    assert torch.equal(first, again)
    assert (first - other).abs().max() > 1e-3
    assert torch.equal(main_output(courses[0].dense, same), main_output(writer(), same))
    assert (first - main_output(writer(), same)).abs().max() > 1e-3
    ended(courses[0])
    assert courses[0].difference(courses[0].result()) < 1e-5
    state = courses[0].state()
    courses[1].load(state)
    assert torch.equal(main_output(courses[1].result(), same), main_output(courses[0].result(), same))


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(ValueError, match="no start 'anew'; allowed: trained, scratch"):
        Plan(start="anew")


def test_what_is_shown_so_far_is_everything_until_it_is_pruned() -> None:
    course = Course(writer(), texts(), Plan(Choice(0.5), priors=TRAINING, tuning=TRAINING))
    priors, kept = course.so_far()
    assert (priors["decoder.1"] == course.layers[1].initial).all()
    assert kept["decoder.1"].n_scores == 4 * LONGEST * (LONGEST + 1) // 2
    ended(course)
    priors, kept = course.so_far()
    assert priors is course.priors and kept is course.kept


def test_a_checkpoint_of_another_seed_is_refused() -> None:
    plan = Plan(Choice(0.5), priors=TRAINING, tuning=TRAINING)
    state = Course(writer(), texts(), plan).state()
    with pytest.raises(ValueError, match="a checkpoint of"):
        Course(writer(), texts(), replace(plan, priors=replace(TRAINING, seed=1))).load(state)


def test_nothing_is_pruned_before_the_steps_were_taken() -> None:
    with pytest.raises(ValueError, match="nothing is pruned yet"):
        Course(writer(), texts(), Plan(Choice(0.5))).result()


def test_the_length_is_that_of_the_longest_example_of_any_split() -> None:
    examples = Splits.of(TEXTS[:2], TEXTS[:2], ["w1 " * 20])
    assert longest_example(writer(), LanguageModelling("t", "t", examples)) == 22


def test_the_number_of_a_head_is_the_mean_of_the_scores_it_has() -> None:
    layer = PriorLayer("decoder", 2, "core", (0, 3), (0, 1), 8, 2, 0)
    priors = {"decoder.2": torch.tensor([[[-0.5, 9.0], [0.25, 3.0]], [[0.0, 9.0], [0.5, 0.1]]])}
    means = head_means([layer], priors)
    assert means[HeadId("decoder", 2, 0)] == pytest.approx((0.5 + 0.25 + 1.0) / 3)
    assert means[HeadId("decoder", 2, 3)] == pytest.approx((0.0 + 0.5 + 0.1) / 3)
    keys = {"decoder.2": torch.tensor([[[0.5, 0.25]], [[0.1, 0.2]]])}
    assert head_means([layer], keys)[HeadId("decoder", 2, 0)] == pytest.approx((0.5 + 0.5 + 0.25) / 3)


def test_the_distance_of_heads_is_the_attention_they_do_not_share() -> None:
    apart = torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]])
    assert distance(apart) == pytest.approx(((1 + 0) / 2 + (0 + 0.5) / 2 + (1 + 0.5) / 2) / 3)
    assert distance(apart[:1]) == 0


def test_histograms_count_the_scores_that_exist() -> None:
    layer = PriorLayer("decoder", 0, "core", (0,), (0,), 8, 4, 0)  # the initial prior is one half
    priors = torch.full((1, 4, 4), 0.5)
    priors[0, 3] = torch.tensor([-0.01, 0.99, 5.0, 0.0])
    (counts,) = histograms([layer], {"decoder.0": priors}).values()
    assert sum(counts) == 10
    assert (counts[0], counts[BINS // 2], counts[-1]) == (2, 6, 2)
    assert sum(histograms([layer], {"decoder.0": priors[:, :1]})["decoder.0"]) == 4
