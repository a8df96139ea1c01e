"""python -m tools.layer_wise: writes docs/reproductions/layer-wise.md, after Shim et al. 2021.

Every number is that of a run in the store, so a second call only writes, and a stopped one goes on.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from jobs.kinds.finetune import FinetuneRun
from jobs.kinds.importance import ImportanceRun
from jobs.kinds.learn import LearnRun
from tools.learned_runs import RATE, SEEDS, interval, on_test, over_seeds, result_of, table, told, write

MODEL = "all-attention-writer"
PENALTIES = (0.003, 0.006, 0.012, 0.025, 0.05)
N_STEPS, FINETUNE = 600, 200
N_SCORED = 256

Results = list[dict[str, Any]]


def main() -> int:
    """Runs what is not there yet, and writes."""
    torch.set_num_threads(1)
    found = {price: over_seeds(lambda seed, price=price: gate_run(price, seed)) for price in PENALTIES}  # type: ignore[misc]
    beside = {
        price: [tuned_at(one, seed) for seed, one in zip(SEEDS, runs, strict=True)] for price, runs in found.items()
    }
    write("layer-wise.md", [introduction(), *curve(found, beside), *layers(found), open_questions()])
    return 0


def gate_run(price: float, seed: int) -> LearnRun:
    """The four steps of the paper at one coefficient."""
    return LearnRun(
        MODEL,
        gates="layerwise",
        settings={"penalty": price},
        n_steps=N_STEPS,
        finetune=FINETUNE,
        seed=seed,
        training={"rate": RATE},
    )


def tuned_at(learned: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """As many heads removed by gradient order, and as many steps of training."""
    scores = result_of(ImportanceRun(MODEL, method="gradient", n=N_SCORED))["scores"]
    gone = sorted(scores, key=scores.__getitem__)[: learned["removed"]]
    training = {
        "steps": N_STEPS + FINETUNE,
        "every": 100,
        "patience": 100,
        "n_judged": None,
        "seed": seed,
        "rate": RATE,
    }
    return result_of(FinetuneRun(MODEL, mask=" ".join(gone), training=training))


def introduction() -> str:
    """What was done."""
    return (
        "# Layer-wise pruning of an all-attention model\n\nMade by `python -m tools.layer_wise`, after Shim et al. "
        "2021: every weight of a layer belongs to a head, so a head takes its share of everything with it. The "
        f"four steps on the specimen `{MODEL}`: gates are attached, trained for {N_STEPS} steps at a coefficient "
        f"that rises in the first quarter, heads are removed for good, and the rest is fine-tuned for {FINETUNE}. "
        f"Numbers are perplexity on the test split, means over {len(SEEDS)} seeds with 95 % intervals over seeds "
        "(Student's t). Beside them: as many heads removed by gradient order, then trained for as many steps in "
        "all."
    )


def curve(found: Mapping[float, Results], beside: Mapping[float, Results]) -> list[str]:
    """Perplexity against parameters."""
    first = next(iter(found.values()))[0]
    dense = on_test(first, "before")
    rows = [
        (f"{price:g}", told((one["removed"] for one in runs), 1),
         told((100 * one["parameters"] / one["parameters_dense"] for one in runs), 1),
         told(on_test(one, "masked") for one in runs), told(on_test(one, "after") for one in runs),
         told(one["report"]["tuned"]["value"] for one in beside[price]))
        for price, runs in found.items()
    ]  # fmt: skip
    heads = [
        "coefficient",
        "heads removed",
        "% of parameters",
        "masked",
        "fine-tuned",
        "gradient order, trained as long",
    ]
    return [
        "## Perplexity against parameters",
        table(heads, rows),
        f"With all heads: {dense:.2f} and {first['parameters_dense']} parameters. " + " ".join(verdicts(found, beside)),
    ]


def verdicts(found: Mapping[float, Results], beside: Mapping[float, Results]) -> Iterator[str]:
    """The smallest model that is no worse, and how gates and gradient order compare."""
    fitting = []
    for runs in found.values():
        _, _, high = interval(on_test(one, "after") - on_test(one, "before") for one in runs)
        share = statistics.fmean(one["parameters"] / one["parameters_dense"] for one in runs)
        if high <= 0:
            fitting.append(share)
    yield (
        "**Claim: a large share of the parameters goes at no cost.** The smallest model whose perplexity is not "
        f"above that of the whole one, by the interval, has {min(fitting):.0%} of the parameters."
        if fitting
        else "**Claim: a large share of the parameters goes at no cost.** Of no model here can that be said for sure."
    )
    better = [
        statistics.fmean(on_test(one, "after") for one in runs)
        < statistics.fmean(one["report"]["tuned"]["value"] for one in beside[price])
        for price, runs in found.items()
    ]
    yield f"Gates beat gradient order at {sum(better)} of {len(better)} sizes."


def layers(found: Mapping[float, Results]) -> list[str]:
    """How many heads each layer keeps."""
    rows = []
    for price, runs in found.items():
        kept = [Counter(head.split(".")[1] for head in one["gates"] if head not in one["mask"].split()) for one in runs]
        names = sorted({head.split(".")[1] for head in runs[0]["gates"]}, key=int)
        rows.append((f"{price:g}", *(f"{statistics.fmean(one[name] for one in kept):.1f}" for name in names)))
    heads = ["coefficient", *(f"layer {place}" for place in range(len(rows[0]) - 1))]
    return [
        "## Heads that stay, by layer",
        table(heads, rows),
        "One coefficient for all: layers end with different numbers of heads because they need different numbers.",
    ]


def open_questions() -> str:
    """What was not done."""
    return (
        "## Not done\n\nThe paper's model has 16 layers of 8 heads, learns 20 epochs of WikiText-103 or text8 and "
        "is compared with Transformer-XL; here a small model of a grammar learns from 512 calibration stories. The "
        "perplexities of the paper could not be verified, so none is quoted."
    )


if __name__ == "__main__":
    sys.exit(main())
