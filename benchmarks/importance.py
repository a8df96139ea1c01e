"""What importance costs, side by side with how it is usually computed; exits with 1 if a promise is not kept.

Run as `python -m benchmarks.importance`. The models are the translator specimen and a random classifier of the size of
BERT base. Ways take turns, and the quickest round of each counts. Seconds are those of the processor on one thread,
which other work on the machine disturbs least. Memory is the most that tensors hold at one time, counted as they are
made and freed, without the weights.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertConfig, BertForSequenceClassification

from headscope.analysis.importance.method import Method, portions
from headscope.analysis.importance.methods.ablation import Ablation
from headscope.analysis.importance.methods.confidence import Confidence
from headscope.analysis.importance.methods.gradient import Gradient
from headscope.analysis.roles.layer_attention import TOKEN, look_at
from headscope.analysis.roles.sample import Reading, Side
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.loading.loader import load
from headscope.models.recording.attention_statistics import AttentionSummary, HeadStatistics, query_sums
from headscope.models.recording.maps import summarise
from headscope.tasks.batches.batching import Batch, EncodedRow
from headscope.tasks.batches.masked_losses import picked
from headscope.tasks.classification import Classification
from headscope.tasks.task import Splits, Task
from headscope.tasks.task_catalog import task_for

THREADS = 1
ROUNDS = 3
SENTENCES, FEW_SENTENCES = 64, 16
"""Of the translator, for gradients and for ablations of its 80 heads."""

ROWS, FEW_ROWS, LENGTH = 16, 4, 12
"""Of the BERT-size model, the same, for its 144 heads."""

LONG_ROWS, LONG_LENGTH = 2, 256
"""Of the BERT-size model when attention is read."""

FORWARDS, LOOP, SUFFIX, TIME, MEMORY = 2.5, 2.0, 1.6, 1.0, 0.2
EQUAL = 1e-5
NOISE = 1.05
"""Two ways that take the same time may differ by as much."""


@dataclass(frozen=True)
class Subject:
    """A model, its task, and what heads are scored on: batches for gradients, and few examples for ablations."""

    name: str
    head_model: HeadModel
    task: Task
    batches: Sequence[Batch]
    few: Sequence[Batch]


@dataclass(frozen=True)
class Promise:
    """A figure and the bound that it must keep."""

    text: str
    figure: float
    bound: float
    at_most: bool

    @property
    def is_kept(self) -> bool:
        """Whether the figure is on the right side."""
        return self.figure <= self.bound if self.at_most else self.figure >= self.bound

    def line(self) -> str:
        """The promise as it is printed."""
        verdict = "kept" if self.is_kept else "BROKEN"
        return f"{verdict:7} {self.text:64} {self.figure:9.3g}  ({'≤' if self.at_most else '≥'} {self.bound:g})"


def main() -> int:
    """Print every figure; 0 if all promises are kept."""
    torch.set_num_threads(THREADS)
    bert = bert_size()
    promises = []
    for subject in (translator(), bert_subject(bert)):
        promises += gradient_promises(subject)
        promises += ablation_promises(subject)
    promises += statistics_promises(bert)
    print("\n".join(promise.line() for promise in promises))
    return 0 if all(promise.is_kept for promise in promises) else 1


def gradient_promises(subject: Subject) -> list[Promise]:
    """The gradients of all heads against forward passes alone, and against a loop over examples."""
    seconds = in_turns(
        {
            "forward passes": lambda: forward(subject),
            "gradient, all heads": lambda: by_method(subject, Gradient(), subject.batches),
            "gradient, one example at a time": lambda: gradient_loop(subject),
        },
        subject.name,
    )
    alone, own, loop = seconds.values()
    return [
        Promise(f"{subject.name}: gradient over all heads, in forward passes", own / alone, FORWARDS, True),
        Promise(f"{subject.name}: gradient, times faster than one example at a time", loop / own, LOOP, False),
    ]


def ablation_promises(subject: Subject) -> list[Promise]:
    """All single-head ablations against one whole pass a head."""
    found: dict[str, Tensor] = {}
    seconds = in_turns(
        {
            "ablation of each head": lambda: found.update(own=by_method(subject, Ablation(), subject.few)),
            "ablation, a whole pass a head": lambda: found.update(whole=whole_passes(subject)),
        },
        subject.name,
    )
    own, whole = seconds.values()
    gap = float((found["own"] - found["whole"]).abs().max())
    return [
        Promise(f"{subject.name}: ablation, times faster than a whole pass a head", whole / own, SUFFIX, False),
        Promise(f"{subject.name}: ablation, largest difference from whole passes", gap, EQUAL, True),
    ]


def statistics_promises(head_model: HeadModel) -> list[Promise]:
    """What reads attention as maps stream by, against keeping all maps first."""
    batch = random_batch(head_model, LONG_ROWS, LONG_LENGTH)
    found: dict[str, Mapping[HeadId, HeadStatistics]] = {}
    kept_way = lambda: found.update(kept=from_kept_maps(head_model, batch.inputs))  # noqa: E731  (one of several ways)
    ways: dict[str, Callable[[], object]] = {
        "statistics": lambda: found.update(streamed=summarise(head_model, [batch.inputs])),
        "confidence": lambda: Confidence().of_batch(head_model, LABELS, batch),
        "roles": lambda: strongest_looks(head_model, batch),
    }
    *streamed, kept = in_turns(ways | {"attention maps kept": kept_way}, "BERT size").values()
    plain = peak_bytes(lambda: plain_pass(head_model, batch.inputs))
    kept_bytes = peak_bytes(kept_way) - plain
    gap = max(abs(found["streamed"][head].confidence - found["kept"][head].confidence) for head in head_model.grid)
    promises = [Promise("BERT size: statistics, largest difference in confidence", gap, EQUAL, True)]
    for (name, way), seconds in zip(ways.items(), streamed, strict=True):
        share = (peak_bytes(way) - plain) / kept_bytes
        promises += [
            Promise(f"BERT size: {name}, seconds as a share of keeping maps", seconds / kept, TIME * NOISE, True),
            Promise(f"BERT size: {name}, extra memory as a share of keeping maps", share, MEMORY, True),
        ]
    return promises


def strongest_looks(head_model: HeadModel, batch: Batch) -> None:
    """Where every head looks most, which is what roles are counted from; each token is a word here."""
    readings = {}
    for number, row in enumerate(batch.inputs["input_ids"].tolist()):
        side = Side(tuple(row), tuple(range(len(row))))
        readings[number] = Reading(EncodedRow(number, {"input_ids": row}, 0), "", side)
    look_at(head_model, batch, readings, lambda _, look: look.strongest(TOKEN))


def in_turns(ways: Mapping[str, Callable[[], object]], title: str) -> dict[str, float]:
    """The least seconds of each way, of rounds in which they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            way()
            seconds[name].append(time.process_time() - start)
    for name, rounds in seconds.items():
        print(
            f"{title:12} {name:34} {min(rounds):7.2f} s least, {sorted(rounds)[ROUNDS // 2]:7.2f} s median", flush=True
        )
    return {name: min(rounds) for name, rounds in seconds.items()}


