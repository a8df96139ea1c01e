"""Ways to choose the heads that stay, side by side."""

from __future__ import annotations

import statistics
from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.arguments import judged_by, model_argument, seed
from headscope.cli.command import Answer, Command, register
from headscope.cli.commands.learn import defaults_of, read_pairs
from headscope.cli.finished_run import finished


@register
class Compare(Command):
    """A run that the app shows as well: gates, gradient order and chance at equal numbers of heads."""

    name = "compare"
    about = "compare ways to choose the heads that stay, at equal numbers of them"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, how many heads stay, which ways, and how long they train."""
        model_argument(parser)
        parser.add_argument("--keep", type=int, nargs="+", required=True, metavar="N", help="heads that stay")
        parser.add_argument(
            "--ways", nargs="+", default=["dsp", "l0", "gradient", "random"], metavar="WAY",
            help="dsp, dsp-frozen, l0, gradient, random, scratch (default: dsp l0 gradient random)",
        )  # fmt: skip
        parser.add_argument("--seeds", type=seed, nargs="+", default=[0, 1, 2], metavar="N", help="(default: 0 1 2)")
        parser.add_argument("--steps", type=int, default=400, help="steps of gates (default: 400)")
        parser.add_argument("--finetune", type=int, default=100, help="steps after the heads are gone (default: 100)")
        parser.add_argument("--scratch", type=int, default=2000, help="steps of new weights (default: 2000)")
        parser.add_argument("--training", nargs="+", default=[], metavar="NAME=VALUE", help="rate, batch, every, …")
        parser.add_argument(
            "--subset",
            nargs="+",
            default=[],
            metavar="NAME=VALUE",
            help="settings of subset gates: hot, cold, cool, rate",
        )
        parser.add_argument("--n", type=int, default=256, help="examples for gradient scores (default: 256)")
        parser.add_argument(
            "--task", default="", help="one that `headscope tasks` lists; by default what fits the model"
        )
        parser.add_argument("--data", "--text", default="", metavar="FILE", help="your own data, as for evaluate")
        parser.add_argument(
            "--columns", nargs="+", default=[], metavar="ROLE=NAME", help="text=, pair=, label=, target="
        )
        parser.set_defaults(split="test")
        parser.add_argument("--csv", action="store_true", help="print every entry as a table for other programs")

    def run(self, options: Namespace) -> Answer:
        """Compares, or finds what was compared."""
        from headscope.pruning.training.gate_scheme import scheme_of
        from headscope.pruning.training.settings import Settings
        from headscope.runs.kinds.method_comparison import EqualKRun
        from headscope.runs.store import Store

        judged = {name: value for name, value in judged_by(options).items() if name != "split"}
        kind = EqualKRun(
            options.model,
            keeps=options.keep,
            ways=options.ways,
            seeds=options.seeds,
            n_steps=options.steps,
            finetune=options.finetune,
            scratch=options.scratch,
            training=read_pairs(options.training, defaults_of(Settings)),
            subset=read_pairs(options.subset, defaults_of(scheme_of("dsp"))),
            n=options.n,
            **judged,
        )
        kind.contest()  # bad settings are told before anything is loaded
        found: dict[str, Any] = finished(Store(), kind).result or {}
        record = {name: found[name] for name in ("metric", "higher_is_better", "n_heads", "full", "entries")}
        return record, _as_csv(found) if options.csv else _as_text(found, kind.ways, kind.keeps)


def _as_csv(found: dict[str, Any]) -> str:
    lines = ["way,keep,seed,old_weights,trained"]
    for one in found["entries"]:
        old = one["old"]["value"] if one["old"] else ""
        lines.append(f"{one['way']},{one['keep']},{one['seed']},{old},{one['trained']['value']}")
    return "\n".join(lines)


def _as_text(found: dict[str, Any], ways: list[str], keeps: list[int]) -> str:
    """A line a way, a column a number of heads; both regimes apart."""
    from headscope.runs.kinds.method_comparison import WAYS

    full = found["full"]
    about = f"{found['task']}: {found['metric']} on test, mean over seeds (lowest to highest)"
    lines = [f"{about}; with all {found['n_heads']} heads {full['value']:.4g}"]
    for which, title in (("old", "weights as they were"), ("trained", "after training")):
        lines.append(f"{title:<32}" + "".join(f"{f'{keep} stay':^28}" for keep in keeps).rstrip())
        for way in ways:
            cells = [_cell(found, way, keep, which) for keep in keeps]
            if any(cells):
                lines.append(f"{WAYS[way]:<32}" + "".join(f"{cell:^28}" for cell in cells).rstrip())
    return "\n".join(lines)


def _cell(found: dict[str, Any], way: str, keep: int, which: str) -> str:
    own = [one[which] for one in found["entries"] if (one["way"], one["keep"]) == (way, keep)]
    values = [one["value"] for one in own if one is not None]
    return f"{statistics.fmean(values):.4g} ({min(values):.4g} to {max(values):.4g})" if values else ""
