"""What pruning of attention scores costs: dense, with priors, pruned, trained on; beside pruning at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from headscope.runs.kind import Kind
from headscope.web.charts.fiak_view import stages_figure
from headscope.web.charts.metric_text import change_text, metric_text, share_text
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.priors import STEPS, fiak_run
from headscope.web.lessons.parts import show_chart, significantly_worse, title_html
from headscope.web.page.choice import Choice
from headscope.web.page.shell import theme
from headscope.web.runs.requests import answered

NAMES = {"prior": "weakest priors go", "random": "scores go at random"}


@register
@dataclass(frozen=True)
class PruningStages(Control):
    """Runs that prune the same share, by each way of `by`."""

    scores: float = 0.7
    keys: float = 0.0
    by: tuple[str, ...] = ("prior",)

    key = "stages"

    def trainings(self, choice: Choice) -> list[Kind]:
        """One for each way to choose."""
        return [fiak_run(choice, self.scores, self.keys, by) for by in self.by]

    def show(self, stage: Stage) -> Found:
        """The metric from stage to stage at the right; the end of it at the left."""
        with stage.right.container(border=True):
            runs = {by: answered(fiak_run(stage.choice, self.scores, self.keys, by)) for by in self.by}
            done = {by: run.found for by, run in runs.items() if run is not None}
            if self.by[0] not in done:
                return NOTHING
            result = done[self.by[0]]
            metric, test = result["metric"], result["measured"]
            dense, tuned = test["dense"]["test"], test["tuned"]["test"]
            change = change_text(metric, tuned["value"] - dense["value"])
            gone = " and ".join(
                f"{share_text(share)} of {what}"
                for share, what in ((self.scores, "scores"), (self.keys, "keys"))
                if share
            )
            told = f"without {gone}: {metric} {metric_text(metric, tuned['value'])} on test ({change})"
            st.html(
                title_html(
                    told[:1].upper() + told[1:],
                    f"test, {tuned['n']} examples · trained for {STEPS[0]} and {STEPS[1]} steps",
                )
            )
            show_chart(stage, stages_figure([one | {"name": NAMES[by]} for by, one in done.items()], theme()), "stages")
        stage.left.html(
            f'<div class="hl-big"><b>{metric_text(metric, tuned["value"])}</b>'
            f"<span>{metric}, of {metric_text(metric, dense['value'])}</span></div>"
        )
        beside = [
            f"{NAMES[by]}: {metric_text(metric, one['measured']['pruned']['test']['value'])} before, "
            f"{metric_text(metric, one['measured']['tuned']['test']['value'])} after the second training"
            for by, one in done.items()
        ]
        if len(self.by) == 1:
            return Found(f"{told}.", not significantly_worse(result["change"]["test"], result))
        return Found(f"{'; '.join(beside)}.", beats_chance(done))


def beats_chance(done: Mapping[str, Mapping[str, Any]]) -> bool | None:
    """Whether priors leave more than chance after the second training; None as long as one of the two is missing."""
    if set(done) != set(NAMES):
        return None
    prior, random = (done[by]["measured"]["tuned"]["test"]["value"] for by in NAMES)
    return bool(prior > random if done["prior"]["higher_is_better"] else prior < random)
