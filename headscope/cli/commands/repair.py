"""A smaller model brought back: rescaled without training, or trained briefly."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.arguments import SPELT, addresses, judged_by, model_argument
from headscope.cli.command import Answer, Command, register
from headscope.cli.commands.learn import defaults_of, read_pairs
from headscope.cli.finished_run import finished

STAGES = {"unpruned": "unpruned", "pruned": "without the heads", "rescaled": "rescaled", "tuned": "trained again"}
RECORDED = ("task", "metric", "higher_is_better", "parameters", "parameters_dense", "steps", "best_step", "report")


@register
class Repair(Command):
    """A run that the app shows as well; without any step of training the heads that stay are only rescaled."""

    name = "repair"
    about = "bring a smaller model back, without training or with some"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, the heads that are gone, how it begins and for how long it is trained."""
        model_argument(parser)
        parser.add_argument("--mask", required=True, help=f"heads to remove: {SPELT}")
        parser.add_argument("--steps", type=int, default=0, help="training steps (default: 0, only rescaled)")
        parser.add_argument("--start", default="rescaled", help="rescaled, plain or scratch (default: rescaled)")
        parser.add_argument(
            "--training",
            nargs="+",
            default=[],
            metavar="NAME=VALUE",
            help="rate, batch, every, patience, n_judged, keep_step",
        )
        parser.add_argument(
            "--task", default="", help="one that `headscope tasks` lists; by default what fits the model"
        )
        parser.add_argument("--data", "--text", default="", metavar="FILE", help="your own data, as for evaluate")
        parser.add_argument(
            "--columns", nargs="+", default=[], metavar="ROLE=NAME", help="text=, pair=, label=, target="
        )
        parser.set_defaults(split="test")  # it learns from training examples and is reported on test

    def run(self, options: Namespace) -> Answer:
        """Repairs, or finds what was repaired."""
        from headscope.pruning.training.settings import RepairSettings
        from headscope.runs.kinds.finetune import FinetuneRun
        from headscope.runs.store import Store

        training = {"steps": options.steps, **read_pairs(options.training, defaults_of(RepairSettings))}
        RepairSettings(**training)  # bad settings are told before anything is loaded
        judged = {name: value for name, value in judged_by(options).items() if name != "split"}
        kind = FinetuneRun(
            options.model, addresses(options.mask), **judged, start=options.start, training=training
        )  # fmt: skip
        run = finished(Store(), kind)
        found: dict[str, Any] = run.result or {}
        record = {name: found[name] for name in RECORDED} | {"folder": str(run.folder / found["folder"])}
        return record, _as_text(record, run.id)


def _as_text(record: dict[str, Any], run_id: str) -> str:
    """The metric on test at every stage, what the repair gave, and where the model is."""
    report = record["report"]
    shown = {
        stage: title for stage, title in STAGES.items() if stage in report and (stage != "tuned" or record["steps"])
    }
    lines = [f"{record['task']}, test, {report['unpruned']['n']} examples, run {run_id}"]
    for stage, title in shown.items():
        one = report[stage]
        lines.append(f"  {title:<18} {record['metric']} {one['value']:.4g}, 95 % {one['low']:.4g} to {one['high']:.4g}")
    for name, title in (
        ("rescaling", "rescaling gives"),
        ("gain", "in the end"),
        ("loss", "against the unpruned model"),
    ):
        if name in report:
            one = report[name]
            lines.append(f"{title}: {one['difference']:+.4g}, p = {one['p_value']:.3f} ({one['test']})")
    return "\n".join([*lines, f"written to {record['folder']}"])
