"""python -m reproductions.fiak_tables [N …]: writes docs/reproductions/fiak.md, tables 1 to 3 of FiAK on our specimens.

Given numbers, only these tables are written again, and the others stay as the document has them; table 4 is ours. Every
number is that of a run in the store, so a second call only writes, and a stopped one goes on.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.finetune import FinetuneRun
from headscope.runs.kinds.importance import ImportanceRun
from reproductions.fiak_priors import primed
from reproductions.learned_runs import DOCUMENTS, SEEDS, interval, over_seeds, result_of, table, told, write

DOCUMENT = "fiak.md"
LOOKER = FiakRun("looker", steps_priors=100, steps_tuning=150, rate=1e-3)
WRITER = FiakRun("writer", among="query", steps_priors=30, steps_tuning=30, batch=8, n=100)
FRESH = FiakRun("looker", form="distance", start="scratch", steps_priors=400, steps_tuning=200, rate=1e-3, batch=32)
SHARE_OF_HEADS = 0.25
HEADINGS = (
    *("gone", "paper", "with priors", "pruned", "fine-tuned", "at random, fine-tuned", "operations", "if skipped"),
)

Results = list[dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """What is pruned, as our run and as the paper's number; some rows have no control, to save time."""

    name: str
    paper: str
    kind: FiakRun
    controlled: bool = True


def rows_of_images() -> tuple[Row, ...]:
    """Table 1: top-1 of DeiT tiny on ImageNet."""
    return (
        Row("50 % of scores", "73.56", replace(LOOKER, scores=0.5)),
        Row("60 % of scores", "73.67", replace(LOOKER, scores=0.6)),
        Row("70 % of scores", "73.09", LOOKER),
        Row("70 % of scores, 15 % of keys", "72.78", replace(LOOKER, keys=0.15)),
        Row("70 % of scores, 20 % of keys", "72.25", replace(LOOKER, keys=0.2)),
        Row("30 % of keys", "71.57", replace(LOOKER, scores=0.0, keys=0.3, prior="key")),
    )


def rows_with_heads(mask: str) -> tuple[Row, ...]:
    """Table 2: together with head pruning."""
    return (Row("a quarter of the heads, then 70 % of scores", "not given", replace(LOOKER, mask=mask)),)


def rows_of_text() -> tuple[Row, ...]:
    """Table 3: perplexity on WikiText-103. Our texts differ in length, so scores are ranked query by query."""
    return (
        Row("40 % of scores", "33.88", replace(WRITER, scores=0.4)),
        Row("50 % of scores", "34.28", replace(WRITER, scores=0.5)),
        Row("40 % of scores, 10 % of keys", "34.21", replace(WRITER, scores=0.4, keys=0.1)),
    )


def rows_from_scratch() -> tuple[Row, ...]:
    """Table 4: the form of the paper, trained so from the start."""
    return (Row("70 % of scores", "73.09", FRESH),)


def main() -> int:
    """Runs what has not been run, and writes the document after each table."""
    parser = argparse.ArgumentParser(prog="python -m reproductions.fiak_tables", description=__doc__)
    parser.add_argument("tables", type=int, nargs="*", default=list(PARTS), help="such as 3 (default: all)")
    asked = parser.parse_args().tables
    unknown = [number for number in asked if number not in PARTS]
    if unknown:
        parser.error(f"no table {unknown[0]}; there are {', '.join(map(str, PARTS))}")
    torch.set_num_threads(1)
    for number in asked:
        path = DOCUMENTS / DOCUMENT
        before = sections(path.read_text(encoding="utf-8") if path.exists() else "")
        done = before | {number: "\n\n".join(PARTS[number]())}
        left = [f"table {one}" for one in PARTS if one not in done]
        missing = [f"Not run yet, the same command goes on with it: {', '.join(left)}."] if left else []
        write(DOCUMENT, [introduction(), *(done[one] for one in sorted(done)), open_questions(), *missing])
    return 0


