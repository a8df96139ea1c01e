"""Importance by FiAK's priors: how much prior weight the attention scores of a head have."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.learned_method import NeedsRun
from headscope.analysis.importance.method import register


@register
@dataclass(frozen=True)
class FiakPrior(NeedsRun):
    """The mean of |pi_ij| over the scores of a head, from priors trained as in FiAK, a finite admixture of keys.

    The number a head is ours: FiAK gives a prior to attention scores and to keys, never to a head.
    """

    key = "fiak"
    title = "FiAK prior"
    reference = "ours, from the priors of FiAK"
    about = "The mean prior of the head's attention scores; one number a head is ours, FiAK scores entries and keys."
    needs_run = "a run that trained FiAK priors"
