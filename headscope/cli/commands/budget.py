"""Which heads can go for a budget."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.arguments import judged_by, model_argument, task_arguments
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished


@register
class Budget(Command):
    """Removes heads in the order of their importance until every budget is kept, and tells what that costs."""

    name = "budget"
    about = "find the heads that can go for a budget"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, what is asked of it, how heads are ordered, and what the model is judged by."""
        model_argument(parser)
        parser.add_argument(
            "--keep",
            nargs="+",
            required=True,
            metavar="BUDGET",
            help="such as 'accuracy within 1 point'; see docs/cli.md",
        )
        parser.add_argument(
            "--method", default="gradient", help="one that `headscope methods` lists (default: gradient)"
        )
        parser.add_argument("--option", nargs="+", default=[], metavar="NAME=VALUE", help="options of the method")
        parser.add_argument("--banks", default="", help="only heads of these banks go, for example encoder")
        task_arguments(parser, split="development")
        parser.add_argument("--n", type=int, default=None, help="only the first N examples")

    def run(self, options: Namespace) -> Answer:
        """Searches, or finds what was found."""
        from headscope.analysis.importance.method import method_of
        from headscope.analysis.importance.options import read_options
        from headscope.pruning.search.budgets import parse_budgets
        from headscope.runs.kinds.budget import BudgetRun
        from headscope.runs.store import Store

        kind = BudgetRun(
            options.model,
            budgets=[str(budget) for budget in parse_budgets(options.keep)],
            method=options.method,
            options=read_options(method_of(options.method), options.option),
            banks=options.banks,
            n=options.n,
            **judged_by(options),
        )
        found: dict[str, Any] = finished(Store(), kind).result or {}
        return {name: value for name, value in found.items() if name != "skipped"}, _as_text(found)


def _as_text(found: dict[str, Any]) -> str:
    dense, smaller = found["cost"]["dense"], found["cost"]["smaller"]
    lines = [found["sentence"]]
    lines += [_quality(found["split"], found["unpruned"], found["point"])]
    lines += [_quality("test", found["test"]["unpruned"], found["test"]["point"])]
    lines += [
        f"  {name.replace('_', ' '):<20} {dense[name]:>14,} before, {smaller[name]:>14,} after "
        f"({100 * smaller[name] / dense[name]:.1f} %)"
        for name in dense
        if dense[name]
    ]
    for one in found["timings"]:
        speedup = one["speedup"]
        lines.append(
            f"  {'speed':<20} {speedup['median']:.2f} times ({speedup['low']:.2f} to {speedup['high']:.2f}) at batch "
            f"{one['batch']}, operations predict {one['predicted']:.2f}"
        )
    return "\n".join([*lines, f"mask: {found['mask'] or 'no head'}"])


def _quality(split: str, unpruned: dict[str, Any], point: dict[str, Any]) -> str:
    return (
        f"  {split:<20} {point['metric']} {point['value']:.4g}, 95 % {point['low']:.4g} to {point['high']:.4g}, "
        f"unpruned {unpruned['value']:.4g} (n = {point['n']})"
    )
