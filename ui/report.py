"""A report to take home: one HTML file that holds everything it shows and asks for nothing from outside."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.io
from plotly.offline import get_plotlyjs

from jobs.run import Run, duration
from ui.compared_runs import Compared
from ui.curves import PARAMETERS, Chart, pareto_chart, pruning_chart
from ui.metric_text import point_text
from ui.palette import css_variables
from ui.run_facts import headline, record_facts, spared

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 "Source Sans 3", "Source Sans", system-ui, sans-serif; color: #1b2030; max-width: 1080px;
  margin: 32px auto; padding: 0 24px; }
h1 { font-size: 30px; margin-bottom: 0; } h2 { font-size: 20px; margin-top: 36px; } h3 { font-size: 17px; }
p.lede { color: #5b6478; font-size: 17px; margin-top: 4px; }
table { border-collapse: collapse; font-size: 15px; font-variant-numeric: tabular-nums; }
td, th { border-bottom: 1px solid #dfe3ee; padding: 4px 14px 4px 0; text-align: left; vertical-align: top; }
code, pre { font-size: 14px; background: #f5f6fb; border-radius: 6px; padding: 2px 6px; overflow-wrap: anywhere;
  white-space: pre-wrap; }
.note { color: #5b6478; font-size: 14px; }
"""

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
"""The file runs its own scripts and reaches for nothing else, whoever wrote the names in it."""


@dataclass(frozen=True)
class Reported:
    """A run, the points it has, and the command that repeats it."""

    run: Run
    points: Sequence[dict[str, Any]]
    command: str


def report_html(reported: Sequence[Reported], compared: Compared, now: str) -> str:
    """All runs with their circumstances; curves that can be compared are drawn together first."""
    n = "1 run" if len(reported) == 1 else f"{len(reported)} runs"
    parts = [
        "<h1>Headlight report</h1>",
        f'<p class="lede">{n}, written {html.escape(now)}. Everything is in this file; it needs no network.</p>',
        _charts(compared),
        *(_section(one) for one in reported),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Headlight report</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}{css_variables()}</style><script>{get_plotlyjs()}</script></head>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _charts(compared: Compared) -> str:
    if not compared.curves:
        return ""
    first = compared.runs[0]
    higher = bool((first.result or {}).get("higher_is_better", True))
    chart = Chart(compared.curves, compared.random, compared.full)
    figures = (pruning_chart(chart, "light"), pareto_chart(compared.curves, PARAMETERS, higher, "light"))
    drawn = [
        plotly.io.to_html(figure, include_plotlyjs=False, full_html=False, config={"displayModeBar": False})
        for figure in figures
    ]
    n = compared.curves[0].points[0]["n"]
    about = f"{first.model} on {first.spec['split']}, {n} examples; bands and bars are 95 % intervals."
    return (
        f"<h2>What pruning costs</h2>{drawn[0]}"
        f'<p class="note">{html.escape(about)} Dashed: found without training. Grey: random orders.</p>'
        f"<h2>Which models are worth keeping</h2>{drawn[1]}"
        '<p class="note">The line joins the models than which no other is both better and smaller.</p>'
    )


def _section(one: Reported) -> str:
    run = one.run
    facts = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in (record_facts(run) | {"State": run.state, "Took": duration(run.seconds(0))}).items()
    )
    command = f"<p>Repeat it with <code>{html.escape(one.command)}</code></p>" if one.command else ""
    return (
        f"<h2>{html.escape(run.title)}</h2><p>{html.escape(headline(run))}</p>{_points(one)}"
        f"{_scores(run)}<h3>Circumstances</h3><table>{facts}</table>{command}"
    )


def _points(one: Reported) -> str:
    order = sorted(
        (point for point in one.points if point.get("series") == "order"), key=lambda point: point["removed"]
    )
    if not order:
        return ""
    rows = "".join(
        f"<tr><td>{point['removed']}</td><td>{html.escape(point_text(point))}</td><td>{point['loss']:.4f}</td>"
        f"<td>{point['parameters']:,}</td><td>{'yes' if point['worse'] else 'no'}</td></tr>"
        for point in order
    )
    metric = html.escape(str(order[0]["metric"]))
    return (
        f"<p>{spared(order)} heads go before the first point that is significantly worse "
        "(paired test, p &lt; 0.01).</p>"
        f"<table><tr><th>Heads removed</th><th>{metric} (95 %)</th><th>Loss</th><th>Parameters</th>"
        f"<th>Significantly worse</th></tr>{rows}</table>"
    )


def _scores(run: Run) -> str:
    scores = (run.result or {}).get("scores")
    if not scores:
        return ""
    errors = run.result["errors"]  # type: ignore[index]
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    rows = "".join(
        f"<tr><td>{html.escape(head)}</td><td>{scores[head]:.5g}</td><td>{errors[head]:.2g}</td></tr>"
        for head in ranked
    )
    header = "<tr><th>Head</th><th>Score</th><th>±</th></tr>"
    return f"<details><summary>All scores</summary><table>{header}{rows}</table></details>"


def csv_rows(reported: Sequence[Reported]) -> list[dict[str, Any]]:
    """Every point of every run, with the run's name: the numbers behind the charts."""
    return [
        {"run": one.run.id, "title": one.run.title, **{name: _plain(value) for name, value in point.items()}}
        for one in reported
        for point in one.points
        if "removed" in point
    ]


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
