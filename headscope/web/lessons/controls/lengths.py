"""What pruning of scores leaves of an attention layer, by arithmetic, against the length of the input."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from headscope.pruning.fiak.ratios import layer_ratios
from headscope.web.charts.fiak_view import ratio_figure
from headscope.web.charts.metric_text import share_text
from headscope.web.lessons.control import Control, Found, Stage, register
from headscope.web.lessons.parts import show_chart, title_html
from headscope.web.page.shell import theme

LENGTHS = [2**power for power in range(4, 13)]


@register
@dataclass(frozen=True)
class Lengths(Control):
    """Operations and memory after pruning, as shares of the dense layer; `width` is that of a head."""

    scores: float = 0.7
    keys: float = 0.0
    width: int = 64

    key = "lengths"

    def show(self, stage: Stage) -> Found:
        """Both curves at the right; the length at the left."""
        names = [str(length) for length in LENGTHS]
        length = int(stage.pick("Tokens in the input", "length", names, "256"))
        ratios = [layer_ratios(one, self.width, self.scores, self.keys) for one in LENGTHS]
        operations, memory = layer_ratios(length, self.width, self.scores, self.keys)
        shares = f"{share_text(operations)} of the operations and {share_text(memory)} of the memory"
        told = f"at {length:,} tokens {shares} are left"
        with stage.right.container(border=True):
            source = (
                f"{share_text(self.scores)} of scores gone, heads {self.width} wide · arithmetic, no kernel measured"
            )
            st.html(title_html(told[:1].upper() + told[1:], source))
            curves = {"operations": [one for one, _ in ratios], "memory": [one for _, one in ratios]}
            show_chart(stage, ratio_figure(LENGTHS, curves, length, theme()), "ratios")
        stage.left.html(
            f'<div class="hl-big"><b>{length * length:,}</b><span>scores a head, for {length:,} tokens</span></div>'
        )
        return Found(f"{told}, by arithmetic.")
