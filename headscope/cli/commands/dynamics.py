"""How heads come to matter over the checkpoints of a training."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from headscope.cli.arguments import judged_by, model_argument
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished

if TYPE_CHECKING:
    from headscope.pruning.search.dynamics import Moment

QUALITIES = (0.95, 0.9, 0.85)


@register
class Dynamics(Command):
    """A run that the app shows as well; a specimen without checkpoints tells its own history."""

    name = "dynamics"
    about = "how importance and prunability grow over the checkpoints of a training"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, checkpoints in the order of the training, and what they are judged by."""
        model_argument(parser)
        parser.add_argument(
            "checkpoints", nargs="*", metavar="CHECKPOINT", help="folders or hub ids, in order; none: its own history"
        )
        parser.add_argument("--method", default="gradient", help="whose scores order the heads (default: gradient)")
        parser.add_argument("--n", type=int, default=128, help="examples for scores and for curves (default: 128)")
        parser.add_argument(
            "--task", default="", help="one that `headscope tasks` lists; by default what fits the model"
        )
        parser.add_argument("--data", "--text", default="", metavar="FILE", help="your own data, as for evaluate")
        parser.add_argument(
            "--columns", nargs="+", default=[], metavar="ROLE=NAME", help="text=, pair=, label=, target="
        )
        parser.set_defaults(split="development")  # scores are of calibration, curves of development
        parser.add_argument("--csv", action="store_true", help="print the score of every head as a table")

    def run(self, options: Namespace) -> Answer:
        """Judges the checkpoints, or finds what was judged."""
        moments = _judged(options) if options.checkpoints else _own(options.model)
        record = {"moments": [moment.to_json() for moment in moments]}
        return record, _as_csv(moments) if options.csv else _as_text(moments)


def _judged(options: Namespace) -> list[Moment]:
    from headscope.pruning.search.dynamics import Moment
    from headscope.runs.kinds.dynamics import DynamicsRun
    from headscope.runs.store import Store

    judged = {name: value for name, value in judged_by(options).items() if name != "split"}
    kind = DynamicsRun(options.model, options.checkpoints, options.method, options.n, **judged)
    found: dict[str, Any] = finished(Store(), kind).result or {}
    return [Moment.from_json(moment) for moment in found["moments"]]


def _own(model: str) -> list[Moment]:
    """The history that a specimen came with."""
    from headscope.models.loading.known_models import specimen_folder, specimen_names
    from headscope.pruning.search.dynamics import read_history

    if model not in specimen_names():
        raise ValueError(f"{model} came without a history; name the checkpoints of its training after it")
    return read_history(specimen_folder(model) / "history.json")


def _as_csv(moments: list[Moment]) -> str:
    rows = [f"{moment.name},{head},{score!r}" for moment in moments for head, score in moment.scores.items()]
    return "\n".join(["checkpoint,head,score", *rows])


def _as_text(moments: list[Moment]) -> str:
    """A line a checkpoint: the metric with all heads, and how many heads can go."""
    names = [f"{100 * quality:.0f} % left" for quality in QUALITIES]
    lines = [f"share of heads that can go with so much of the {moments[-1].metric} left, lowest scores first"]
    lines.append(f"{'checkpoint':<24}{moments[-1].metric:>14}" + "".join(f"{name:>12}" for name in names))
    for moment in moments:
        shares = "".join(f"{100 * moment.prunable(quality):>10.0f} %" for quality in QUALITIES)
        lines.append(f"{moment.name[:23]:<24}{moment.curve[0]:>14.4g}{shares}")
    return "\n".join(lines)
