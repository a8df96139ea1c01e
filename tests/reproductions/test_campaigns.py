"""What is declared can be run, and every control is fair."""

from __future__ import annotations

from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.finetune import FinetuneRun
from headscope.runs.kinds.learn import LearnRun
from reproductions.campaigns import PILOT_SEED, STEPS, trials
from reproductions.kinds import kind_of, mask_for
from reproductions.trial import GRADIENT, RANDOM, SAME, Heads, Trial

TRIALS = trials(1)
SCORES = {f"encoder.0.{head}": float(-head) for head in range(6)}


def kind(trial: Trial) -> LearnRun | FinetuneRun | FiakRun:
    made = kind_of(trial, lambda _: SCORES, lambda _: "encoder.0.1 encoder.0.4")
    assert isinstance(made, LearnRun | FinetuneRun | FiakRun)
    return made


def steps_of(made: LearnRun | FinetuneRun | FiakRun) -> int:
    if isinstance(made, LearnRun):
        return made.n_steps + made.finetune
    return made.steps_priors + made.steps_tuning if isinstance(made, FiakRun) else made.training["steps"]


def test_every_way_and_its_controls_are_trained_for_as_many_steps() -> None:
    assert {steps_of(kind(trial)) for trial in TRIALS} == {trial.steps for trial in TRIALS} == {STEPS}


def test_every_training_keeps_its_last_step_and_takes_the_seed_of_its_trial() -> None:
    for trial in TRIALS:
        made = kind(trial)
        training = {"keep_step": made.keep_step} if isinstance(made, FiakRun) else made.training
        assert training["keep_step"] == "last"
        assert (made.training["seed"] if isinstance(made, FinetuneRun) else made.seed) == trial.seed
        if isinstance(made, LearnRun | FiakRun):
            made.plan()  # a ValueError where settings cannot be


def test_every_trial_has_a_name_of_its_own_and_comes_after_what_it_needs() -> None:
    names = [trial.name for trial in TRIALS]
    assert len(set(names)) == len(names)
    for place, trial in enumerate(TRIALS):
        if trial.heads and trial.heads.like:
            assert trial.heads.like in names[:place]
            assert trial.heads.like.endswith(f".{trial.seed}")


def test_every_size_has_each_of_its_ways_with_three_seeds() -> None:
    seeds: dict[tuple[str, ...], list[int]] = {}
    for trial in TRIALS:
        seeds.setdefault((trial.paper, trial.model, trial.size, trial.way), []).append(trial.seed)
    assert all(found in ([0, 1, 2], [PILOT_SEED]) for found in seeds.values())


def test_the_heads_of_a_control_are_as_many_as_went_and_go_in_its_order() -> None:
    gone = "encoder.0.0 encoder.0.1 encoder.0.2"

    def mask(heads: Heads, seed: int = 0) -> str:
        return mask_for(Trial("", "", "looker", 1, "", "", seed, "", {}, 1), heads, lambda _: SCORES, lambda _: gone)

    assert mask(Heads(GRADIENT, keep=4)) == "encoder.0.4 encoder.0.5"
    assert mask(Heads(GRADIENT, like="other")) == "encoder.0.3 encoder.0.4 encoder.0.5"
    assert mask(Heads(SAME, like="other")) == gone
    drawn = {mask(Heads(RANDOM, like="other"), seed) for seed in range(20)}
    assert len(drawn) > 5
    assert all(len(set(one.split())) == 3 for one in drawn)
