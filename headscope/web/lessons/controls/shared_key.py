"""A question to answer by clicking: in which layer heads agree most on a key to give up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from headscope.pruning.fiak.priors_file import read_priors
from headscope.runs.kind import Kind
from headscope.runs.run import Run
from headscope.web.charts.fiak_view import prior_maps
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.priors import MAPS_HEIGHT, agreed, agreed_text, fiak_run, layer_names, left_text
from headscope.web.lessons.parts import show_chart, title_html, verdict_html
from headscope.web.page.choice import Choice
from headscope.web.page.shell import theme
from headscope.web.runs.requests import answered

OPEN = "?"


@register
@dataclass(frozen=True)
class SharedKey(Control):
    """A question to answer by clicking: the layer in which most heads give up one and the same key."""

    scores: float = 0.5
    keys: float = 0.2

    key = "shared_key"

    def trainings(self, choice: Choice) -> list[Kind]:
        """The one."""
        return [fiak_run(choice, self.scores, self.keys)]

    def show(self, stage: Stage) -> Found:
        """A button a layer; the maps of the one that was picked show at the right."""
        with stage.right.container(border=True):
            run = answered(fiak_run(stage.choice, self.scores, self.keys))
            if run is None:
                return NOTHING
            found = agreement(run)
            names = layer_names(run)
            picked = names.get(stage.pick("Which layer is it?", "answer", [OPEN, *names], OPEN))
            if picked is None:
                st.html(title_html("Make a guess, then look", "the maps of the layer that you pick show here"))
                stage.left.html(verdict_html(False, "Pick a layer."))
            else:
                priors, scores, keys = read_priors(run.folder / run.found["priors"], picked)
                layer = next(one for one in run.found["layers"] if one["name"] == picked)
                st.html(title_html(f"{picked}: {agreed_text(*agreed(keys))}", "a white column is a key that is gone"))
                figure = prior_maps(priors, scores & keys[:, None], layer["heads"], theme())
                show_chart(stage, figure.update_layout(height=MAPS_HEIGHT), f"maps-{picked}")
                stage.left.html(verdict_html(*verdict(picked, found)))
        return Found(left_text(run))


def agreement(run: Run) -> dict[str, tuple[int, int]]:
    """For every layer, how many of its heads give up the same key."""
    result = run.result or {}
    names = [layer["name"] for layer in result["layers"]]
    return {name: agreed(read_priors(run.folder / result["priors"], name)[2]) for name in names}


def verdict(picked: str, found: Mapping[str, tuple[int, int]]) -> tuple[bool, str]:
    """Whether in no layer more heads agree, and what to say."""
    said = f"in {picked} {agreed_text(*found[picked])}"
    if found[picked][0] == max(n for n, _ in found.values()):
        return True, f"Found: {said}, and nowhere do more."
    return False, f"{said[:1].upper()}{said[1:]}. In another layer more do."