def by_method(subject: Subject, method: Method, batches: Sequence[Batch]) -> Tensor:
    """What a method finds, [example, head]."""
    found = portions(method, subject.head_model, subject.task, batches)
    return torch.cat([torch.from_numpy(portion.values) for portion in found])


@torch.no_grad()
def forward(subject: Subject) -> None:
    """One pass over all batches."""
    for batch in subject.batches:
        subject.task.losses(subject.head_model, batch)


def gradient_loop(subject: Subject) -> Tensor:
    """As published scripts do: one example a pass, and derivatives by all weights as well."""
    head_model, found = subject.head_model, []
    for batch in subject.batches:
        for row in range(len(batch)):
            gates = torch.ones(len(head_model.grid), requires_grad=True)
            with gated(head_model, gates):
                loss: Tensor = subject.task.losses(head_model, picked(batch, torch.tensor([row])))
            loss.sum().backward()
            found.append(gates.grad)
            head_model.model.zero_grad()
    return torch.stack([gradient.abs() for gradient in found if gradient is not None])


@torch.no_grad()
def whole_passes(subject: Subject) -> Tensor:
    """The rise of every loss without each head, by one pass a head, [example, head]."""
    head_model, found = subject.head_model, []
    for batch in subject.few:
        losses = subject.task.losses(head_model, batch)
        rises = []
        for place in range(len(head_model.grid)):
            gates = torch.ones(len(head_model.grid))
            gates[place] = 0
            with gated(head_model, gates):
                rises.append(subject.task.losses(head_model, batch) - losses)
        found.append(torch.stack(rises, dim=1))
    return torch.cat(found).double()


