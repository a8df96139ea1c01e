"""python -m benchmarks.fiak: what pruned keys and scores save at several lengths, beside what operations predict.

Random vision transformers of the shape of the paper's model (DeiT tiny: width 192, 3 heads, here 4 of its 12 layers),
one thread, CPU seconds, dense and pruned in turns. `layer` prunes the same keys for all heads of a layer, so that they
are not made at all; `head` prunes other keys for every head; `scores` prunes scores at random places, which a mask
does. A model with priors, as it is trained, is slower than a dense one: its row tells by how much.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import ViTConfig, ViTForImageClassification

from headscope.models.head_model import HeadModel
from headscope.pruning.fiak.layers import PriorLayer, prior_layers
from headscope.pruning.fiak.priors import with_priors
from headscope.pruning.fiak.pruned_attention import without_scores
from headscope.pruning.fiak.pruning_choice import Choice, chosen
from headscope.pruning.fiak.savings import savings

SIDES = {65: 8, 197: 14, 785: 28}
"""Tokens, and patches along a side of the image."""

PATCH = 4
BATCH = 4
CLAIMED = 1.25
"""Times faster on a CPU with 70 % of the scores pruned, as the paper says (76 to 95 images a second)."""

HEADINGS = (
    *("tokens", "pruned", "times faster, median (quartiles)", "by operations", "if every pruned score cost nothing"),
    "memory, times less",
)
CASES = {
    **{
        f"{100 * share:.0f} % of keys, same for a layer": Choice(0.0, share, "key", "layer")
        for share in (0.2, 0.3, 0.5)
    },
    **{f"{100 * share:.0f} % of keys, by head": Choice(0.0, share, "key", "head") for share in (0.2, 0.3, 0.5)},
    "70 % of scores": Choice(0.7),
    "70 % of scores, 20 % of keys, same for a layer": Choice(0.7, 0.2, "pair", "layer"),
}


def model(n_tokens: int) -> HeadModel:
    """A random model that sees so many tokens."""
    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=192, num_hidden_layers=4, num_attention_heads=3, intermediate_size=768,
        image_size=PATCH * SIDES[n_tokens], patch_size=PATCH, num_channels=3,
    )  # fmt: skip
    return HeadModel.of(ViTForImageClassification(config).eval())


def pruned(dense: HeadModel, layers: tuple[PriorLayer, ...], choice: Choice) -> tuple[HeadModel, dict[str, Any]]:
    """The model without random scores or keys, and what is counted of it."""
    generator = torch.Generator().manual_seed(0)
    n_queries = [layer.length if choice.prior == "pair" else 1 for layer in layers]
    priors = {
        layer.name: torch.rand(len(layer.heads), n, layer.length, generator=generator)
        for layer, n in zip(layers, n_queries, strict=True)
    }
    kept = chosen(choice, layers, priors)
    smaller = without_scores(dense, layers, kept)
    return smaller, savings(dense, smaller, layers, kept).to_json()


def rows(n_tokens: int, turns: int) -> Iterator[dict[str, Any]]:
    """Every case at one length."""
    dense = model(n_tokens)
    layers = prior_layers(dense)
    for name, choice in CASES.items():
        smaller, counted = pruned(dense, layers, choice)
        yield {
            "tokens": n_tokens,
            "case": name,
            "times_faster": raced(dense, smaller, turns),
            "operations": counted["flops_dense"] / counted["flops"],
            "operations_if_skipped": counted["flops_dense"] / counted["flops_if_skipped"],
            "memory": counted["memory_dense"] / counted["memory"],
        }
    primed = raced(dense, with_priors(dense, layers), turns)
    nothing = {"operations": 1.0, "operations_if_skipped": 1.0, "memory": 1.0}
    yield {
        "tokens": n_tokens,
        "case": "nothing: a model with priors, as it is trained",
        "times_faster": primed,
    } | nothing


def raced(dense: HeadModel, other: HeadModel, turns: int) -> list[float]:
    """Lower quartile, median and upper quartile of how many times faster the other is, turn by turn."""
    size = dense.model.config.image_size
    images = torch.randn(BATCH, 3, size, size)
    works = [_work(one, images) for one in (dense, other)]
    for work in works:
        work()
    ratios = []
    for turn in range(turns):
        first, second = (0, 1) if turn % 2 else (1, 0)
        seconds = {first: _seconds(works[first]), second: _seconds(works[second])}
        ratios.append(seconds[0] / seconds[1])
    return statistics.quantiles(ratios, n=4, method="inclusive")


def _work(head_model: HeadModel, images: torch.Tensor) -> Callable[[], None]:
    def work() -> None:
        with torch.inference_mode():
            head_model.model(pixel_values=images)

    return work


def _seconds(work: Callable[[], None]) -> float:
    started = time.process_time()
    times = 0
    while time.process_time() - started < 0.05 or not times:
        work()
        times += 1
    return (time.process_time() - started) / times


def main() -> None:
    """Prints a table in Markdown, row by row, and writes the numbers as JSON where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fiak", description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--json", type=Path, default=None, help="file to write")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(line(HEADINGS), line(["---"] * len(HEADINGS)), sep="\n", flush=True)
    found = []
    for n_tokens in arguments.tokens:
        for row in rows(n_tokens, arguments.turns):
            print(line(cells(row)), flush=True)
            found.append(row)
    print(f"\nThe paper claims {CLAIMED} times on a CPU with 70 % of the scores pruned.")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table: the median with its quartiles, and beside it what counting predicts."""
    low, median, high = row["times_faster"]
    predicted = (f"{row[name]:.2f}" for name in ("operations", "operations_if_skipped", "memory"))
    return [str(row["tokens"]), row["case"], f"{median:.2f} ({low:.2f} to {high:.2f})", *predicted]


def line(parts: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(parts)} |"


if __name__ == "__main__":
    main()