def sections(text: str) -> dict[int, str]:
    """The tables of a document by number, each from its heading to the next."""
    found = re.findall(r"^(## Table (\d+).*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return {int(number): part.strip() for part, number in found}


def images_part() -> list[str]:
    """Table 1."""
    return [
        "## Table 1: images (looker, top-1 accuracy)",
        f"In the paper: dense 72.23, with priors 73.50. {trained(LOOKER)}",
        *tabled(rows_of_images(), 3),
    ]


def heads_part() -> list[str]:
    """Table 2: FiAK after head pruning, beside head pruning alone at as many steps of training."""
    mask = gradient_mask()
    combined = rows_with_heads(mask)
    alone = over_seeds(lambda seed: heads_alone(mask, seed))
    saved, n_gone = runs(combined[0], "prior")[0]["savings"], len(mask.split())
    tuned, pruned = ([one["report"][name]["value"] for one in alone] for name in ("tuned", "pruned"))
    return [
        f"## Table 2: after removing {SHARE_OF_HEADS:.0%} of the heads by gradient",
        "In the paper: head pruning alone 68.59 with 23.69 % fewer operations, FiAK 73.09 at 70 % of scores with "
        f"8.50 % fewer: other budgets, so neither is shown to win. {trained(LOOKER)}",
        *tabled(combined, 3),
        f"The same {n_gone} heads removed and nothing else, fine-tuned for {heads_alone(mask, 0).training['steps']} "
        f"steps, as many as FiAK has in both trainings: {told(tuned, 3)} after {pruned[0]:.3f} without fine-tuning, at "
        f"{100 * saved['flops_headless'] / saved['flops_dense']:.1f} % of the operations. "
        + compared(values(runs(combined[0], "prior"), "tuned"), tuned),
    ]


def heads_alone(mask: str, seed: int) -> FinetuneRun:
    """Head pruning without FiAK, trained as long as FiAK trains altogether."""
    steps = LOOKER.steps_priors + LOOKER.steps_tuning
    training = {
        "steps": steps, "rate": LOOKER.rate, "batch": LOOKER.batch, "every": steps // 10, "n_judged": None, "seed": seed
    }  # fmt: skip
    return FinetuneRun("looker", mask, training=training)


def compared(combined: Sequence[float], alone: Sequence[float]) -> str:
    """Whether removing scores after the heads costs anything."""
    change = [one - other for one, other in zip(combined, alone, strict=True)]
    _, low, high = interval(change)
    verdict = "costs accuracy" if high < 0 else "gains accuracy" if low > 0 else "cannot be told from heads alone"
    return f"Pruning scores as well {verdict}: {told(change, 3)}."


def texts_part() -> list[str]:
    """Table 3."""
    return [
        "## Table 3: text (writer, perplexity)",
        f"In the paper: dense 34.29, with priors 33.69. {trained(WRITER)}",
        *tabled(rows_of_text(), 2),
    ]


def scratch_part() -> list[str]:
    """Table 4, which the paper has not: its own form on our specimen, from new weights."""
    steps = FRESH.steps_priors + FRESH.steps_tuning
    training = {
        "steps": steps, "rate": FRESH.rate, "batch": FRESH.batch, "every": steps // 10, "n_judged": None
    }  # fmt: skip
    plain = over_seeds(lambda seed: FinetuneRun("looker", start="scratch", training=training | {"seed": seed}))
    return [
        "## Table 4: the squared-distance form, from the start (looker, top-1 accuracy)",
        f"Weights are drawn anew, and model and priors are trained in the paper's own form for {FRESH.steps_priors} "
        f"steps of {FRESH.batch} fresh examples; what is left is fine-tuned for {FRESH.steps_tuning}. The looker "
        "itself was trained for far longer, so what it reaches, called dense below, is no baseline.",
        *tabled(rows_from_scratch(), 3),
        f"Baseline: the same architecture with plain attention, from new weights, for {steps} steps in one training: "
        f"{told([one['report']['tuned']['value'] for one in plain], 3)}.",
    ]


PARTS = {1: images_part, 2: heads_part, 3: texts_part, 4: scratch_part}
"""What writes each table."""


def introduction() -> str:
    """What was done."""
    return (
        "# FiAK on our specimens\n\nMade by `python -m reproductions.fiak_tables`; what is computed is in "
        "[fiak.md](../fiak.md). The paper trains DeiT tiny on ImageNet and a language model on WikiText-103 from the "
        "start. In tables 1 to 3 we begin with models that are trained already: priors are trained with the model, "
        "scores or keys go, and what is left is fine-tuned. So the numbers of the two are not to be compared; what can "
        "be compared is whether priors choose better than chance, and the order of the rows. The control learns the "
        "same priors and then prunes by lot. Numbers are of the test split, means over "
        f"{len(SEEDS)} seeds with 95 % intervals over seeds (Student's t). Operations are shares of those of the model "
        "as it was given, with all its heads: what our attention does, and what it would do if pruned scores cost "
        "nothing."
    )


def trained(kind: FiakRun) -> str:
    """How long both trainings are, and on how much it is reported."""
    part = f", reported on the first {kind.n} of test" if kind.n else ""
    return (
        f"Ours: {kind.steps_priors} steps with priors and {kind.steps_tuning} of fine-tuning, each of {kind.batch} "
        f"fresh examples, rate {kind.rate:g}{part}."
    )


def tabled(rows: Sequence[Row], digits: int) -> list[str]:
    """A table, the model as it was, and what both say."""
    found = [(row, runs(row, "prior"), runs(row, "random") if row.controlled else []) for row in rows]
    measured = found[0][1][0]["measured"]
    lines = [
        (
            row.name, row.paper, *(told(values(own, stage), digits) for stage in ("priors", "pruned", "tuned")),
            told(values(control, "tuned"), digits) if control else "not run",
            *(f"{100 * own[0]['savings'][name] / own[0]['savings']['flops_dense']:.1f} %"
              for name in ("flops", "flops_if_skipped")),
        )
        for row, own, control in found
    ]  # fmt: skip
    before = [
        f"{words}: {one['value']:.{digits}f} ({one['low']:.{digits}f} to {one['high']:.{digits}f})."
        for stage, words in (("dense", "Dense"), ("heads", "Without the heads, before any training"))
        if (one := measured.get(stage, {}).get("test"))
    ]
    return [table(HEADINGS, lines), " ".join([*before, verdict(found)])]


def runs(row: Row, by: str) -> Results:
    """The runs of a row, one a seed."""
    return over_seeds(lambda seed: primed(replace(row.kind, by=by, seed=seed)))


def values(results: Results, stage: str) -> list[float]:
    """The metric on test after a stage, seed by seed."""
    return [float(one["measured"][stage]["test"]["value"]) for one in results]


def verdict(found: Sequence[tuple[Row, Results, Results]]) -> str:
    """Whether priors choose better than chance, and what pruning costs in the end."""
    higher = found[0][1][0]["higher_is_better"]
    sign = 1 if higher else -1
    told_rows = []
    for row, own, control in found:
        cost = [after - before for after, before in zip(values(own, "tuned"), values(own, "dense"), strict=True)]
        text = f"{row.name}: {told(cost, 3)} from dense"
        if control:
            pairs = zip(values(own, "tuned"), values(control, "tuned"), strict=True)
            gain = [sign * (one - other) for one, other in pairs]
            _, low, high = interval(gain)
            chance = "better than chance" if low > 0 else "worse than chance" if high < 0 else "not told from chance"
            text += f", {chance} (by {statistics.fmean(gain):+.3f})"
        told_rows.append(text)
    return "After fine-tuning: " + "; ".join(told_rows) + "."


def gradient_mask() -> str:
    """The heads of the looker with the lowest gradient scores."""
    scores: dict[str, float] = result_of(ImportanceRun("looker", n=200))["scores"]
    return " ".join(sorted(sorted(scores, key=scores.__getitem__)[: round(SHARE_OF_HEADS * len(scores))]))


def open_questions() -> str:
    """What was not done."""
    return (
        "## Not done\n\nThe paper fine-tunes for 100 epochs; our trainings are a few hundred steps, on small models. "
        "What a kernel can save is in [fiak.md](../fiak.md#what-it-saves)."
    )


if __name__ == "__main__":
    sys.exit(main())
