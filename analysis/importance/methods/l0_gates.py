"""Importance by L0 gates: how likely the learned gate of a head is open."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.learned_method import NeedsRun
from headscope.analysis.importance.method import register


@register
@dataclass(frozen=True)
class L0Gates(NeedsRun):
    """P(g_h != 0) of hard concrete gates, trained with a price on every open gate, Voita et al. 2019."""

    key = "l0"
    title = "L0 gates"
    reference = "Voita et al. 2019"
    about = "How likely the learned gate of the head is open."
    needs_run = "a run that trained L0 gates"
