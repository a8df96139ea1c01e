"""What an importance method is: a frozen declaration that turns a batch of examples into numbers for every head.

A method gives values for each example; the mean over examples is the score, and the same values give its standard
error and the stability of the ranking. So a run can stop after any batch and go on later, and no method needs code of
its own for that. A method registers itself in the file that defines it; pages, contract tests and documents go through
the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.analysis.importance.scores import Scores
from headscope.models.devices import in_parts, widest
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadGrid, HeadId
from headscope.models.registry import Registry
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.memory_splitting import done_in_parts, fitting_part, rows_of, width
from headscope.tasks.task import Task

Values = Float[Tensor, "example number"]
Weights = Float[Tensor, " example"] | Float[Tensor, "example number"]
OfLayer = Float[Tensor, "example kept"]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Portion:
    """What a method found in the rows of one batch: numbers for each, and what the row, or each number, weighs.

    Most methods have one number a head, in the order of the grid, and weigh every row alike. `indices` are the numbers
    of the examples in their split; the parts of one example share theirs.
    """

    indices: tuple[int, ...]
    values: Array
    weights: Array


class Method(ABC):
    """A way to score heads. Subclasses are frozen dataclasses whose fields are their options.

    `reference` names the paper or says "ours"; `about` says in one sentence what a score means, and an option says in
    its metadata, under "about", what it is. The scores of a signed method may be negative, and keep their sign for
    display. A method with `needs_run` reads a trained run, and that text says which. A head that was removed for good
    scores 0.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    about: ClassVar[str]
    signed: ClassVar[bool] = False
    needs_run: ClassVar[str] = ""

    def check(self, head_model: HeadModel, task: Task) -> None:  # noqa: B027 - most methods take every model
        """Raise a ValueError in one sentence if this method cannot score this model on this task."""

    @abstractmethod
    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The numbers of every row of the batch, and the weights of the rows where they are not all 1."""

    def balance(self, head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> dict[str, float]:
        """A sum that must come out, for methods that promise one: the whole first, then the parts that add up to it.

        `found` is what the method found in the batch.
        """
        del head_model, task, batch, found
        return {}

    def missed(self, head_model: HeadModel, task: Task, batch: Batch, values: Values) -> Weights | None:
        """How far the values of each row miss the sum that they should make, as a share; 0 where within bounds.

        None for methods that promise no such sum, or keep it by construction.
        """
        del head_model, task, batch, values
        return None

    def reduced(self, grid: HeadGrid, values: Array, weights: Array) -> Scores:
        """The scores that all examples, in the order of the split, give together: the weighted mean and its error."""
        return weighted_mean(grid, values, weights)


_METHODS = Registry[Method]("importance method", "headscope.analysis.importance.methods")
register, methods, method_of = _METHODS.register, _METHODS.all, _METHODS.get


def score(
    method: Method, head_model: HeadModel, task: Task, split: str = "calibration", n: int | None = None
) -> Scores:
    """The score of every head, from the first n examples of a split."""
    batches = task.batches(head_model, split, n)
    return combined(method, head_model.grid, list(portions(method, head_model, task, batches)))


def portions(method: Method, head_model: HeadModel, task: Task, batches: Iterable[Batch]) -> Iterator[Portion]:
    """What the method finds in batch after batch."""
    if method.needs_run:
        raise ValueError(f"{method.title} needs {method.needs_run}; there is none for this model on this task yet")
    method.check(head_model, task)
    for batch in batches:
        parts = done_in_parts(head_model, batch, partial(_numbers, method, head_model, task))
        values, weights = (np.concatenate(found) for found in zip(*parts, strict=True))
        yield Portion(batch.indices, values, weights)


def balance_of(method: Method, head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> dict[str, float]:
    """The method's `balance`, over as many of the rows as fit in memory at once."""
    part = fitting_part(head_model, batch)
    n = len(part)
    return method.balance(head_model, task, part, Portion(part.indices, found.values[:n], found.weights[:n]))


