"""A few real inputs for any model, to compare two versions of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor

from models.head_model import HeadModel
from models.probe_inputs import accepted, probe_inputs

SENTENCES = (
    "The old key to the cabinets is on the table, but nobody has seen it since Monday.",
    "Why did the teachers who know the answer not call the driver of the red bus yesterday?",
)


def example_inputs(head_model: HeadModel) -> dict[str, Tensor]:
    """Two padded sentences where the model has a tokenizer, else random tokens, images or sound."""
    model = head_model.model
    inputs = probe_inputs(model, batch=2)
    if "input_ids" not in inputs or head_model.tokenizer is None:
        return inputs
    tokenizer = head_model.tokenizer
    padding = tokenizer.pad_token is not None
    texts = SENTENCES if padding else SENTENCES[:1] * 2
    encoded = tokenizer(list(texts), return_tensors="pt", padding=padding)
    known = accepted(model, **{name: value for name, value in encoded.items() if isinstance(value, Tensor)})
    return inputs | {name: value.to(model.device) for name, value in known.items()}


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
