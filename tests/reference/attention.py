"""Confidence and focus, token by token, from the maps that eager attention itself returns for one example."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.tasks.batches.batching import Batch
from tests.models.capture_reference import reference

PerToken = Callable[[Sequence[float]], float | None]


def mean_over_tokens(head_model: HeadModel, examples: Iterable[Batch], measure: PerToken) -> dict[HeadId, float]:
    """The mean of a measure of one row of a map, over all ordinary tokens of all examples; None does not count."""
    found: dict[HeadId, list[float]] = {head: [] for head in head_model.grid}
    for example in examples:
        maps = reference(head_model, example.inputs)
        for head in head_model.grid:
            queries, keys = ordinary(head_model, example, head.bank)
            for call, query in product(maps[head.bank, head.layer], queries):
                seen = [key for key in keys if head.bank != "decoder" or key <= query]
                number = measure(call[0, head.head, query, seen].tolist())
                if number is not None:
                    found[head].append(number)
    return {head: sum(numbers) / len(numbers) for head, numbers in found.items()}


def ordinary(head_model: HeadModel, example: Batch, bank: str) -> tuple[list[int], list[int]]:
    """The places of queries and keys that are no special tokens, in an example without padding."""
    if "pixel_values" in example.inputs:
        patches = list(range(1, 5))  # two by two, after the class token
        return patches, patches
    if "input_features" in example.inputs:
        n_frames = int(example.inputs["attention_mask"][0].sum())
        source = list(range((n_frames + 1) // 2))  # two frames of sound are one place; silence comes after
    else:
        source = _places(head_model, example.inputs["input_ids"][0].tolist())
    if bank == "encoder" or "decoder_input_ids" not in example.inputs:
        return source, source
    target = _places(head_model, example.inputs["decoder_input_ids"][0].tolist())
    return target, source if bank == "cross" else target


def _places(head_model: HeadModel, tokens: Sequence[int]) -> list[int]:
    tokenizer = getattr(head_model.tokenizer, "tokenizer", head_model.tokenizer)
    words = tokenizer.convert_ids_to_tokens(tokens)
    return [place for place, word in enumerate(words) if word not in tokenizer.all_special_tokens]


def largest(weights: Sequence[float]) -> float | None:
    return max(weights) if weights else None


def focus(weights: Sequence[float]) -> float | None:
    if len(weights) < 2:
        return None
    shares = [weight / sum(weights) for weight in weights]
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    return 1 - entropy / math.log(len(weights))