def missed_by(method: Method, head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> Array:
    """The method's `missed` of every row, 0 where nothing was promised."""

    def of_rows(rows: slice) -> Array:
        values = torch.from_numpy(found.values[rows]).to(head_model.device, widest(head_model.device))
        shares = method.missed(head_model, task, rows_of(batch, rows), values)
        return np.zeros(len(values)) if shares is None else _array(shares)

    return np.concatenate(in_parts(head_model.model, len(batch), width(batch), of_rows))


def incomplete(missed: Mapping[int, float]) -> str:
    """A sentence on examples, by their numbers, whose values miss the sum that they should make; empty if none do."""
    short = [share for share in missed.values() if share > 0]
    if not short:
        return ""
    return (
        f"Not complete: in {len(short)} of {len(missed)} examples the heads miss what they save together, "
        f"by {max(short):.2g} of it at most, however many points the path had."
    )


def combined(method: Method, grid: HeadGrid, found: Collection[Portion]) -> Scores:
    """The scores that all portions together give, whatever their order."""
    if not found:
        raise ValueError(f"{method.title}: no example to score heads on")
    examples = by_example(found)
    return method.reduced(grid, examples.values, examples.weights)


def by_example(found: Collection[Portion]) -> Portion:
    """All portions as one, a row an example, in the order of the split.

    The rows of an example that was read in parts become their weighted mean, which weighs what they weigh together: so
    no mean changes, and errors are those over examples, whose parts are not independent.
    """
    places = np.concatenate([np.array(portion.indices) for portion in found])
    order = np.argsort(places, kind="stable")
    values = np.concatenate([portion.values for portion in found])[order]
    weights = np.concatenate([portion.weights for portion in found])[order]
    indices, starts = np.unique(places[order], return_index=True)
    if len(indices) < len(places):
        summed = np.add.reduceat(weights, starts)
        products = np.add.reduceat(_as_columns(weights) * values, starts)
        values, weights = products / np.where(summed > 0, summed, 1).reshape(len(summed), -1), summed
    return Portion(tuple(indices.tolist()), values, weights)


def weighted_mean(grid: HeadGrid, values: Array, weights: Array) -> Scores:
    """The mean of every column, m = sum w x / sum w, and its standard error over the rows.

    The error is that of a ratio of means: sqrt(n / (n - 1) sum (w (x - m))^2) / sum w.
    With equal weights it is the usual one. Weights are one a row, or one a number.
    """
    n = len(values)
    weights = _as_columns(weights)
    total = weights.sum(0)
    if not total.all():
        raise ValueError(f"nothing in these {n} examples counts, so there is no mean; give longer or other examples")
    mean = (weights * values).sum(0) / total
    spread = (weights * (values - mean)) ** 2
    error = np.sqrt(spread.sum(0) * n / max(1, n - 1)) / total
    return Scores(by_head(grid, mean), by_head(grid, error), n)


def _as_columns(weights: Array) -> Array:
    return weights if weights.ndim == 2 else weights[:, None]


def by_head(grid: HeadGrid, numbers: Array) -> dict[HeadId, float]:
    """Numbers in the order of the grid as a mapping."""
    return dict(zip(grid.heads, numbers.tolist(), strict=True))


def on_grid(head_model: HeadModel, batch: Batch, layers: Mapping[Site, OfLayer], removed: float = 0.0) -> Values:
    """Numbers for the kept heads of every layer as a row an example in the order of the grid; `removed` fills gaps."""
    device = head_model.device
    values = torch.full((len(batch), len(head_model.grid)), removed, dtype=widest(device), device=device)
    for site, numbers in layers.items():
        columns = [head_model.grid.positions[HeadId(site.bank, site.layer, head)] for head in site.kept]
        values[:, columns] = numbers.detach().to(values)
    return values


def _numbers(method: Method, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Array, Array]:
    """The values and weights of the rows."""
    values, weights = method.of_batch(head_model, task, batch)
    return _array(values), np.ones(len(batch)) if weights is None else _array(weights)


def _array(numbers: Tensor) -> Array:
    found: Array = numbers.detach().cpu().double().numpy()
    return found
