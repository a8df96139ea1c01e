"""How important every head is, by one method."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.arguments import judged_by, model_argument, task_arguments
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished
from headscope.cli.terminal import say


@register
class Importance(Command):
    """The scores of a run that the app shows as well, the highest first."""

    name = "importance"
    about = "score every head of a model by one method"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, a method, and what the model is judged by."""
        model_argument(parser)
        parser.add_argument(
            "--method", default="gradient", help="one that `headscope methods` lists (default: gradient)"
        )
        parser.add_argument("--option", nargs="+", default=[], metavar="NAME=VALUE", help="options of the method")
        task_arguments(parser, split="calibration")
        parser.add_argument("--n", type=int, default=256, help="examples (default: 256)")
        parser.add_argument(
            "--stability", action="store_true", help="also tell how alike two halves of the examples rank the heads"
        )
        parser.add_argument("--csv", action="store_true", help="print a table to be read by other programs")

    def run(self, options: Namespace) -> Answer:
        """Scores the heads, or finds the scores."""
        from headscope.analysis.importance.method import method_of
        from headscope.analysis.importance.options import read_options
        from headscope.runs.kinds.importance import ImportanceRun
        from headscope.runs.store import Store

        read = read_options(method_of(options.method), options.option)
        kind = ImportanceRun(options.model, method=options.method, options=read, n=options.n, **judged_by(options))
        run = finished(Store(), kind)
        found: dict[str, Any] = run.result or {}
        _say_remarks(found)
        record = {name: found[name] for name in ("method", "n", "scores", "errors")}
        text = _as_csv(found) if options.csv else _as_list(found, run.id)
        if options.stability:
            record["stability"] = _stability(found)
            text = _with_stability(text, record["stability"], options)
        return record, text


def _as_csv(found: dict[str, Any]) -> str:
    errors = found["errors"]  # scores that were learned have none
    rows = [f"{head},{score!r},{errors.get(head, '')!s}" for head, score in found["scores"].items()]
    return "\n".join(["head,score,error", *rows])


def _as_list(found: dict[str, Any], run_id: str) -> str:
    ranked = sorted(found["scores"], key=found["scores"].__getitem__, reverse=True)
    lines = [f"{head:>14}  {found['scores'][head]:>12.5g}  {_error(found['errors'].get(head))}" for head in ranked]
    return "\n".join([f"{found['task']}, {found['split']}, {found['n']} examples, run {run_id}", *lines])


def _error(error: float | None) -> str:
    return "–" if error is None else f"± {error:.2g}"


def _say_remarks(found: dict[str, Any]) -> None:
    """What the numbers do not say by themselves."""
    unscored = found.get("unscored", [])
    if unscored:
        say(f"not scored by the run {found['run']}: {' '.join(unscored)}")
    for note in found.get("notes", []):
        say(note)


def _stability(found: dict[str, Any]) -> dict[str, Any]:
    ranks: dict[str, Any] | None = found["stability"]
    if ranks is None:
        raise ValueError(f"the stability of a ranking by {found['n']} examples; at least 2 are needed")
    return ranks


def _with_stability(text: str, ranks: dict[str, Any], options: Namespace) -> str:
    """The text and a sentence, which goes elsewhere where a program reads the text."""
    sentence = (
        f"rank correlation of two halves of the {ranks['n']} examples: {ranks['mean']:.3f}, "
        f"{ranks['low']:.3f} to {ranks['high']:.3f} in 95 % of {ranks['n_splits']} halvings"
    )
    if not options.csv:
        return f"{text}\n{sentence}"
    if not options.json:
        say(sentence)
    return text
