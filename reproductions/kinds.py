"""Trials as kinds of runs: the fields that they declare, and the heads that go."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from headscope.runs.kind import Kind
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.finetune import FinetuneRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.learn import LearnRun
from reproductions.trial import FIAK, GRADIENT, LEARN, NONE, RANDOM, SAME, Heads, Trial

N_SCORED = 256
"""Calibration examples from which gradient scores come."""

Scores = Mapping[str, float]
ScoresOf = Callable[[ImportanceRun], Scores]
MaskOf = Callable[[str], str]


def kind_of(trial: Trial, scores_of: ScoresOf, mask_of: MaskOf) -> Kind:
    """The run that a trial asks for; `mask_of` gives the heads that went in the trial of that name."""
    settings = dict(trial.settings)
    if trial.kind == LEARN:
        return LearnRun(trial.model, seed=trial.seed, **settings)
    if trial.kind == FIAK:
        return FiakRun(trial.model, seed=trial.seed, **settings)
    training = {**settings.pop("training"), "seed": trial.seed}
    heads = trial.heads or Heads(NONE)
    return FinetuneRun(trial.model, mask_for(trial, heads, scores_of, mask_of), training=training, **settings)


def mask_for(trial: Trial, heads: Heads, scores_of: ScoresOf, mask_of: MaskOf) -> str:
    """The heads that go, in the order of their names."""
    if heads.order == NONE:
        return ""
    gone = mask_of(heads.like).split() if heads.like else []
    if heads.order == SAME:
        return " ".join(sorted(gone))
    scores = scores_of(ImportanceRun(trial.model, method=GRADIENT, n=N_SCORED))
    n_gone = len(gone) if heads.keep is None else len(scores) - heads.keep
    return " ".join(sorted(ordered(heads.order, scores, trial.seed)[:n_gone]))


def ordered(order: str, scores: Scores, seed: int) -> list[str]:
    """All heads, those that go first at the front."""
    if order == RANDOM:
        return random.Random(seed).sample(list(scores), len(scores))
    return sorted(scores, key=scores.__getitem__)
