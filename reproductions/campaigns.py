"""What is to be trained, paper by paper. The order of this file is the order in which it is done, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from reproductions.trial import FIAK, FINETUNE, GRADIENT, LEARN, NONE, RANDOM, Heads, Trial

STEPS = 5000
"""Of every way, its control among them: at least so many, unless development is flat for a thousand."""

GATE_STEPS = 3500
PRIOR_STEPS = 2000
SEEDS = (0, 1, 2)
PILOT_SEED = 10
"""Settings are tried with a seed of their own and judged on development."""

TRAINING = {"rate": 1e-3, "every": 250, "n_judged": 400, "keep_step": "last"}
"""The last step counts: a choice among many by few development examples cost more than pruning did."""

CONTROL = {"steps": STEPS, **TRAINING}

LAYER_WISE = Trial(
    paper="layer-wise",
    claim="Layer-wise gates remove heads of an all-attention model at less cost than gradient order does.",
    model="all-attention-writer",
    tier=1,
    size="",
    way="gates",
    seed=0,
    kind=LEARN,
    settings={},
    steps=STEPS,
)
SUBSET = replace(
    LAYER_WISE,
    paper="subset-pruning",
    claim="Trained subset gates are at least as good as gradient order at every number of heads.",
    model="looker",
)
PRIORS = replace(
    LAYER_WISE,
    paper="fiak",
    claim="Learned priors choose better which scores and keys to prune than chance does.",
    way="priors",
    kind=FIAK,
)


def layer_wise(prices: Iterable[float]) -> Iterator[Trial]:
    """Gates at every price, and as many heads removed by gradient order and at random, trained as long."""
    for price in prices:
        settings = {"penalty": price, "rate": 0.02}
        gates = replace(LAYER_WISE, size=f"price-{price:g}", settings=learned("layerwise", settings))
        yield from seeded(gates)
        for order in (GRADIENT, RANDOM):
            for one in seeded(gates):
                yield control(one, Heads(order, like=one.name))


def subset_gates(model: str, keeps: Iterable[int], temperatures: Mapping[str, object]) -> Iterator[Trial]:
    """Gates that keep so many heads, and as many by gradient order and at random, trained as long."""
    for keep in keeps:
        settings = learned("dsp", {"keep": keep, **temperatures})
        gates = replace(SUBSET, model=model, size=f"keep-{keep}", settings=settings)
        yield from seeded(gates)
        for order in (GRADIENT, RANDOM):
            yield from seeded(control(gates, Heads(order, keep=keep)))


def fiak(model: str, among: str, amounts: dict[str, dict[str, object]]) -> Iterator[Trial]:
    """Priors that choose, and chance that chooses as much; both train the same priors first, for as long."""
    own = {
        "among": among, "rate": TRAINING["rate"], "keep_step": TRAINING["keep_step"], "steps_priors": PRIOR_STEPS,
        "steps_tuning": STEPS - PRIOR_STEPS,
    }  # fmt: skip
    for size, amount in amounts.items():
        for way, by in (("priors", "prior"), ("random", "random")):
            yield from seeded(replace(PRIORS, model=model, size=size, way=way, settings={**own, **amount, "by": by}))


def whole(model: str) -> Iterator[Trial]:
    """The model with all its heads, trained as long: what training alone does."""
    trial = replace(SUBSET, paper="all-heads", claim="Training alone changes little.", model=model, size="all")
    yield from seeded(control(trial, Heads(NONE)))


def pilots() -> Iterator[Trial]:
    """Settings of subset gates on the looker, tried where it matters most."""
    for hot, cold in ((1000.0, 1e-8), (10.0, 1e-3), (1.0, 1e-4)):
        for rate in (0.1, 0.02):
            settings = learned("dsp", {"keep": 4, "hot": hot, "cold": cold, "rate": rate})
            size = f"keep-4.{hot:g}-to-{cold:g}.rate-{rate:g}"
            yield replace(SUBSET, paper="pilots", tier=0, size=size, seed=PILOT_SEED, settings=settings)


def learned(gates: str, settings: Mapping[str, object]) -> dict[str, object]:
    """The fields of a run that learns gates."""
    return {
        "gates": gates, "settings": settings, "n_steps": GATE_STEPS, "finetune": STEPS - GATE_STEPS,
        "training": TRAINING,
    }  # fmt: skip


def control(trial: Trial, heads: Heads) -> Trial:
    """The same size by another order of heads, trained for as many steps."""
    return replace(trial, way=heads.order, kind=FINETUNE, settings={"training": CONTROL}, heads=heads)


def seeded(trial: Trial) -> Iterator[Trial]:
    """The same with every seed."""
    for seed in SEEDS:
        yield replace(trial, seed=seed)


LOOKER_AMOUNTS: dict[str, dict[str, object]] = {
    "scores-70": {"scores": 0.7},
    "scores-70.keys-20": {"scores": 0.7, "keys": 0.2},
    "keys-30": {"scores": 0.0, "keys": 0.3, "prior": "key"},
}
WRITER_AMOUNTS: dict[str, dict[str, object]] = {
    "scores-40": {"scores": 0.4},
    "scores-40.keys-10": {"scores": 0.4, "keys": 0.1},
    "keys-30": {"scores": 0.0, "keys": 0.3, "prior": "key"},
}

CAMPAIGNS: tuple[tuple[Trial, ...], ...] = tuple(
    tuple(trials)
    for trials in (
        pilots(),
        fiak("looker", "layer", LOOKER_AMOUNTS),
        layer_wise((0.05, 0.02, 0.1)),
        whole("looker"),
        whole("all-attention-writer"),
        subset_gates("looker", (4, 9, 18), {}),
        fiak("all-attention-writer", "query", WRITER_AMOUNTS),
    )
)


def trials(tier: int) -> list[Trial]:
    """All up to this tier in the order in which they are done: one seed of every campaign before the next seed."""
    wanted = [trial for campaign in CAMPAIGNS for trial in campaign if trial.tier <= tier]
    ranks = {seed: rank for rank, seed in enumerate(sorted({trial.seed for trial in wanted} - {PILOT_SEED}))}
    return sorted(wanted, key=lambda trial: ranks.get(trial.seed, -1))