@torch.no_grad()
def plain_pass(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> None:
    """The model as it comes."""
    head_model.model(**inputs)


@torch.no_grad()
def from_kept_maps(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> dict[HeadId, HeadStatistics]:
    """The same statistics from maps that the library returns all together."""
    before = head_model.model.config._attn_implementation
    head_model.model.set_attn_implementation("eager")
    try:
        maps = head_model.model(**inputs, output_attentions=True).attentions
    finally:
        head_model.model.set_attn_implementation(before)
    valid = inputs["attention_mask"].bool()
    summary = AttentionSummary()
    for site, attention in zip(head_model.sites, maps, strict=True):
        summary.add(site, query_sums(attention, valid, valid, 0))
    return summary.statistics()


class _Live(TorchDispatchMode):
    """Counts the bytes of tensors that are alive, and the most there were."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.most = 0
        self.seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        for part in output if isinstance(output, list | tuple) else (output,):
            if isinstance(part, Tensor):
                self._count(part.untyped_storage())
        return output

    def _count(self, storage: Any) -> None:
        address, size = storage.data_ptr(), storage.nbytes()
        if address and address not in self.seen:
            self.seen.add(address)
            self.live += size
            self.most = max(self.most, self.live)
            weakref.finalize(storage, self._forget, address, size)

    def _forget(self, address: int, size: int) -> None:
        self.seen.discard(address)
        self.live -= size


def peak_bytes(way: Callable[[], object]) -> int:
    """The most that tensors held at one time."""
    with _Live() as counted:
        way()
    return counted.most


LABELS = Classification("labels", "Labels", Splits.of([], [], []))


def translator() -> Subject:
    """The specimen and the first sentences of its task."""
    head_model = load("translator", device="cpu")
    task = task_for(head_model)
    batches, few = (list(task.batches(head_model, "calibration", n)) for n in (SENTENCES, FEW_SENTENCES))
    return Subject("translator", head_model, task, batches, few)


def bert_subject(head_model: HeadModel) -> Subject:
    """The model of the size of BERT, with random tokens."""
    batches, few = ([random_batch(head_model, rows, LENGTH)] for rows in (ROWS, FEW_ROWS))
    return Subject("BERT size", head_model, LABELS, batches, few)


def bert_size() -> HeadModel:
    """A random classifier of 12 layers, d 768, 12 heads."""
    torch.manual_seed(0)
    return HeadModel.of(BertForSequenceClassification(BertConfig()), name="BERT size")


def random_batch(head_model: HeadModel, n_rows: int, length: int) -> Batch:
    """Random tokens and labels."""
    generator = torch.Generator().manual_seed(0)
    vocabulary: int = head_model.model.config.vocab_size
    tokens = torch.randint(1000, vocabulary, (n_rows, length), generator=generator)
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    return Batch("calibration", tuple(range(n_rows)), inputs, torch.arange(n_rows) % 2)


if __name__ == "__main__":
    sys.exit(main())
