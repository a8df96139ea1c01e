"""Which heads go, step by step, when roles are counted among those left: by score, a list, a sweep or a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headscope.models.heads import HeadGrid, HeadId
from headscope.models.loading.fingerprint import fingerprint
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from headscope.web.page.choice import Choice

SHARES = (1.0, 0.75, 0.5, 0.35, 0.2, 0.1)
"""Of all heads, that are left."""

MOST_BARS = 7
ORDER = "order"

Masks = list[frozenset[HeadId]]


def by_scores(scores: Mapping[HeadId, float]) -> Masks:
    """The heads that are gone at each step if those with the lowest scores go first."""
    ranked = sorted(scores, key=lambda head: scores[head])
    return [frozenset(ranked[: len(ranked) - round(share * len(ranked))]) for share in SHARES]


def sweeps(store: Store, choice: Choice) -> dict[str, Run]:
    """By id, the finished sweeps of this model whose points tell which heads were gone."""
    runs = store.runs((DONE,), kind="sweep")
    own = [run for run in runs if (run.model, run.fingerprint) == (choice.model, fingerprint(choice.model))]
    return {run.id: run for run in own if masks_of_points(store.points(run.id))}


def masked_runs(store: Store, choice: Choice) -> dict[str, Run]:
    """By id, the finished runs of this model that took heads away, such as learned gates or a budget."""
    own = [
        run for run in store.runs((DONE,)) if (run.model, run.fingerprint) == (choice.model, fingerprint(choice.model))
    ]
    return {run.id: run for run in own if mask_of_run(run)}


def mask_of_run(run: Run) -> str:
    """The addresses of the heads that a run took away: what it found, else what it was asked."""
    result: Any = run.result
    found = result.get("mask") if isinstance(result, Mapping) else None
    given = found or run.spec.get("mask")
    return given if isinstance(given, str) else ""


def masks_of_points(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """The masks along the curve of a sweep, as text; random orders beside it are left out."""
    return [point["mask"] for point in points if "mask" in point and point.get("series", ORDER) == ORDER]


def by_sweep(store: Store, run: Run, grid: HeadGrid) -> Masks:
    """The heads that were gone at some of the points of a sweep, the fewest first."""
    masks = sorted((grid.parse(mask) for mask in masks_of_points(store.points(run.id))), key=len)
    return [masks[place] for place in spread([len(mask) for mask in masks], MOST_BARS)]


def spread(numbers: Sequence[int], n: int) -> list[int]:
    """The places of at most n numbers that lie about evenly between the lowest and the highest, both among them."""
    if len(numbers) <= n:
        return list(range(len(numbers)))
    low, high = min(numbers), max(numbers)
    wanted = [low + (high - low) * step / (n - 1) for step in range(n)]
    return sorted({min(range(len(numbers)), key=lambda place: abs(numbers[place] - one)) for one in wanted})
