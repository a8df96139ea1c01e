"""How many heads each layer keeps when all gates have one price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.run import Run
from headscope.web.cards.head_card import pick_head
from headscope.web.charts.layout import base_layout
from headscope.web.charts.palette import SERIES
from headscope.web.grid.head_grid import GridStyle
from headscope.web.lessons.control import NOTHING, Found, Stage, register
from headscope.web.lessons.controls.gates import GateMovie, kept_by, learned_told
from headscope.web.lessons.parts import big_html, grid_beside, grid_of, show_chart, title_html, verdict_html
from headscope.web.page.shell import theme
from headscope.web.runs.requests import answered


@register
@dataclass(frozen=True)
class LayerCounts(GateMovie):
    """A bar a layer, of a run of gates; as a `question` there are no bars, and the class has to find the fullest."""

    question: bool = False

    key = "layer_counts"

    def show(self, stage: Stage) -> Found:
        """Bars at the right and the grid at the left; for the question only a grid, at the right."""
        with stage.right.container(border=True):
            grid = grid_of(stage.choice)
            run = answered(self.run(stage.choice)) if grid is not None else None
            if grid is None or run is None:
                return NOTHING
            counts = kept_in_layers(grid, run)
            if self.question:
                return self._ask(stage, grid, counts)
            st.html(
                title_html(_finding(counts), f"heads whose gate stayed open, {self.n_steps} steps, one price for all")
            )
            show_chart(stage, count_bars(counts, len(grid.layer(next(iter(counts)).bank, 0)), theme()), "bars")
        kept = kept_by(run)
        look = GridStyle(off=frozenset(grid) - kept, shades=dict.fromkeys(kept, 1.0), ramp="gate", size="mini")
        head = grid_beside(stage, big_html(f"{len(kept)} / {len(grid)}", "heads stay"), grid, look)
        told = f"{learned_told(run)} Kept by layer: {', '.join(str(n) for n in counts.values())}."
        return Found(told, len(set(counts.values())) > 1, head)

    def _ask(self, stage: Stage, grid: HeadGrid, counts: Mapping[HeadId, int]) -> Found:
        st.html(title_html("Which layer kept most of its heads?", "pick any head of that layer"))
        selected = pick_head(grid, GridStyle(), stage.key("grid"))
        if selected is None:
            stage.left.html(verdict_html(False, "Pick a head in the grid."))
        else:
            stage.left.html(verdict_html(*verdict(selected, counts)))
        return Found(f"{sum(counts.values())} of {len(grid)} heads stayed.", head=selected)


def kept_in_layers(grid: HeadGrid, run: Run) -> dict[HeadId, int]:
    """For every layer, named by its first head, how many heads stayed."""
    kept = kept_by(run)
    return {head: sum(one in kept for one in grid.layer(head.bank, head.layer)) for head in grid if not head.head}


def verdict(head: HeadId, counts: Mapping[HeadId, int]) -> tuple[bool, str]:
    """Whether no layer kept more than that of the head, and what to say."""
    own = counts[HeadId(head.bank, head.layer, 0)]
    most = max(counts.values())
    if own == most:
        return True, f"Found: layer {head.layer} kept {own} heads, and none kept more."
    return False, f"Layer {head.layer} kept {own}. Another kept more."


def count_bars(counts: Mapping[HeadId, int], n_heads: int, theme: str) -> go.Figure:
    """How many heads stayed, a bar a layer."""
    figure = go.Figure(
        go.Bar(
            x=[f"layer {head.layer}" for head in counts],
            y=list(counts.values()),
            marker={"color": SERIES[theme][0]},
            text=[str(n) for n in counts.values()],
            textposition="outside",
            cliponaxis=False,
        )
    )
    base_layout(figure, theme, 340)
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title="Heads that stay", range=[0, n_heads + 0.8])
    return figure


def _finding(counts: Mapping[HeadId, Any]) -> str:
    fewest, most = min(counts.values()), max(counts.values())
    if fewest == most:
        return f"Every layer keeps {most} heads"
    return f"Layers keep between {fewest} and {most} heads, though all pay the same price"
