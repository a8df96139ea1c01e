"""A mask that is learned, and the smaller model that comes of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from headscope.cli.arguments import judged_by, model_argument, seed
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished
from headscope.cli.terminal import say
from headscope.models.text import shown

RECORDED = ("scheme", "mask", "removed", "gates", "scores", "price", "parameters", "parameters_dense", "report")
NAMES = {
    "before": "as it was",
    "mask_alone": "old weights, masked",
    "masked": "learned weights, masked",
    "after": "smaller, in the end",
}


@register
class Learn(Command):
    """A run that the app shows as well: gates are trained, heads removed, the smaller model fine-tuned."""

    name = "learn"
    about = "learn which heads to keep, and write the smaller model"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, its gates, how they are trained, and what the model is judged by."""
        model_argument(parser)
        parser.add_argument("--gates", default="l0", help="l0, layerwise, dsp or dsp-ste (default: l0)")
        parser.add_argument("--keep", type=int, default=0, metavar="N", help="heads that shall stay: l0, dsp, dsp-ste")
        parser.add_argument("--setting", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the gates")
        parser.add_argument("--banks", default="", help="only heads of these banks have gates; by default all")
        parser.add_argument("--weights", default="trained", help="trained along, or frozen (default: trained)")
        parser.add_argument("--steps", type=int, default=400, help="steps of the gates (default: 400)")
        parser.add_argument("--finetune", type=int, default=100, help="steps after the heads are gone (default: 100)")
        parser.add_argument("--n", type=int, default=None, help="report on the first N examples of each split alone")
        parser.add_argument("--seed", type=seed, default=0, help="another seed is another run (default: 0)")
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
        parser.set_defaults(split="development")  # gates are trained on calibration and reported on the others
        parser.add_argument("--csv", action="store_true", help="print the gates as a table for other programs")

    def run(self, options: Namespace) -> Answer:
        """Learns, or finds what was learned."""
        from headscope.pruning.training.gate_scheme import scheme_of
        from headscope.pruning.training.settings import Settings
        from headscope.runs.kinds.learn import LearnRun
        from headscope.runs.store import Store

        judged = {name: value for name, value in judged_by(options).items() if name != "split"}
        keep = {"keep": options.keep} if options.keep else {}
        kind = LearnRun(
            options.model,
            gates=options.gates,
            settings=keep | read_pairs(options.setting, defaults_of(scheme_of(options.gates))),
            banks=options.banks,
            weights=options.weights,
            n_steps=options.steps,
            finetune=options.finetune,
            seed=options.seed,
            n=options.n,
            training=read_pairs(options.training, defaults_of(Settings)),
            **judged,
        )
        caution = kind.plan().scheme.caution(options.steps)  # bad settings are told before anything is loaded
        if caution:
            say(caution)
        run = finished(Store(), kind)
        found: dict[str, Any] = run.result or {}
        record = {name: found[name] for name in RECORDED} | {"folder": str(run.folder / found["folder"])}
        return record, _as_csv(found) if options.csv else _as_text(record, found, run.id)


def defaults_of(declared: type[Any]) -> dict[str, Any]:
    """What the fields of a declaration are where nothing is said."""
    from dataclasses import fields

    return {one.name: one.default for one in fields(declared)}


def read_pairs(pairs: Iterable[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`name=value` pairs, each value of the type of its default."""
    read = {}
    for name, _, text in (pair.partition("=") for pair in pairs):
        if name not in defaults:
            raise ValueError(f"no setting {shown(name)!r}; there are: {', '.join(defaults)}")
        try:
            read[name] = type(defaults[name])(text)
        except ValueError as error:
            raise ValueError(f"{name}={text}; a value such as {defaults[name]} is needed") from error
    return read


def _as_csv(found: dict[str, Any]) -> str:
    gone = set(found["mask"].split())
    rows = [
        f"{head},{gate!r},{found['scores'][head]!r},{int(head not in gone)}" for head, gate in found["gates"].items()
    ]
    return "\n".join(["head,gate,score,kept", *rows])


def _as_text(record: dict[str, Any], found: dict[str, Any], run_id: str) -> str:
    """How many heads went, what that did to the metric on both splits, and which heads stay."""
    saved = 1 - found["parameters"] / found["parameters_dense"]
    gone = set(found["mask"].split())
    lines = [
        f"{found['task']}, run {run_id}: {found['removed']} heads removed of {len(found['gates'])} with gates, "
        f"{100 * saved:.1f} % of the parameters",
        f"{found['metric']:<26}{'development':^32}{'test':^32}",
    ]
    for name, title in NAMES.items():
        cells = [_estimate(found["report"][split][name]) for split in ("development", "test")]
        lines.append(f"{title:<26}{cells[0]:^32}{cells[1]:^32}".rstrip())
    change = found["report"]["test"]["change"]
    lines.append(f"in the end against as it was, on test: {change['difference']:+.4g}, p = {change['p_value']:.3f}")
    lines.append(f"price of an open gate: {found['price']:.4g}" if found["price"] else "")
    lines.append("heads that stay: " + (" ".join(head for head in found["gates"] if head not in gone) or "none"))
    lines.append(f"written to {record['folder']}")
    return "\n".join(line for line in lines if line)


def _estimate(estimate: dict[str, Any]) -> str:
    return f"{estimate['value']:.4g} ({estimate['low']:.4g} to {estimate['high']:.4g})"
