"""The priors of a short FiAK run as maps, and the keys that no head looks at any more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from headscope.pruning.fiak.priors_file import read_priors
from headscope.runs.kind import Kind
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.run import Run
from headscope.web.charts.fiak_view import image_maps, key_strength, prior_maps
from headscope.web.charts.metric_text import share_text
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import show_chart, significantly_worse, title_html
from headscope.web.page.choice import Choice
from headscope.web.page.shell import theme
from headscope.web.runs.requests import answered

MAPS, PATCHES = "maps", "patches"
MAPS_HEIGHT = 430
STEPS = (60, 200)
"""Of the two trainings: with priors, and of what is left."""


def fiak_run(choice: Choice, scores: float, keys: float, by: str = "prior") -> FiakRun:
    """A short run: priors are trained, the weakest of every query go, the rest is trained on."""
    return FiakRun(
        choice.model, scores, keys, by=by, among="query", steps_priors=STEPS[0], steps_tuning=STEPS[1], rate=1e-3,
        **choice.judged,
    )  # fmt: skip


@register
@dataclass(frozen=True)
class PriorMaps(Control):
    """One layer of a run: a square a head, or for images how strong each patch is."""

    scores: float = 0.5
    keys: float = 0.0
    view: str = MAPS

    key = "priors"

    def trainings(self, choice: Choice) -> list[Kind]:
        """The one."""
        return [fiak_run(choice, self.scores, self.keys)]

    def show(self, stage: Stage) -> Found:
        """Maps at the right; the layer and what is left of it at the left."""
        with stage.right.container(border=True):
            run = answered(fiak_run(stage.choice, self.scores, self.keys))
            if run is None:
                return NOTHING
            names = layer_names(run)
            picked = names[stage.pick("Layer", "layer", list(names), next(iter(names)))]
            layer = next(one for one in run.found["layers"] if one["name"] == picked)
            priors, scores, keys = read_priors(run.folder / run.found["priors"], picked)
            kept = scores if scores.shape == priors.shape else keys[:, None, :]
            left = float(kept.mean())
            told = agreed_text(*agreed(keys)) if self.keys else unseen_text(kept)
            figure = prior_maps(priors, kept, layer["heads"], theme()).update_layout(height=MAPS_HEIGHT)
            source = "rows are queries, columns keys; dark is a strong prior, white was pruned"
            if self.view == PATCHES:
                figure = image_maps(key_strength(priors * kept), layer["heads"], theme()) or figure
                source = "priors summed over queries, laid back on the image; dark patches are looked at"
            st.html(title_html(f"{picked}: {told}", source))
            show_chart(stage, figure, f"maps-{picked}")
        stage.left.html(
            f'<div class="hl-big"><b>{share_text(left)}</b><span>of the scores of {picked} are left</span></div>'
        )
        return Found(left_text(run), not significantly_worse(run.found["change"]["test"], run.found))


def left_text(run: Run) -> str:
    """What a finished run left of all scores and keys."""
    saved = run.found["savings"]
    scores, keys = (share_text(saved[f"{what}_kept"] / saved[what]) for what in ("scores", "keys"))
    return f"{scores} of all scores and {keys} of all keys are left."


def layer_names(run: Run) -> dict[str, str]:
    """The layers of a run: their numbers, where it has one bank, and their names."""
    names = [layer["name"] for layer in run.found["layers"]]
    several = len({name.partition(".")[0] for name in names}) > 1
    return {name if several else name.rpartition(".")[2]: name for name in names}


def unseen_text(kept: NDArray[np.bool_]) -> str:
    """How many keys no query of any head looks at any more; what is kept is [head, query, key]."""
    unseen = int((~kept.any(axis=(0, 1))).sum())
    return f"{unseen} of {kept.shape[-1]} keys are looked at by no query" if unseen else "some query looks at every key"


def agreed(keys: NDArray[np.bool_]) -> tuple[int, int]:
    """How many heads give up the key that most of them give up, and how many heads there are; keys are [head, key]."""
    return int((~keys).sum(axis=0).max()), len(keys)


def agreed_text(n: int, n_heads: int) -> str:
    """The same in words."""
    return f"{n} of {n_heads} heads give up the same key" if n > 1 else "no two heads give up the same key"
