"""What the pruning engine does, side by side with how it is usually done; exits with 1 if a promise is not kept.

Run as `python -m benchmarks.engine`. `--small` is quick and shows only that it runs; `--no-peers` leaves the tools of
other projects out; `--device gpu` prints the same tables for a GPU and judges nothing. The models are the specimens and
a random classifier of the size of BERT base. Greedy searches remove all heads of a specimen by the losses of few
calibration examples, and their curves are losses of development, as in a sweep: what a search gains on its own examples
alone is not what it is for. The random model has no other examples. Ways take turns, and the quickest round of each
counts, in seconds of the processor on one thread; smaller models are timed against dense ones as `headscope speed` does
it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from transformers import BertConfig, BertForSequenceClassification

from benchmarks.importance import LABELS, Promise, random_batch
from benchmarks.peers import peer_promises
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.loading.loader import load
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.evaluation.speed import Race, Timing
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategies.greedy import Greedy
from headscope.pruning.search.strategies.lazy_greedy import LazyGreedy
from headscope.pruning.search.strategy import Strategy
from headscope.pruning.search.subject import Subject
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task_catalog import task_for

SUFFIX, FEWER, CURVE, OF_PREDICTED, EQUAL = 1.6, 8.0, 1.05, 0.9, 1e-5

BATCH = 16
GOING = 0.5
"""Share of the heads that go when models are timed."""

SPECIMENS = ("translator", "reader", "writer", "all-attention-writer", "looker")
SMALL_SPECIMENS = ("looker",)
SMALL_BERT = BertConfig(num_hidden_layers=4, num_attention_heads=4, hidden_size=64, intermediate_size=256)


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    specimens: tuple[str, ...]
    bert: BertConfig
    examples: int
    searched: int
    shown: int
    rows: int
    greedy_heads: int
    length: int
    rounds: int


WHOLE = Scale(
    SPECIMENS, BertConfig(), examples=32, searched=32, shown=100, rows=4, greedy_heads=24, length=64, rounds=3
)
SMALL = Scale(SMALL_SPECIMENS, SMALL_BERT, examples=8, searched=4, shown=4, rows=2, greedy_heads=3, length=16, rounds=1)


@dataclass(frozen=True)
class Case:
    """A model, how it is judged, how greedy search and its curve judge it, and how many heads that removes from it."""

    name: str
    evaluator: Evaluator
    searched: Evaluator
    shown: Evaluator
    n_greedy: int

    @property
    def head_model(self) -> HeadModel:
        """The model itself."""
        return self.evaluator.head_model


def main() -> int:
    """Print every figure; 0 if all promises are kept, or on a GPU, for which nothing is promised."""
    options = _options()
    device = gpu() if options.device == "gpu" else torch.device("cpu")
    if device is None:
        print("There is no GPU here, so there is nothing to print.")
        return 0
    torch.set_num_threads(1)
    scale = SMALL if options.small else WHOLE
    promises = []
    for case in cases(scale, device):
        promises += suffix_promises(case, scale)
        promises += greedy_promises(case)
        promises += speed_promises(case, scale)
    if options.peers and device.type == "cpu":
        bert = bert_size(scale.bert, device)
        promises += peer_promises(
            bert, half_of_every_layer(bert), random_batch(bert, BATCH, scale.length).inputs["input_ids"]
        )
    print("\n".join(["", *table(promises)]))
    return 0 if device.type != "cpu" or options.small or all(promise.is_kept for promise in promises) else 1


def table(promises: Sequence[Promise]) -> list[str]:
    """The promises as lines of a Markdown table."""
    rows = [
        f"| {one.text} | {one.figure:.3g} | {'≤' if one.at_most else '≥'} {one.bound:g} | "
        f"{'kept' if one.is_kept else 'BROKEN'} |"
        for one in promises
    ]
    return ["| promise | figure | bound | |", "|---|---|---|---|", *rows]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark of the pruning engine.")
    parser.add_argument("--small", action="store_true", help="only see that it runs")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave other projects' tools out")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    return parser.parse_args()


def gpu() -> torch.device | None:
    """The GPU, if there is one."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps") if torch.backends.mps.is_available() else None


