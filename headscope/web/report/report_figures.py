"""What a run found as figures, for the report; a kind without any is told by its tables alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from headscope.models.heads import HeadId
from headscope.pruning.search.dynamics import Moment
from headscope.runs.run import Run
from headscope.web.cards.sweep_card import finding, split_points
from headscope.web.charts.curves import Chart, Curve, pruning_chart
from headscope.web.charts.dynamics_view import curves_figure, dynamics_title, metric_figure, prunable_figure
from headscope.web.charts.fiak_view import histogram_figure, stages_figure
from headscope.web.charts.findings import share_of_the_first
from headscope.web.charts.layout import base_layout
from headscope.web.charts.learn_view import PHASES, Movie, bank_figure, movie_figure, movie_title, training_chart
from headscope.web.charts.metric_text import metric_text, scale, share_text
from headscope.web.charts.palette import IMPORTANCE, SERIES, VARIABLES
from headscope.web.runs.run_facts import spared

THEME = "light"
"""A report is read on paper and in any browser."""

TUNING = "fine-tuning"
SIGNED = ((0.0, "#c2410c"), (0.5, "#f8fafc"), (1.0, "#2e1a87"))
"""From what harms over nothing to what helps."""

Points = Sequence[Mapping[str, Any]]
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A figure under a title that says what it shows."""

    title: str
    figure: go.Figure


def figures_of(run: Run, points: Points) -> list[Drawn]:
    """The figures of a run; none for one that is not done, or whose result an older version stored in another form."""
    if run.kind == "sweep":
        return sweep_figures(run, points)
    if run.result is None or run.kind not in DRAWN:
        return []
    try:
        return DRAWN[run.kind](run, run.result, points)
    except (KeyError, TypeError, ValueError):
        return []


def sweep_figures(run: Run, points: Points) -> list[Drawn]:
    """The curve beside its random orders, as far as it is known."""
    order, random = split_points([dict(point) for point in points])
    if not order:
        return []
    full = next((point for point in order if not point["removed"]), None)
    chart = Chart([Curve(escape(run.title, quote=False), order)], random, full)
    return [Drawn(finding(run, order), pruning_chart(chart, THEME))]


def heads_figure(numbers: Mapping[str, float]) -> go.Figure:
    """A square a head, layers from top to bottom, one field a bank; signed numbers in two colours."""
    heads = {HeadId.parse(name): value for name, value in numbers.items()}
    banks = list(dict.fromkeys(head.bank for head in heads))
    most = max((abs(value) for value in heads.values()), default=0.0) or 1.0
    signed = any(value < 0 for value in heads.values())
    figure = make_subplots(1, len(banks), subplot_titles=[bank.capitalize() for bank in banks], horizontal_spacing=0.05)
    for place, bank in enumerate(banks, 1):
        own = {head: value for head, value in heads.items() if head.bank == bank}
        layers, columns = (1 + max(getattr(head, part) for head in own) for part in ("layer", "head"))
        rows = [[own.get(HeadId(bank, layer, head)) for head in range(columns)] for layer in range(layers)]
        steps = IMPORTANCE[THEME]
        ramp = [[number / (len(steps) - 1), colour] for number, colour in enumerate(steps)]
        heatmap = go.Heatmap(
            z=rows,
            zmin=-most if signed else 0,
            zmax=most,
            colorscale=[list(step) for step in SIGNED] if signed else ramp,
            showscale=place == len(banks),
            xgap=2,
            ygap=2,
            hovertemplate=f"{bank}.%{{y}}.%{{x}}: %{{z:.4g}}<extra></extra>",
        )
        figure.add_trace(heatmap, 1, place)
    n_layers = 1 + max(head.layer for head in heads)
    base_layout(figure, THEME, 120 + 34 * n_layers)
    figure.update_layout(margin={"t": 30})
    figure.update_xaxes(title="Head", dtick=1, showgrid=False)
    figure.update_yaxes(dtick=1, showgrid=False, autorange="reversed")
    figure.update_yaxes(title="Layer", col=1)
    return figure


