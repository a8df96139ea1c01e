"""Importance by subset gates: the learned weight with which a head competes for a place."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.learned_method import NeedsRun
from headscope.analysis.importance.method import register


@register
@dataclass(frozen=True)
class SubsetGates(NeedsRun):
    """The weight w_h whose K largest are the heads that stay, differentiable subset pruning, Li et al. 2021."""

    key = "subset"
    title = "Subset gates"
    reference = "Li et al. 2021"
    about = "The learned weight with which the head competes for one of the places that are left."
    signed = True
    needs_run = "a run that trained subset gates"
