"""The tables of the sixteen-heads paper, Michel et al. 2019: every head removed alone, and all but one of a layer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadGrid, HeadId
from headscope.pruning.evaluation.evaluator import SIGNIFICANT, Evaluator
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.subject import Layer, layer_of

ALONE, ONLY, CHOSEN, SECOND = "alone", "only", "chosen", "second"
"""The tables: heads removed alone and heads left alone on development, the best of these on test, and heads removed
alone on a second data set."""


Cache = MutableMapping[str, dict[str, Any]]
"""What becomes of the metric, as plain values by what judges and mask."""


@dataclass(frozen=True)
class Effect:
    """What becomes of the headline metric where `head` is removed, or where its layer keeps no other.

    `difference` is that to the unpruned model, with its 95 % interval and the p-value of the paired test of that name;
    above 0 is better where a higher metric is.
    """

    table: str
    head: str
    value: float
    difference: float
    low: float
    high: float
    p: float
    n: int
    test: str = ""

    @property
    def significant(self) -> bool:
        """Whether the metric has changed, p < 0.01."""
        return self.p < SIGNIFICANT

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"significant": self.significant}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Effect:
        """What `to_json` wrote; effects of old know no name of a test."""
        return cls(**{field.name: record[field.name] for field in fields(cls) if field.name in record})


@dataclass(frozen=True, eq=False)
class Judges:
    """A model judged on development, where heads are chosen, on test, and perhaps on a second data set."""

    development: Evaluator
    test: Evaluator
    second: Evaluator | None = None

    @property
    def head_model(self) -> HeadModel:
        """The model that all of them judge."""
        return self.development.head_model

    @property
    def total(self) -> int:
        """How many effects there are."""
        heads, lone = live_heads(self.head_model), lonely_heads(self.head_model)
        return len(heads) * (1 if self.second is None else 2) + len(lone) + len({layer_of(head) for head in lone})


def effects(judges: Judges, cache: Cache | None = None, have: Sequence[Effect] = ()) -> Iterator[Effect]:
    """Every effect of every table, one table after the other, without the first ones, which are there already.

    The best head of a layer is chosen on development and reported on test, for whoever chooses on what is reported
    flatters the choice.
    """
    return (effect for effect in effect_steps(judges, cache, have) if effect is not None)


def effect_steps(judges: Judges, cache: Cache | None = None, have: Sequence[Effect] = ()) -> Iterator[Effect | None]:
    """The same, with None after every batch."""
    known: Cache = {} if cache is None else cache
    found = list(have)
    for number, (table, head, evaluator) in enumerate(_planned(judges, found)):
        if number >= len(have):
            found.append((yield from _effect(table, head, evaluator, known)))
            yield found[-1]


def masks_ahead(judges: Judges) -> list[tuple[Evaluator, HeadMask]]:
    """Who judges what, as far as that is known before anything is found: all but the best heads on test."""
    planned = [(evaluator, _mask(table, head, evaluator)) for table, head, evaluator in _planned(judges, ())]
    return list({(evaluator.mark, str(mask)): (evaluator, mask) for evaluator, mask in planned}.values())


def change(evaluator: Evaluator, mask: HeadMask) -> dict[str, Any]:
    """What an effect is made of: what the cache holds."""
    whole, outcomes = evaluator.outcomes(evaluator.unpruned), evaluator.outcomes(mask)
    compared = evaluator.task.compare(whole, outcomes)
    return {
        "value": evaluator.task.metrics[0].estimate(outcomes).value,
        "difference": compared.difference,
        "low": compared.low,
        "high": compared.high,
        "p": compared.p_value,
        "n": compared.n,
        "test": compared.test,
    }


def live_heads(head_model: HeadModel) -> list[HeadId]:
    """The heads that are in the model."""
    return [head for head in head_model.grid if head not in head_model.removed]


def lonely_heads(head_model: HeadModel) -> list[HeadId]:
    """Those that can be left alone: of layers with more heads than one."""
    heads = live_heads(head_model)
    return [head for head in heads if sum(layer_of(other) == layer_of(head) for other in heads) > 1]


def all_but(grid: HeadGrid, head: HeadId) -> HeadMask:
    """The mask that leaves this head alone in its layer."""
    return HeadMask(grid, frozenset(grid.layer(head.bank, head.layer)) - {head})


def best_heads(found: Iterable[Effect], higher_is_better: bool) -> dict[Layer, Effect]:
    """For every layer the head that does best on development when it is alone, the first of equals."""
    best: dict[Layer, Effect] = {}
    for effect in found:
        layer = layer_of(HeadId.parse(effect.head))
        if effect.table == ONLY and (layer not in best or _better(effect, best[layer], higher_is_better)):
            best[layer] = effect
    return best


def pearson(found: Iterable[Effect]) -> float | None:
    """The correlation, over heads, of the differences on development with those on the second data set.

    None where one of them does not differ at all.
    """
    differences: dict[str, list[float]] = {ALONE: [], SECOND: []}
    for effect in found:
        differences.setdefault(effect.table, []).append(effect.difference)
    first, second = differences[ALONE], differences[SECOND]
    if len(first) != len(second) or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _better(one: Effect, other: Effect, higher_is_better: bool) -> bool:
    return one.value > other.value if higher_is_better else one.value < other.value


def _planned(judges: Judges, found: Sequence[Effect]) -> Iterator[tuple[str, HeadId, Evaluator]]:
    """What is measured next; which heads are reported on test is in what was found by then."""
    heads = live_heads(judges.head_model)
    yield from ((ALONE, head, judges.development) for head in heads)
    yield from ((ONLY, head, judges.development) for head in lonely_heads(judges.head_model))
    best = best_heads(found, judges.development.task.higher_is_better)
    yield from ((CHOSEN, HeadId.parse(effect.head), judges.test) for effect in best.values())
    if judges.second is not None:
        yield from ((SECOND, head, judges.second) for head in heads)


def _effect(table: str, head: HeadId, evaluator: Evaluator, cache: Cache) -> Generator[None, None, Effect]:
    mask = _mask(table, head, evaluator)
    key = f"{evaluator.mark} {mask}"
    known = cache.get(key)
    if known is None:
        for judged in (evaluator.unpruned, mask):
            yield from (None for _ in evaluator.steps(judged))
        known = cache[key] = change(evaluator, mask)
    return Effect(table, str(head), **known)


def _mask(table: str, head: HeadId, evaluator: Evaluator) -> HeadMask:
    grid = evaluator.head_model.grid
    return all_but(grid, head) if table in (ONLY, CHOSEN) else HeadMask(grid).prune(head)
