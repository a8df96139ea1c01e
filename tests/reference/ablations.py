"""The tables of the sixteen-heads paper, one mask at a time: load, gate, judge, compare."""

from __future__ import annotations

from collections.abc import Callable

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.tasks.statistics.paired_tests import Comparison
from headscope.tasks.task import Task

Make = Callable[[], tuple[HeadModel, Task]]


def compared(make: Make, split: str, n: int, removed: set[HeadId]) -> tuple[float, Comparison]:
    """The metric without these heads, and how it compares with that of the unpruned model."""
    head_model, task = make()
    whole = task.outcomes(head_model, split, n)
    head_model, task = make()
    with gated(head_model, HeadMask(head_model.grid, frozenset(removed)).as_gates()):
        outcomes = task.outcomes(head_model, split, n)
    return task.metrics[0].estimate(outcomes).value, task.compare(whole, outcomes)


def others(head_model: HeadModel, head: HeadId) -> set[HeadId]:
    return {
        other
        for other in head_model.grid
        if other != head and other not in head_model.removed and (other.bank, other.layer) == (head.bank, head.layer)
    }


def best_head(make: Make, n: int, bank: str, layer: int) -> HeadId:
    """The head that does best alone on development, the first of equals."""
    head_model, task = make()
    sign = 1 if task.higher_is_better else -1
    best, best_value = None, 0.0
    for head in head_model.grid.layer(bank, layer):
        if head in head_model.removed:
            continue
        value = sign * compared(make, "development", n, others(head_model, head))[0]
        if best is None or value > best_value:
            best, best_value = head, value
    assert best is not None
    return best
