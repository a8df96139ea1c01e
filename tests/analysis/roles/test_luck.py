"""Luck alone gives a role no more often than stated: every role, without its thresholds, so that the test decides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from headscope.analysis.roles.role import Role, Tally, Trial, judged, roles
from headscope.analysis.roles.sample import Sample, image_sample
from tests.analysis.roles import wired

RATE = 0.05
"""Higher than that of the roles, for it takes fewer models to see."""

N_HEADS = 6
"""Heads of a model."""

SETTINGS = {"rare words": {"common": 150}}
"""The sample is small: its rarest tokens are among the 500 commonest."""


def without_thresholds(key: str) -> Role:
    """The role as it is, but that any score is enough."""
    kind = roles()[key]
    role: Role = type(kind.__name__, (kind,), {"needed": lambda *_: -math.inf})(**SETTINGS.get(key, {}))
    return role


@cache
def scene_of(key: str) -> tuple[Sample, str]:
    """Readings and a bank in which the role can be looked for."""
    for sample, bank in _scenes():
        if bank in roles()[key].banks and without_thresholds(key).tally(sample, bank) is not None:
            return sample, bank
    raise AssertionError(f"no readings for the role {key}")


def _scenes() -> Iterator[tuple[Sample, str]]:
    yield wired.trees(), "encoder"
    yield wired.told(), "decoder"
    yield wired.translated(), "cross"
    yield image_sample(wired.looker(), 60), "encoder"


def counted(key: str, n_heads: int) -> Tally:
    """What the role counts in random heads, one reading after the other."""
    role, (sample, bank) = without_thresholds(key), scene_of(key)
    tally = role.tally(sample, bank)
    assert tally is not None
    site, wires = wired.site_of(bank, n_heads), [wired.split_at_random(seed) for seed in range(n_heads)]
    for reading in sample.readings:
        if role.fits(reading, bank):
            (look,) = wired.scene(Sample("", (reading,)), bank, wires).looks
            tally.add(site, look)
    return tally


def n_wrong(key: str, models: list[list[Trial]]) -> int:
    """In how many models any head is given the role."""
    role = without_thresholds(key)
    return sum(any(found.verdict for found in judged(role, trials, RATE).values()) for trials in models)


@pytest.mark.parametrize("key", roles())
def test_random_heads_are_given_a_role_no_more_often_than_stated(key: str) -> None:
    """Against the role's own baseline: 40 models, of which 5 % may have a head with the role."""
    n_models = 40
    by_model: list[list[Trial]] = [[] for _ in range(n_models)]
    for trial in counted(key, N_HEADS * n_models).trials():
        by_model[trial.head.head // N_HEADS].append(trial)
    assert all(by_model)
    assert n_wrong(key, by_model) <= 6  # P(more than 6 of 40 at 5 %) = 0.3 %


@pytest.mark.parametrize("key", roles())
def test_heads_just_as_good_as_the_baseline_are_given_a_role_as_often_as_stated(key: str) -> None:
    """A coin decides in each reading that was no draw, so that a strong baseline hides no fault: 400 models at 5 %."""
    tally, coin = counted(key, N_HEADS), np.random.default_rng(5)
    wins, losses = tally.wins, tally.losses  # type: ignore[attr-defined]
    (site,) = wins
    decided = wins[site] + losses[site]
    models = []
    for _ in range(400):
        wins[site] = coin.binomial(decided, 0.5)
        losses[site] = decided - wins[site]
        models.append(list(tally.trials()))
    assert 1 <= n_wrong(key, models) <= 32  # P(more than 32 of 400 at 5 %) = 0.3 %
