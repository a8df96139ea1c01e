"""A few real inputs for any model, to compare two versions of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted, longest_input, probe_inputs

FEWEST = 32
"""Positions that a comparison reads at least."""

LENGTH, PADDED = 24, 5
"""Random tokens in a row, and how many of them are padding in the second."""

SENTENCES = (
    "The old key to the cabinets is on the table, but nobody has seen it since Monday.",
    "Why did the teachers who know the answer not call the driver of the red bus yesterday?",
)


def example_inputs(head_model: HeadModel) -> dict[str, Tensor]:
    """Two padded sentences where the model's tokenizer knows their words, else random tokens, images or sound.

    Attention over one key is 1 whatever queries and keys are, and equal tokens hardly tell them apart: so at least
    FEWEST positions are read, and at least half of their tokens differ.
    """
    inputs = random_inputs(head_model.model)
    if "input_ids" not in inputs or head_model.tokenizer is None:
        return inputs
    read = inputs | _sentences(head_model)
    kept = read["input_ids"][_attended(read)]
    return read if len(kept) >= FEWEST and 2 * len(kept.unique()) >= len(kept) else inputs


def random_inputs(model: PreTrainedModel) -> dict[str, Tensor]:
    """Two rows of random tokens, the second padded at its end where the model takes a mask; or images, or sound."""
    inputs = probe_inputs(model, batch=2, length=min(LENGTH, longest_input(model) or LENGTH))
    if "input_ids" in inputs:
        mask = torch.ones_like(inputs["input_ids"])
        mask[1, -PADDED:] = 0
        inputs |= accepted(model, attention_mask=mask)
    return inputs


def n_positions(inputs: Mapping[str, Tensor]) -> int:
    """How many positions of texts are read, without padding; of images and sounds the number of them."""
    tokens = inputs.get("input_ids")
    return len(next(iter(inputs.values()), ())) if tokens is None else int(_attended(inputs).sum())


def _attended(inputs: Mapping[str, Tensor]) -> Tensor:
    """Which places of `input_ids` are no padding."""
    mask = inputs.get("attention_mask")
    return torch.ones_like(inputs["input_ids"], dtype=torch.bool) if mask is None else mask.bool()


def _sentences(head_model: HeadModel) -> dict[str, Tensor]:
    model = head_model.model
    tokenizer = head_model.tokenizer
    padding = tokenizer.pad_token is not None
    texts = SENTENCES if padding else SENTENCES[:1] * 2
    encoded = tokenizer(list(texts), return_tensors="pt", padding=padding)
    known = accepted(model, **{name: value for name, value in encoded.items() if isinstance(value, Tensor)})
    return {name: value.to(model.device) for name, value in known.items()}


def main_output(head_model: HeadModel, inputs: dict[str, Tensor]) -> Tensor:
    """What the model gives for these inputs."""
    with torch.inference_mode():
        return output_tensor(head_model.model(**inputs, **accepted(head_model.model, use_cache=False)))


def output_tensor(outputs: Mapping[str, Any]) -> Tensor:
    """The tensor that counts in a model's output: logits where it has them, else features."""
    for name in ("logits", "image_embeds", "last_hidden_state"):
        if name in outputs:
            return cast(Tensor, outputs[name])
    return next(value for value in outputs.values() if isinstance(value, Tensor))
