"""What is left of the roles when heads go, and how much the heads of each role matter; needs no torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headscope.analysis.agreement import ranks
from headscope.models.heads import HeadId

NONE = "none"
"""The key of the heads that have no role."""

Array = NDArray[np.float64]


@runtime_checkable
class Judged(Protocol):
    """What was found about a head and a role, as far as it is needed here."""

    @property
    def verdict(self) -> bool:
        """Whether the head has the role."""


Findings = Mapping[str, Mapping[HeadId, Judged]]
"""By the key of the role and by head."""


@dataclass(frozen=True)
class Survivors:
    """How many heads have a role, and how many of them are kept."""

    kept: int
    total: int


@dataclass(frozen=True)
class RoleImportance:
    """How much the heads of one role matter.

    `share` is their part of the summed absolute scores and `heads_share` their part of the heads: equal if the role
    says nothing. `correlation` is the rank correlation of having the role with the score, `partial` the same with the
    ranks of confidence held fixed: a role whose heads matter only because they are confident has about 0 there. Both
    are None where all heads have the role or none has, or where confidence explains everything.
    """

    n: int
    share: float
    heads_share: float
    correlation: float | None
    partial: float | None


def holders(found: Findings) -> dict[str, frozenset[HeadId]]:
    """The heads of each role, and those that have none; a head with several roles is counted in each."""
    by_role = {key: frozenset(head for head, one in own.items() if one.verdict) for key, own in found.items()}
    everybody = frozenset(head for own in found.values() for head in own)
    return by_role | {NONE: everybody.difference(*by_role.values())}


def surviving(found: Findings, removed: Collection[HeadId]) -> dict[str, Survivors]:
    """How many heads of each role are kept when some are removed."""
    gone = frozenset(removed)
    return {key: Survivors(len(heads - gone), len(heads)) for key, heads in holders(found).items()}


def importance_by_role(
    found: Findings, scores: Mapping[HeadId, float], confidence: Mapping[HeadId, float]
) -> dict[str, RoleImportance]:
    """How much the heads of each role matter by any importance method, beside what their confidence explains.

    Of scored heads only those count in which roles were looked for: heads that are gone have neither role nor weight.
    """
    if set(confidence) != set(scores):
        raise ValueError(f"scores of {len(scores)} heads and confidence of {len(confidence)}; both need the same heads")
    heads = sorted(set(scores) & {head for own in found.values() for head in own})
    if not heads:
        raise ValueError(f"scores of {len(scores)} heads, in none of which roles were looked for; some are needed")
    values = np.abs(np.array([scores[head] for head in heads]))
    score_ranks = ranks(np.array([scores[head] for head in heads]))
    confidence_ranks = ranks(np.array([confidence[head] for head in heads]))
    result = {}
    for key, own in holders(found).items():
        has = np.array([float(head in own) for head in heads])
        result[key] = RoleImportance(
            n=int(has.sum()),
            share=float((values * has).sum() / values.sum()) if values.any() else 0.0,
            heads_share=float(has.mean()),
            correlation=_correlation(has, score_ranks),
            partial=_partial(has, score_ranks, confidence_ranks),
        )
    return result


def _correlation(first: Array, second: Array) -> float | None:
    a, b = first - first.mean(), second - second.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm > 0 else None


def _partial(first: Array, second: Array, fixed: Array) -> float | None:
    """r(1, 2 | 3) = (r12 - r13 r23) / sqrt((1 - r13^2) (1 - r23^2))."""
    r12, r13, r23 = _correlation(first, second), _correlation(first, fixed), _correlation(second, fixed)
    if r12 is None:
        return None
    if r13 is None or r23 is None:  # confidence puts nothing in order, so it explains nothing
        return r12
    left = (1 - r13**2) * (1 - r23**2)
    return float((r12 - r13 * r23) / np.sqrt(left)) if left > 1e-12 else None
