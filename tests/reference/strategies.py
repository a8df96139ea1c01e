"""Every strategy written as it is told: one head at a time, everything looked up anew at every step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headscope.models.heads import HeadGrid, HeadId

Layers = Callable[[HeadId], tuple[str, int]]


def layer(head: HeadId) -> tuple[str, int]:
    return head.bank, head.layer


def may_go(grid: HeadGrid, heads: Sequence[HeadId], gone: set[HeadId], removed: Sequence[HeadId], at_least: int):  # type: ignore[no-untyped-def]
    """The heads that can go next, in the order of the grid."""
    there = [head for head in grid if head not in gone and head not in removed]
    return [head for head in there if head in heads and sum(layer(other) == layer(head) for other in there) > at_least]


def score_order(
    grid: HeadGrid,
    heads: Sequence[HeadId],
    gone: set[HeadId],
    scores: Mapping[HeadId, float],
    scope: str,
    at_least: int,
) -> list[HeadId]:
    """The group that would have lost the least share gives its lowest head; of equal groups the lower score goes."""

    def group(head: HeadId) -> object:
        return {"global": 0, "bank": head.bank, "layer": layer(head)}[scope]

    removed: list[HeadId] = []
    while candidates := may_go(grid, heads, gone, removed, at_least):
        best = None
        for head in candidates:
            if any(group(other) == group(head) and scores[other] < scores[head] for other in candidates):
                continue
            size = sum(group(other) == group(head) for other in heads)
            lost = sum(group(other) == group(head) for other in removed)
            key = ((lost + 1) / size, scores[head])
            if best is None or key < best[0]:
                best = key, head
        assert best is not None
        removed.append(best[1])
    return removed


def iterative_masks(
    grid: HeadGrid,
    heads: Sequence[HeadId],
    gone: set[HeadId],
    scores: Callable[[frozenset[HeadId]], Mapping[HeadId, float]],
    counts: Sequence[int],
    scope: str,
    at_least: int,
) -> list[frozenset[HeadId]]:
    """Before every step the heads that are left are scored as if the others had never been."""
    masks, removed = [], []
    for count in counts:
        now = scores(frozenset(removed))
        left = [head for head in heads if head not in removed]
        order = score_order(grid, left, gone | set(removed), now, scope, at_least)
        removed += order[: count - len(removed)]
        masks.append(frozenset(removed))
    return masks


def greedy_order(
    grid: HeadGrid,
    heads: Sequence[HeadId],
    gone: set[HeadId],
    loss: Callable[[frozenset[HeadId]], float],
    at_least: int,
) -> list[HeadId]:
    removed: list[HeadId] = []
    while candidates := may_go(grid, heads, gone, removed, at_least):
        best = candidates[0]
        for head in candidates[1:]:
            if loss(frozenset([*removed, head])) < loss(frozenset([*removed, best])):
                best = head
        removed.append(best)
    return removed


def lazy_greedy_order(
    grid: HeadGrid,
    heads: Sequence[HeadId],
    gone: set[HeadId],
    loss: Callable[[frozenset[HeadId]], float],
    at_least: int,
) -> list[HeadId]:
    """All prices are looked up once, then at every step the two lowest, as heads are few; the lower is paid."""
    removed: list[HeadId] = []
    prices = {head: loss(frozenset([head])) - loss(frozenset()) for head in may_go(grid, heads, gone, [], at_least)}
    while candidates := may_go(grid, heads, gone, removed, at_least):
        two = sorted(candidates, key=lambda head: (prices[head], candidates.index(head)))[:2] if removed else candidates
        for head in two:
            prices[head] = loss(frozenset([*removed, head])) - loss(frozenset(removed))
        removed.append(min(two, key=lambda head: (prices[head], candidates.index(head))))
    return removed


def second_order_rise(gradients: np.ndarray, removed: Sequence[int]) -> float:
    """E_x (sum of g_h(x) over the removed heads)^2."""
    return float(np.mean([sum(row[place] for place in removed) ** 2 for row in gradients]))


def rearranged(gradients: np.ndarray, n: int) -> set[int]:
    """The greedy exchange of Kwon et al. 2022 within one layer, from the gradients [example, head] themselves."""
    order = sorted(range(gradients.shape[1]), key=lambda head: second_order_rise(gradients, [head]))
    chosen = order[:n]
    for head in order[n:]:
        tried = [*chosen, head]
        chosen = min(
            ([other for other in tried if other != left_out] for left_out in reversed(tried)),
            key=lambda heads: second_order_rise(gradients, heads),
        )
    return set(chosen)


def best_of_all(gradients: np.ndarray, n: int) -> float:
    """The least rise that any choice of n heads of the layer has."""
    return min(second_order_rise(gradients, heads) for heads in itertools.combinations(range(gradients.shape[1]), n))
