"""How much of a model goes with its heads: an ordinary model beside one made of attention alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import share_text
from headscope.web.charts.palette import SERIES
from headscope.web.grid.presets import least_important
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import grid_of, points_of, scores_of, show_chart, title_html
from headscope.web.page.choice import Choice
from headscope.web.page.shell import theme

SHARES = ("25 %", "50 %", "75 %")


@register
@dataclass(frozen=True)
class WeightShare(Control):
    """Parameters that are left of two models when the same share of their heads is removed."""

    other: str = "writer"
    method: str = "gradient"

    key = "weight_share"

    def show(self, stage: Stage) -> Found:
        """Two bars at the right; the share of heads at the left."""
        picked = stage.pick("Heads removed", "share", list(SHARES), SHARES[1])
        share = int(picked.split()[0]) / 100
        with stage.left:
            choices = {name: replace(stage.choice, model=name) for name in (stage.choice.model, self.other)}
            asked = {name: self._left(choice, share) for name, choice in choices.items()}
        left = {name: value for name, value in asked.items() if value is not None}
        if len(left) < len(asked):
            return NOTHING
        own, other = left[stage.choice.model], left[self.other]
        told = (
            f"with {picked} of the heads gone, {share_text(1 - own)} of the {stage.choice.model}'s parameters go, and "
            f"{share_text(1 - other)} of the {self.other}'s"
        )
        with stage.right.container(border=True):
            st.html(title_html(told[:1].upper() + told[1:], "parameters of the really smaller model, counted"))
            show_chart(stage, parameter_bars(left, 1 - share, theme()), "bars")
        stage.left.html(f'<div class="hl-big"><b>{share_text(own)}</b><span>of the parameters are left</span></div>')
        return Found(f"{told}.", own < other)

    def _left(self, choice: Choice, share: float) -> float | None:
        """The share of the parameters that is left of a model, once it was measured."""
        grid = grid_of(choice)
        scores = scores_of(choice, self.method) if grid is not None else {}
        if grid is None or not scores:
            return None
        mask = grid.spell(least_important(grid, scores, round(share * len(grid))))
        full, point = points_of(choice, ["", mask])
        return None if full is None or point is None else float(point["parameters"]) / full["parameters"]


def parameter_bars(left: Mapping[str, Any], heads: float, theme: str) -> go.Figure:
    """What is left of each model, beside the share of heads that is left."""
    names: Sequence[str] = list(left)
    figure = go.Figure(
        go.Bar(
            x=names,
            y=[100 * left[name] for name in names],
            marker={
                "color": SERIES[theme][: len(names)],
                "pattern": {"shape": ["", "/"][: len(names)], "fillmode": "overlay"},
            },
            text=[share_text(left[name]) for name in names],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x}: %{y:.1f} %<extra></extra>",
        )
    )
    base_layout(figure, theme, 360)
    figure.add_hline(
        y=100 * heads,
        line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"},
        annotation={"text": f"heads left: {share_text(heads)}", "yanchor": "bottom"},
    )
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title="Parameters left, %", range=[0, 110])
    return figure
