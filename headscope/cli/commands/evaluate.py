"""How good a model is, with or without some of its heads."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from headscope.cli.arguments import SPELT, device_arguments, loaded, mask_of, model_argument, task_arguments, task_of
from headscope.cli.command import Answer, Command, register


@register
class Evaluate(Command):
    """Every metric of a task with its interval; --json gives the first."""

    name = "evaluate"
    about = "print the metric of a model, whole or masked"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, a task, and what is switched off."""
        model_argument(parser)
        device_arguments(parser)
        task_arguments(parser, split="development")
        parser.add_argument("--mask", default="", help=f"heads to switch off: {SPELT}")
        parser.add_argument("--n", type=int, default=None, help="only the first N examples")

    def run(self, options: Namespace) -> Answer:
        """Judges the model with its gates set."""
        from headscope.models.gating import gated

        head_model = loaded(options)
        judge = task_of(options, head_model)
        mask = mask_of(options.mask, head_model)
        started = time.perf_counter()
        with gated(head_model, mask.as_gates(head_model.device)):
            estimates = judge.estimates(judge.outcomes(head_model, options.split, options.n))
        seconds = time.perf_counter() - started
        first = estimates[0]
        record = {"metric": first.metric, "value": first.value, "low": first.low, "high": first.high}
        lines = [f"{head_model.name}, {len(mask)} heads masked: {judge.title}, {options.split}, {seconds:.1f} s"]
        lines += [
            f"  {one.metric} {one.value:.4g}, 95 % {one.low:.4g} to {one.high:.4g} ({one.method}), n = {one.n}"
            for one in estimates
        ]
        lines += [f"  {metric.about}" for metric in judge.metrics if metric.about]
        return record | {"n": first.n, "split": options.split, "seconds": seconds}, "\n".join(lines)
