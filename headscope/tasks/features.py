"""What a model without an output head makes of an example: features, and a choice by what they are like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from headscope.models.devices import widest
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Choices

Features = Float[Tensor, "example feature"]

TEMPERATURE = 0.07
"""What similarities are divided by before they are a choice; the value from which the training of CLIP starts."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Some examples by whose features others are told apart: a model without an output head chooses the likest.

    The choice is softmax_j(cos(f - m, r_j - m) / TEMPERATURE), with f the features of an example, r_j those of
    landmark j, and m their mean: features of trained models have much in common, which would make all alike.
    """

    mean: Float[Tensor, " feature"]
    directions: Float[Tensor, "landmark feature"]

    @classmethod
    def of(cls, features: Features) -> Landmarks:
        """The landmarks that have these features."""
        mean = features.mean(dim=0)
        return cls(mean, normalize(features - mean, dim=1))

    def choices(self, features: Features) -> Choices:
        """The logits of every landmark."""
        directions = normalize(features - self.mean.to(features), dim=1)
        return directions @ self.directions.to(features).T / TEMPERATURE


def features_of(head_model: HeadModel, batch: Batch) -> Features:
    """One vector an example: the embedding that the model projects to, else the mean of its last hidden states.

    The mean is over all places that are not padding.
    """
    if head_model.model.config.is_encoder_decoder:
        raise ValueError(f"{head_model.name} reads and writes, and has no output head; a model with one is needed")
    outputs: Any = head_model.model(**batch.inputs)
    for name in ("image_embeds", "text_embeds"):
        if outputs.get(name) is not None:
            return _wide(outputs[name])
    states = _wide(outputs.last_hidden_state)
    if "attention_mask" not in batch.inputs:
        return states.flatten(1, -2).mean(dim=1)
    read = batch.inputs["attention_mask"][..., None].to(states)
    return (states * read).sum(dim=1) / read.sum(dim=1)


def _wide(values: Tensor) -> Tensor:
    """Small differences between like features are what is asked about."""
    return values.to(widest(values.device))
