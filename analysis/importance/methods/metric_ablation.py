"""Importance by the metric itself: what it loses when the head alone is removed."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.learned_method import NeedsRun
from headscope.analysis.importance.method import register


@register
@dataclass(frozen=True)
class MetricAblation(NeedsRun):
    """The difference of the task's headline metric without the head, as in the first table of Michel et al. 2019.

    A metric such as BLEU is a number of the whole sample and of no example, so it is measured mask by mask in a run.
    """

    key = "metric"
    title = "Ablation, metric"
    reference = "Michel et al. 2019"
    about = "What the headline metric loses on development when this head alone is removed."
    signed = True
    needs_run = "a run that removed every head alone"
