"""How fast the really smaller model is beside the dense one, as measured on this machine."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from headscope.runs.kinds.speed import SpeedRun
from headscope.web.charts.layout import base_layout
from headscope.web.charts.palette import SERIES, VARIABLES
from headscope.web.grid.lab_masks import Lab
from headscope.web.page.shell import show_chart, theme
from headscope.web.runs.requests import answered


def show_speed(lab: Lab) -> None:
    """A button, for it takes half a minute, then the bars, the sentence and the table."""
    if not lab.mask:
        st.caption("Switch some heads off: then the smaller model is built and timed beside the dense one.")
        return
    wanted = (lab.choice.model, lab.spelt)
    if st.button("Measure it on this machine", key="measure-speed", icon=":material/speed:"):
        st.session_state["speed-wanted"] = wanted
    if st.session_state.get("speed-wanted") != wanted:
        st.caption("Builds the smaller model and runs both in turns, at four batch sizes and two lengths.")
        return
    run = answered(SpeedRun(lab.choice.model, lab.spelt))
    if run is None:
        return
    found = run.found
    st.html(f'<h2 class="hl-card-title">{escape(found["sentence"])}</h2><p class="hl-source">{_source(found)}</p>')
    if found["remark"]:
        st.caption(found["remark"])
    left, right = st.columns([1.2, 1])
    show_chart(speed_bars(found["timings"], theme()), "speed-bars", left)
    right.dataframe(speed_table(found["timings"]), hide_index=True, height="content", key="speed-table")


def _source(found: dict[str, Any]) -> str:
    sizes, files = found["parameters"], found["bytes"]
    return escape(
        f"{found['removed']} heads really removed · {found['device']}, {found['precision']}, {found['threads']} threads"
        f" · {sizes['smaller'] / 1e6:.2f} of {sizes['dense'] / 1e6:.2f} M parameters · "
        f"file {files['smaller'] / 1e6:.1f} of {files['dense'] / 1e6:.1f} MB · bars: median and quartiles of 9 turns"
    )


def size_name(timing: dict[str, Any]) -> str:
    """The size of the inputs in words."""
    return f"batch {timing['batch']}" + ("" if timing["length"] is None else f", length {timing['length']}")


def speed_bars(timings: list[dict[str, Any]], theme: str) -> go.Figure:
    """How many times faster, beside what the operations predict; 1 is the dense model."""
    figure = go.Figure()
    names = [size_name(timing) for timing in timings]
    speedups = [timing["speedup"] for timing in timings]
    medians = [one["median"] for one in speedups]
    figure.add_bar(
        name="measured",
        y=names,
        x=medians,
        orientation="h",
        marker={"color": SERIES[theme][0]},
        error_x={
            "type": "data",
            "array": [one["high"] - one["median"] for one in speedups],
            "arrayminus": [one["median"] - one["low"] for one in speedups],
            "color": VARIABLES[theme]["second"],
        },
    )
    figure.add_scatter(
        name="predicted by operations",
        y=names,
        x=[timing["predicted"] for timing in timings],
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 18, "color": SERIES[theme][2], "line": {"width": 3}, "opacity": 1},
    )
    figure.add_vline(x=1, line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"})
    base_layout(figure, theme, height=90 + 34 * len(timings))
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title="Times as fast as the dense model", rangemode="tozero")
    return figure


def speed_table(timings: list[dict[str, Any]]) -> pd.DataFrame:
    """The numbers behind the bars: medians with the quartiles of the turns, and both throughputs."""
    return pd.DataFrame(
        {
            "Inputs": [size_name(timing) for timing in timings],
            "Dense, ms": [_spread(timing["dense"], 1000) for timing in timings],
            "Smaller, ms": [_spread(timing["smaller"], 1000) for timing in timings],
            "Times as fast": [_spread(timing["speedup"]) for timing in timings],
            "Dense, examples a second": [round(timing["throughput"]["dense"], 1) for timing in timings],
            "Smaller, examples a second": [round(timing["throughput"]["smaller"], 1) for timing in timings],
            "Memory, MB": [
                f"{timing['memory_smaller'] / 1e6:.0f} of {timing['memory_dense'] / 1e6:.0f}" for timing in timings
            ],
        }
    )


def _spread(found: dict[str, float], scale: float = 1.0) -> str:
    """The median and the quartiles."""
    median, low, high = (f"{scale * found[name]:.2f}" for name in ("median", "low", "high"))
    return f"{median} ({low} to {high})"