def suffix_promises(case: Case, scale: Scale) -> list[Promise]:
    """Every head removed alone: only the layers behind it are run again, against whole passes."""
    masks = [HeadMask(case.head_model.grid).prune(head) for head in case.head_model.grid]
    found: dict[str, list[float]] = {}
    seconds = in_turns(
        {
            "each head alone, from its layer on": lambda: found.update(own=anew(case.evaluator).losses(masks)),
            "each head alone, whole passes": lambda: found.update(whole=whole_passes(case.evaluator, masks)),
        },
        case,
        scale.rounds,
    )
    own, whole = seconds.values()
    gap = max(abs(one - other) for one, other in zip(found["own"], found["whole"], strict=True))
    return [
        Promise(f"{case.name}: suffix evaluation, times faster than whole passes", whole / own, SUFFIX, False),
        Promise(f"{case.name}: suffix evaluation, largest difference in the loss", gap, EQUAL, True),
    ]


def greedy_promises(case: Case) -> list[Promise]:
    """How many masks lazy greedy and greedy judge, and the mean loss along the curves they find."""
    judged, means = {}, {}
    for strategy in (LazyGreedy(), Greedy()):
        judged[strategy.key], means[strategy.key] = searched(case, strategy)
    fewer = judged["greedy"] / judged["lazy-greedy"]
    print(
        f"{case.name:12} {case.n_greedy} heads removed: greedy judged {judged['greedy']} masks (mean loss "
        f"{means['greedy']:.4g}), lazy greedy {judged['lazy-greedy']} ({means['lazy-greedy']:.4g}), "
        f"{fewer:.1f} times fewer",
        flush=True,
    )
    share = means["lazy-greedy"] / means["greedy"]
    return [
        Promise(f"{case.name}: lazy greedy, times fewer evaluations than greedy", fewer, FEWER, False),
        Promise(f"{case.name}: lazy greedy, mean loss as a share of greedy's", share, CURVE, True),
    ]


def searched(case: Case, strategy: Strategy) -> tuple[int, float]:
    """How many masks a strategy asked for, and the mean loss of those it gave, on other examples."""
    evaluator, grid, n = anew(case.searched), case.head_model.grid, 0

    def losses(masks: Sequence[HeadMask]) -> list[float]:
        nonlocal n
        n += len(masks)
        return evaluator.losses(masks)

    curve = list(strategy.masks(Subject(grid, grid.heads, losses=losses), range(case.n_greedy + 1)))
    found = anew(case.shown).losses(curve)
    return n, sum(found) / len(found)


def speed_promises(case: Case, scale: Scale) -> list[Promise]:
    """The really smaller model against the dense one, beside what operations predict."""
    race = Race.of(case.head_model, random_half(case.head_model), [BATCH], [scale.length])
    timing = finished(race)
    speedup = timing.speedup
    print(
        f"{case.name:12} half of the heads removed, batch {BATCH}, length {timing.length or 'of an image'}: "
        f"{speedup.median:.2f} times faster ({speedup.low:.2f} to {speedup.high:.2f}), "
        f"operations predict {timing.predicted:.2f}",
        flush=True,
    )
    share = speedup.median / timing.predicted
    return [Promise(f"{case.name}: speed-up as a share of what operations predict", share, OF_PREDICTED, False)]


def finished(race: Race) -> Timing:
    """The one timing of a race."""
    steps = race.timing(*race.sizes[0])
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Timing = end.value
            return found


