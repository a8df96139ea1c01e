"""FiAK: attention scores and keys pruned by learned priors."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.arguments import judged_by, model_argument, seed, task_arguments
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished

SCORES = 0.7
STAGES = {
    "dense": "as it was",
    "heads": "without heads",
    "priors": "with priors",
    "pruned": "pruned",
    "tuned": "fine-tuned",
}


@register
class Fiak(Command):
    """Trains priors with a model, prunes by them, fine-tunes the rest; a run that the app shows as well."""

    name = "fiak"
    about = "prune attention scores and keys by learned priors"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, what goes, and how long both trainings are."""
        model_argument(parser)
        parser.add_argument(
            "--scores", type=float, default=None, help=f"fraction of scores to prune (default: {SCORES}, 0 with key)"
        )
        parser.add_argument("--keys", type=float, default=0.0, help="fraction of keys to prune (default: 0)")
        parser.add_argument("--prior", default="pair", help="pair: one for query and key; key: one for every key")
        parser.add_argument("--shared", default="head", help="head: every head loses keys of its own; layer: the same")
        parser.add_argument("--by", default="prior", help="prior, or random for the control")
        parser.add_argument("--among", default="layer", help="layer: rank all its scores; query: those of each query")
        parser.add_argument("--form", default="dot", help="dot, or distance for models that are trained so")
        parser.add_argument("--start", default="trained", help="trained, or scratch: weights drawn anew, by the seed")
        parser.add_argument("--mask", default="", help='heads to remove before, such as "encoder.0.3 encoder.4.1"')
        parser.add_argument(
            "--steps", type=int, nargs="+", default=[200], metavar="N", help="of priors and fine-tuning"
        )
        parser.add_argument("--rate", type=float, default=2e-4, help="learning rate (default: 2e-4)")
        parser.add_argument("--batch", type=int, default=16, help="examples a step (default: 16)")
        parser.add_argument("--keep-step", default="best", help="weights to keep: best on development, or last")
        parser.add_argument("--length", type=int, default=None, help="tokens of the longest input")
        parser.add_argument("--seed", type=seed, default=0, help="of the order of the data (default: 0)")
        parser.add_argument("--n", type=int, default=None, help="report on the first N examples only")
        task_arguments(parser, split="test")

    def run(self, options: Namespace) -> Answer:
        """Runs it, or finds what was run."""
        from headscope.models.heads import HeadId
        from headscope.runs.kinds.fiak import FiakRun, in_order
        from headscope.runs.store import Store

        named = (
            *("keys", "prior", "shared", "by", "among", "form", "start", "rate", "batch", "seed", "keep_step"),
            *("length", "n"),
        )
        judged = {name: value for name, value in judged_by(options).items() if name != "split"}
        if options.split not in ("development", "test"):
            raise ValueError(f"split {options.split!r}; allowed are development and test")
        run = finished(
            Store(),
            FiakRun(
                options.model,
                scores=_scores(options),
                mask=in_order(HeadId.parse(word) for word in options.mask.replace(",", " ").split()),
                steps_priors=options.steps[0],
                steps_tuning=options.steps[-1],
                **{name: getattr(options, name) for name in named},
                **judged,
            ),
        )
        found: dict[str, Any] = run.result or {}
        folders = {"folder": str(run.folder / found["folder"]), "priors": str(run.folder / found["priors"])}
        return {"run": run.id, **found, **folders}, _as_text(found | folders, options.split, run.id)


def _scores(options: Namespace) -> float:
    """The fraction asked for; priors of keys prune no scores."""
    default = 0.0 if options.prior == "key" else SCORES
    return default if options.scores is None else float(options.scores)


def _as_text(found: dict[str, Any], split: str, run_id: str) -> str:
    lines = [f"{found['task']}, {split}, run {run_id}"]
    for stage, measured in found["measured"].items():
        one = measured[split]
        value, interval = f"{one['metric']} {one['value']:.4g}", f"95 % {one['low']:.4g} to {one['high']:.4g}"
        lines.append(f"  {STAGES[stage]:13} {value}, {interval}, n = {one['n']}")
    change, saved = found["change"][split], found["savings"]
    lines += [
        f"  fine-tuned against as it was: {change['difference']:+.4g}, 95 % {change['low']:+.4g} to "
        f"{change['high']:+.4g}, p = {change['p_value']:.3g} ({change['test']})",
        f"  {saved['scores_kept']:,} of {saved['scores']:,} scores and "
        f"{saved['keys_kept']:,} of {saved['keys']:,} keys are left",
        f"  operations {_share(saved, 'flops')} of the dense model's, {_share(saved, 'flops_if_skipped')} if pruned "
        f"scores cost nothing; memory {_share(saved, 'memory')}",
        *(
            [f"  without the heads alone {_share(saved, 'flops_headless')} of its operations"]
            if "heads" in found["measured"]
            else []
        ),
        f"  the pruned model differs from the masked one by {found['difference']:.1e} of the largest output",
        f"  the pruned model is in {found['folder']}, its priors in {found['priors']}",
    ]
    return "\n".join(lines)


def _share(saved: dict[str, int], name: str) -> str:
    dense = "memory_dense" if name == "memory" else "flops_dense"
    return f"{100 * saved[name] / saved[dense]:.1f} %"
