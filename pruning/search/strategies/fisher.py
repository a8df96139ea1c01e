"""Fisher: the mask search of the retraining-free framework, by the Fisher information of the gates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategy import GRADIENTS, Kept, Strategy, by_score, register
from headscope.pruning.search.subject import Layer, Subject, layer_of

Information = NDArray[np.float64]


@register
@dataclass(frozen=True)
class FisherSearch(Strategy):
    """Kwon et al. 2022: to second order the loss rises by (1 - m)' F (1 - m) / 2, with F = E_x g(x) g(x)'.

    The search takes the diagonal of F, so the heads of least E_x g_h(x)^2 go. The rearrangement then keeps how many
    heads each layer loses and chooses them anew by the block of F that belongs to the layer. So masks of different
    counts need not contain each other. The scaling of the heads that stay is in pruning/training/rescaling.py.
    Differs: the authors square the derivative of mini-batches of 32, here every example is squared alone; they allow
    for the cost of heads and of feed-forward units, here all heads cost the same.
    """

    key = "fisher"
    title = "Fisher search"
    reference = "Kwon et al. 2022"
    about = "Removes the heads of least Fisher information, then chooses anew within each layer by how heads interact."
    needs = (GRADIENTS,)

    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        gradients = subject.gradients()
        own = gradients[:, [subject.grid.positions[head] for head in subject.heads]]
        information = own.T @ own / len(own)
        diagonal = dict(zip(subject.heads, np.diag(information).tolist(), strict=True))
        order = by_score(subject.heads, diagonal, "global", Kept(subject, self.at_least))
        for count in counts:
            yield HeadMask(subject.grid, frozenset(_rearranged(subject.heads, information, order[:count])))


def _rearranged(heads: Sequence[HeadId], information: Information, removed: Sequence[HeadId]) -> Iterator[HeadId]:
    """The heads that go when every layer chooses as many as it loses by its own block."""
    layers: dict[Layer, list[int]] = {}
    for place, head in enumerate(heads):
        layers.setdefault(layer_of(head), []).append(place)
    for layer, places in layers.items():
        n_removed = sum(layer_of(head) == layer for head in removed)
        block = information[np.ix_(places, places)]
        yield from (heads[places[place]] for place in rearranged(block, n_removed))


def rearranged(block: Information, n_removed: int) -> list[int]:
    """Which heads of a layer go: n of them with a low sum of F_ij over all pairs, found greedily.

    It starts with the n lowest of the diagonal. Each other head, in ascending order, is then put among them, and the
    one without which the sum of the rest is lowest is taken out again.
    """
    order = np.argsort(np.diag(block), kind="stable").tolist()
    chosen: list[int] = order[:n_removed]
    if not chosen:
        return chosen
    for head in order[n_removed:]:
        chosen.append(head)
        part = block[np.ix_(chosen, chosen)]
        without = part.sum() - 2 * part.sum(axis=1) + np.diag(part)
        del chosen[len(chosen) - 1 - int(without[::-1].argmin())]  # of equals the last
    return chosen