def in_turns(ways: Mapping[str, Callable[[], object]], case: Case, rounds: int) -> dict[str, float]:
    """The least seconds of each way, of rounds in which they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seconds[name].append(timed(way, case.head_model.device))
    for name, found in seconds.items():
        print(f"{case.name:12} {name:36} {min(found):7.2f} s least, {max(found):7.2f} s most", flush=True)
    return {name: min(found) for name, found in seconds.items()}


def timed(way: Callable[[], object], device: torch.device) -> float:
    """Seconds of the processor, or those on the clock where a GPU works."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    started = clock()
    way()
    if device.type == "cuda":
        torch.cuda.synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()
    return clock() - started


@torch.no_grad()
def whole_passes(evaluator: Evaluator, masks: Sequence[HeadMask]) -> list[float]:
    """The mean loss under each mask, by whole passes over all batches."""
    found = []
    for mask in masks:
        with gated(evaluator.head_model, mask.as_gates(evaluator.head_model.device)):
            losses = [evaluator.task.losses(evaluator.head_model, batch) for batch in evaluator.batches]
        found.append(mean_of_examples(evaluator.batches, torch.cat(losses).tolist()))
    return found


def mean_of_examples(batches: Sequence[Batch], losses: Sequence[float]) -> float:
    """The mean over examples; rows of one example, such as the windows of a text, are averaged first."""
    rows: dict[int, list[float]] = {}
    for index, loss in zip((index for batch in batches for index in batch.indices), losses, strict=True):
        rows.setdefault(index, []).append(loss)
    return sum(sum(found) / len(found) for found in rows.values()) / len(rows)


def anew(evaluator: Evaluator) -> Evaluator:
    """The same without what it remembers."""
    return Evaluator(evaluator.head_model, evaluator.task, evaluator.batches, evaluator.batches)


def cases(scale: Scale, device: torch.device) -> list[Case]:
    """The specimens and the model of the size of BERT."""
    found = []
    for name in scale.specimens:
        head_model = load(name, device=str(device))
        task = task_for(head_model)
        judged, searched, shown = (
            Evaluator(head_model, task, batches, batches)
            for split, n in (
                ("development", scale.examples),
                ("calibration", scale.searched),
                ("development", scale.shown),
            )
            for batches in [list(task.batches(head_model, split, n))]
        )
        n_heads = len(head_model.grid)
        n_greedy = min(n_heads, scale.greedy_heads) if scale is SMALL else n_heads
        found.append(Case(name, judged, searched, shown, n_greedy))
    bert = bert_size(scale.bert, device)
    batch = random_batch(bert, scale.rows, 12)
    placed = {key: value.to(device) for key, value in batch.inputs.items()}
    batches = [replace(batch, inputs=placed, labels=batch.labels.to(device))]
    evaluator = Evaluator(bert, LABELS, batches, batches)
    return [*found, Case("BERT size", evaluator, evaluator, evaluator, scale.greedy_heads)]


def bert_size(config: BertConfig, device: torch.device) -> HeadModel:
    """A random classifier, by default of 12 layers, d 768, 12 heads; heads matter more than in a fresh one."""
    torch.manual_seed(0)
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        for parameter in model.bert.encoder.parameters():
            if parameter.dim() > 1:
                parameter.mul_(2)
    return HeadModel.of(model.to(device), name="BERT size")


def random_half(head_model: HeadModel) -> HeadMask:
    """A random half of all heads."""
    heads = list(head_model.grid)
    return HeadMask(head_model.grid, frozenset(random.Random(0).sample(heads, round(GOING * len(heads)))))


def half_of_every_layer(head_model: HeadModel) -> HeadMask:
    """A random half of the heads of every layer, since not every tool can remove unequally many."""
    grid, draw = head_model.grid, random.Random(0)
    layers = [grid.layer(bank.bank, layer) for bank in grid.banks for layer in range(len(bank.layers))]
    gone: set[HeadId] = set()
    for heads in layers:
        gone |= set(draw.sample(heads, len(heads) // 2))
    return HeadMask(grid, frozenset(gone))


if __name__ == "__main__":
    sys.exit(main())
