"""Weight times activation, number by number, one example at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import torch
from transformers.pytorch_utils import Conv1D

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.tasks.batches.batching import Batch


def wanda(head_model: HeadModel, examples: Sequence[Batch], head: HeadId) -> float:
    """The mean over examples of sum_j ||x_j|| sum_i |W_ij|, over the columns of the head and all calls of its layer."""
    site = head_model.site(head.bank, head.layer)
    output = head_model.model.get_submodule(site.output)
    weight = (output.weight.T if isinstance(output, Conv1D) else output.weight).tolist()
    total = 0.0
    for example in examples:
        columns = range(head.head * site.width, (head.head + 1) * site.width)
        for rows, column in product(inputs_of(head_model, output, example), columns):
            norm = math.sqrt(sum(row[column] ** 2 for row in rows) / len(rows))
            total += norm * sum(abs(read[column]) for read in weight)
    return total / len(examples)


def inputs_of(head_model: HeadModel, output: torch.nn.Module, example: Batch) -> list[list[list[float]]]:
    """What a module reads of an example, call by call, a list a position."""
    seen: list[list[list[float]]] = []
    handle = output.register_forward_pre_hook(lambda _, args: seen.append(args[0][0].tolist()))
    with torch.no_grad():
        head_model.model(**example.inputs)
    handle.remove()
    return seen
