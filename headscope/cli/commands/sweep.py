"""The pruning curve of a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.arguments import judged_by, model_argument, seed, task_arguments
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished

SETTINGS = ("at_least", "scope", "seed", "first")
SHOWN = ("removed", "value", "low", "high", "loss", "parameters")
COLUMNS = ("series", *SHOWN, "flops", "p", "worse", "mask")


@register
class SweepCommand(Command):
    """A run that the app shows as well: the curve of a strategy, and random orders beside it."""

    name = "sweep"
    about = "remove more and more heads of a model and judge what is left"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, how heads are chosen, and what the model is judged by."""
        model_argument(parser)
        strategy_arguments(parser)
        parser.add_argument("--step", type=float, default=0.05, help="share of heads between two points; 0: one head")
        parser.add_argument("--seeds", type=int, default=5, help="random orders beside it (default: 5)")
        task_arguments(parser, split="development")
        parser.add_argument("--n", type=int, default=None, help="only the first N examples")
        parser.add_argument("--csv", action="store_true", help="print a table to be read by other programs")

    def run(self, options: Namespace) -> Answer:
        """Sweeps, or finds the sweep."""
        from headscope.runs.kinds.sweep import SweepRun
        from headscope.runs.store import Store

        kind = SweepRun(
            options.model,
            **strategy_fields(options),
            step=options.step,
            seeds=options.seeds,
            n=options.n,
            **judged_by(options),
        )
        run = finished(Store(), kind)
        found: dict[str, Any] = run.result or {}
        record = {
            "order": found["order"],
            "points": [_shown(point) for point in found["points"]],
            "random": [[_shown(point) for point in points] for points in found["random"]],
        }
        return record, _as_csv(found) if options.csv else _as_table(found, run.id)


def strategy_arguments(parser: ArgumentParser) -> None:
    """How heads are chosen."""
    strategies = "score, iterative, greedy, lazy-greedy, fisher, role, random or reverse"
    parser.add_argument("--strategy", default="score", help=f"{strategies} (default: score)")
    parser.add_argument("--method", default="gradient", help="whose scores a strategy takes (default: gradient)")
    parser.add_argument("--option", nargs="+", default=[], metavar="NAME=VALUE", help="options of the method")
    parser.add_argument("--scope", help="global, layer or bank: within what heads compete")
    parser.add_argument("--at-least", type=int, metavar="N", help="heads that every layer keeps")
    parser.add_argument("--seed", type=seed, help="of the strategy random")
    parser.add_argument("--first", metavar="ROLES", help="of the strategy role: roles that go first")
    parser.add_argument("--banks", default="", help="only heads of these banks go, such as encoder; by default all")
    parser.add_argument("--n-scoring", type=int, default=128, help="calibration examples for scores (default: 128)")


def strategy_fields(options: Namespace) -> dict[str, Any]:
    """The fields of a run that say how heads are chosen."""
    from headscope.analysis.importance.method import method_of
    from headscope.analysis.importance.options import read_options

    named = {name: getattr(options, name) for name in SETTINGS}
    return {
        "strategy": options.strategy,
        "method": options.method,
        "options": read_options(method_of(options.method), options.option),
        "settings": {name: value for name, value in named.items() if value is not None},
        "banks": options.banks,
        "n_scoring": options.n_scoring,
    }


def _shown(point: dict[str, Any]) -> dict[str, Any]:
    return {name: point[name] for name in SHOWN}


def _as_csv(found: dict[str, Any]) -> str:
    series = [found["points"], *found["random"]]
    rows = [",".join(_cell(point[name]) for name in COLUMNS) for points in series for point in points]
    return "\n".join([",".join(COLUMNS), *rows])


def _cell(value: Any) -> str:
    return "" if value is None else str(value) if isinstance(value, str) else repr(value)


def _as_table(found: dict[str, Any], run_id: str) -> str:
    metric = found["metric"]
    lines = [
        f"{found['task']}, {found['split']}, {found['n']} examples, run {run_id}",
        f"{'removed':>8}  {metric:>10}  {'95 %':^19}  {'loss':>8}  {'parameters':>10}  {'p':>6}  random orders",
    ]
    for place, point in enumerate(found["points"]):
        p = "" if point["p"] is None else f"{point['p']:.3f}"
        interval = f"{point['low']:.4g} to {point['high']:.4g}"
        lines.append(
            f"{point['removed']:>8}  {point['value']:>10.4g}  {interval:^19}  {point['loss']:>8.4g}  "
            f"{point['parameters']:>10}  {p:>6}  {_band(found['random'], place)}".rstrip()
        )
    return "\n".join([*lines, _verdict(found)])


def _band(random: list[list[dict[str, Any]]], place: int) -> str:
    """The mean of the random orders at this point, and the lowest and the highest."""
    values = [points[place - 1]["value"] for points in random] if place else []
    return f"{sum(values) / len(values):.4g} ({min(values):.4g} to {max(values):.4g})" if values else ""


def _verdict(found: dict[str, Any]) -> str:
    worse, last = found["first_worse"], found["points"][-1]
    if worse is None:
        return f"no point, up to {last['removed']} heads removed, is significantly worse than the unpruned model"
    test = worse.get("test") or "paired"
    return (
        f"the first point that is significantly worse than the unpruned model ({test}, p < 0.01): "
        f"{worse['removed']} heads removed, {found['metric']} {worse['value']:.4g}"
    )
