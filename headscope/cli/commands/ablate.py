"""What every head does alone: the tables of the sixteen-heads paper."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from headscope.cli.arguments import judged_by, model_argument
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished

TABLE = ("head", "value", "difference", "low", "high", "p", "significant")


@register
class Ablate(Command):
    """A run that the app shows as well; heads are chosen on development and reported on test."""

    name = "ablate"
    about = "remove every head alone, then all but one of every layer, then bank after bank"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, what it is judged by, and by which scores banks are pruned."""
        model_argument(parser)
        parser.add_argument(
            "--task", default="", help="one that `headscope tasks` lists; by default what fits the model"
        )
        parser.add_argument("--data", "--text", default="", metavar="FILE", help="your own data, as for evaluate")
        parser.add_argument(
            "--columns", nargs="+", default=[], metavar="ROLE=NAME", help="text=, pair=, label=, target="
        )
        parser.set_defaults(split="development")  # heads are chosen there and reported on test
        parser.add_argument("--second", default="", help="a second task; by default the test split of the first")
        parser.add_argument("--n", type=int, default=None, help="only the first N examples of every split")
        parser.add_argument("--method", default="gradient", help="whose scores banks are pruned by (default: gradient)")
        parser.add_argument("--option", nargs="+", default=[], metavar="NAME=VALUE", help="options of the method")
        parser.add_argument("--n-scoring", type=int, default=128, help="calibration examples for scores (default: 128)")
        parser.add_argument("--step", type=float, default=0.1, help="share of a bank's heads between two points")
        parser.add_argument("--seeds", type=int, default=5, help="random orders beside each bank (default: 5)")
        parser.add_argument("--csv", action="store_true", help="print the table of heads removed alone")

    def run(self, options: Namespace) -> Answer:
        """Removes heads, or finds what came of it."""
        from headscope.analysis.importance.method import method_of
        from headscope.analysis.importance.options import read_options
        from headscope.runs.kinds.ablations import AblationsRun
        from headscope.runs.store import Store

        judged = {name: value for name, value in judged_by(options).items() if name != "split"}
        kind = AblationsRun(
            options.model,
            second=options.second,
            n=options.n,
            method=options.method,
            options=read_options(method_of(options.method), options.option),
            seeds=options.seeds,
            n_scoring=options.n_scoring,
            step=options.step,
            **judged,
        )
        run = finished(Store(), kind)
        found: dict[str, Any] = run.result or {}
        names = ("task", "metric", "higher_is_better", "whole", "alone", "layers", "second", "banks")
        text = _as_csv(found) if options.csv else "\n".join(_lines(found, run.id))
        return {name: found[name] for name in names}, text


def _as_csv(found: dict[str, Any]) -> str:
    rows = [",".join(str(row[name]) for name in TABLE) for row in found["alone"]]
    return "\n".join([",".join(TABLE), *rows])


def _lines(found: dict[str, Any], run_id: str) -> Iterator[str]:
    whole, metric = found["whole"], found["metric"]
    n = whole["development"]["n"]
    yield f"{found['task']}, development, {n} examples, {metric} {whole['development']['value']:.4g}, run {run_id}"
    marked = [row for row in found["alone"] if row["significant"]]
    better = [row for row in marked if (row["difference"] > 0) == found["higher_is_better"]]
    yield ""
    yield (
        f"heads removed alone: {len(marked)} of {len(found['alone'])} change {metric} significantly "
        f"({found['alone'][0].get('test') or 'paired'}, p < 0.01), {len(better)} of them for the better"
    )
    yield from (_row(row) for row in sorted(found["alone"], key=lambda row: abs(row["difference"]), reverse=True)[:10])
    yield ""
    yield f"every layer reduced to its best head, chosen on development, on test ({whole['test']['n']} examples):"
    yield from (_row(row["test"]) for row in found["layers"])
    yield ""
    yield from _second(found)
    yield ""
    yield "each bank pruned alone:"
    for bank, curve in found["banks"].items():
        yield f"{bank:>14}  {_curve(curve, metric)}"


def _row(row: dict[str, Any]) -> str:
    mark = "*" if row["significant"] else ""
    interval = f"95 % {row['low']:.4g} to {row['high']:.4g}"
    return f"{row['head']:>14}  {row['difference']:>+9.4g}  {interval}, p {row['p']:.3f}{mark}"


def _second(found: dict[str, Any]) -> Iterator[str]:
    second, whole = found["second"], found["whole"]["second"]
    correlation = "none, for one of them does not change" if second["pearson"] is None else f"{second['pearson']:.2f}"
    yield (
        f"the same on {second['task']}, {second['split']} ({whole['n']} examples, "
        f"{whole['metric']} {whole['value']:.4g}): correlation over heads {correlation}, "
        f"of ranks {second['spearman']:.2f}"
    )


def _curve(curve: dict[str, Any], metric: str) -> str:
    worse, last = curve["first_worse"], curve["points"][-1]
    end = f"without any of its {last['removed']} heads {metric} {last['value']:.4g}"
    if worse is None:
        return f"never significantly worse; {end}"
    return f"significantly worse from {worse['removed']} heads on ({metric} {worse['value']:.4g}); {end}"