def _importance(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, points
    scores: dict[str, float] = result["scores"]
    best = max(scores, key=scores.__getitem__)
    third = max(1, len(scores) // 3)
    carried = share_of_the_first({HeadId.parse(head): score for head, score in scores.items()}, third)
    uneven = f"; a third of the heads carry {share_text(carried)}" if min(scores.values()) >= 0 else ""
    return [Drawn(f"{best} has the highest score of {len(scores)} heads{uneven}", heads_figure(scores))]


def _ablations(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, points
    differences = {one["head"]: one["difference"] for one in result["alone"]}
    curves = [Curve(f"{bank.capitalize()} heads", curve["points"]) for bank, curve in result["banks"].items()]
    changed = sum(one["significant"] for one in result["alone"])
    alone = f"{changed} of {len(differences)} heads change the {result['metric']} significantly when removed alone"
    spare = {bank: spared(curve["points"]) for bank, curve in result["banks"].items()}
    banks = ", ".join(f"{n} {bank}" for bank, n in spare.items())
    each = f"{banks} heads go before it is significantly worse, each bank alone"
    return [
        Drawn(alone, heads_figure(differences)),
        Drawn(each, pruning_chart(Chart(curves), THEME)),
    ]


def _learn(run: Run, result: Result, points: Points) -> list[Drawn]:
    movie = Movie.of([HeadId.parse(head) for head in result["gates"]], points)
    last = len(movie.steps) - 1
    phases = {name: PHASES[name] for name in ("gates", TUNING)}
    full = result["report"]["development"]["before"]
    after = result["report"]["development"]["after"]
    title = f"{_becomes(full, after)} with {result['removed']} heads gone, {_sample(after, 'development')}"
    drawn = [Drawn(title, training_chart(points, phases, full, THEME))]
    if last < 0:
        return drawn
    total = max(run.spec["n_steps"], movie.steps[-1])
    return [
        Drawn(movie_title(movie, last), movie_figure(movie, total, last, THEME)),
        Drawn(_open_gates(movie, last), bank_figure(movie, last, THEME)),
        *drawn,
    ]


def _finetune(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, points
    told = [{"phase": TUNING, **point} for point in result["history"]]
    figure = training_chart(told, {TUNING: PHASES[TUNING]}, result["report"]["unpruned"], THEME)
    title = f"Training moves {_becomes(result['report']['pruned'], result['report']['tuned'])}"
    return [Drawn(f"{title}, {_sample(result['report']['tuned'], result['report']['split'])}", figure)]


def _fiak(run: Run, result: Result, points: Points) -> list[Drawn]:
    told = [point["histograms"] for point in points if point.get("histograms")]
    named = {**result, "name": escape(run.title, quote=False)}
    dense, tuned = (result["measured"][stage]["test"] for stage in ("dense", "tuned"))
    highest = max(result["heads"], key=result["heads"].__getitem__)
    return [
        Drawn(f"{_becomes(dense, tuned)} in the end, {_sample(tuned, 'test')}", stages_figure([named], THEME)),
        *([Drawn("How the priors spread", histogram_figure(told[-1], THEME))] if told else []),
        Drawn(f"{highest} has the highest mean prior of {len(result['heads'])} heads", heads_figure(result["heads"])),
    ]


def _dynamics(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, points
    moments = [Moment.from_json({**one, "name": escape(one["name"], quote=False)}) for one in result["moments"]]
    if not moments:
        return []
    return [
        Drawn(dynamics_title(moments), curves_figure(moments, THEME)),
        Drawn("How many heads could go, over training", prunable_figure(moments, THEME)),
        Drawn("How good the model is with all its heads", metric_figure(moments, THEME)),
    ]


def _roles(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, points
    counts = {result["about"][key]["title"]: n for key, n in result["counts"].items() if n and key in result["about"]}
    if not counts:
        return []
    figure = go.Figure(go.Bar(x=list(counts.values()), y=list(counts), orientation="h"))
    figure.update_traces(marker={"color": SERIES[THEME][0]}, hovertemplate="%{y}: %{x} heads<extra></extra>")
    base_layout(figure, THEME, 90 + 34 * len(counts))
    figure.update_xaxes(title="Heads with the role")
    figure.update_yaxes(autorange="reversed")
    most = max(counts, key=counts.__getitem__)
    return [Drawn(f"{most} is the most frequent role: {counts[most]} of {len(result['told'])} heads", figure)]


def _speed(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, points
    figure = go.Figure()
    lengths = list(dict.fromkeys(one["length"] for one in result["timings"]))
    for number, length in enumerate(lengths):
        own = [one for one in result["timings"] if one["length"] == length]
        speedups = [one["speedup"] for one in own]
        figure.add_scatter(
            x=[str(one["batch"]) for one in own],
            y=[one["median"] for one in speedups],
            error_y={
                "type": "data",
                "array": [one["high"] - one["median"] for one in speedups],
                "arrayminus": [one["median"] - one["low"] for one in speedups],
            },
            mode="lines+markers",
            name="whole inputs" if length is None else f"{length} tokens",
            line={"color": SERIES[THEME][number % 4], "width": 3},
        )
    base_layout(figure, THEME, 300)
    figure.add_hline(y=1, line={"color": SERIES[THEME][-1], "width": 1, "dash": "dot"})
    figure.update_xaxes(title="Batch size", type="category", showgrid=False)
    figure.update_yaxes(title="Times as fast as the dense model")
    best = max(result["timings"], key=lambda one: float(one["speedup"]["median"]))
    fastest = f"At best {best['speedup']['median']:.2f} times as fast, at batch {best['batch']}"
    return [Drawn(f"{fastest}; median and spread of turns", figure)]


def _budget(run: Run, result: Result, points: Points) -> list[Drawn]:
    del run, result
    told = {one["point"]["removed"]: (one["point"], one["fits"]) for one in points if one.get("point")}
    if not told:
        return []
    tried = [told[removed] for removed in sorted(told)]
    metric = tried[0][0]["metric"]
    figure = go.Figure()
    for fits, name, symbol in ((True, "keeps the budget", "circle"), (False, "breaks it", "x")):
        own = [point for point, kept in tried if kept is fits]
        figure.add_scatter(
            x=[point["removed"] for point in own],
            y=[point["value"] * scale(metric) for point in own],
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 10, "color": SERIES[THEME][0 if fits else 2]},
        )
    base_layout(figure, THEME, 300)
    figure.update_xaxes(title="Heads removed", showgrid=False)
    figure.update_yaxes(title=metric.capitalize(), gridcolor=VARIABLES[THEME]["line"])
    fitting = [point["removed"] for point, kept in tried if kept]
    title = f"{max(fitting)} heads can go within the budget" if fitting else "Nothing that was tried keeps the budget"
    return [Drawn(f"{title}, {len(tried)} masks tried", figure)]


def _becomes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    name = after["metric"]
    return f"{name} {metric_text(name, before['value'])} to {metric_text(name, after['value'])}"


def _sample(estimate: Mapping[str, Any], split: str) -> str:
    return f"{split}, {estimate['n']} examples"


def _open_gates(movie: Movie, frame: int) -> str:
    banks: dict[str, int] = {}
    for head in movie.heads:
        banks[head.bank] = banks.get(head.bank, 0) + 1
    left = movie.n_kept(frame)
    return ", ".join(f"{left[bank]} of {n} {bank} gates" for bank, n in banks.items()) + " are open in the end"


DRAWN: dict[str, Callable[[Run, Result, Points], list[Drawn]]] = {
    "ablations": _ablations,
    "budget": _budget,
    "dynamics": _dynamics,
    "fiak": _fiak,
    "finetune": _finetune,
    "importance": _importance,
    "learn": _learn,
    "roles": _roles,
    "speed": _speed,
}
