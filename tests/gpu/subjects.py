"""Tiny models of four kinds with a task each, moved to any device."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cache

import torch

from headscope.models.gating import uninstall
from headscope.models.head_model import HeadModel
from headscope.pruning.masks import HeadMask
from headscope.tasks.batches.batching import Batch
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits, Task
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import Digits
from tests.families import FAMILIES
from tests.tasks.tiny import TEXTS, sharpened, tiny

KINDS = ("bert", "gpt2", "marian", "vit")


@dataclass(frozen=True)
class Subject:
    """A model on a device, a task for it, and heads to remove: some of every layer."""

    head_model: HeadModel
    task: Task
    mask: HeadMask

    @property
    def batch(self) -> Batch:
        """A few examples on the device."""
        return next(iter(self.task.batches(self.head_model, "calibration", 8)))


def subject(kind: str, device: str, dtype: torch.dtype = torch.float32) -> Subject:
    """The model is looked at on the CPU, where values can be read, and then moved."""
    found = _found(kind)
    model = copy.deepcopy(found.model)
    uninstall(model)
    model = model.to(dtype=dtype).to(device)
    model.tie_weights()  # meta tensors share no memory
    head_model = replace(found, model=model)
    gone = [head for head in found.grid if (head.layer + head.head) % 3 == 0]
    return Subject(head_model, _task(kind), HeadMask(found.grid, frozenset(gone)))


@cache
def _found(kind: str) -> HeadModel:
    return sharpened(_looker) if kind == "vit" else tiny(kind)


def _looker():  # type: ignore[no-untyped-def]
    model = FAMILIES["vit"]()
    config = model.config
    config.num_channels, config.num_labels = 1, 10
    config.id2label = {number: str(number) for number in range(10)}
    return type(model)(config)


def _task(kind: str) -> Task:
    if kind == "vit":
        return Digits("digits", "Digits")
    if kind == "bert":
        labelled = [LabelledText(text, f"LABEL_{number % 2}") for number, text in enumerate(TEXTS)]
        return Classification("own", "Own", Splits.of(labelled, labelled, labelled))
    if kind in ("marian", "t5"):
        pairs = [TextPair(text, text) for text in TEXTS]
        return Translation("own", "Own", Splits.of(pairs, pairs, pairs))
    return LanguageModelling("own", "Own", Splits.of(TEXTS, TEXTS, TEXTS))
