"""What kind of answer a model gives, and the choice it makes about each example."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from headscope.models.head_model import HeadModel
from headscope.models.inputs import probe_inputs
from headscope.tasks.batches.batching import IGNORED, Batch
from headscope.tasks.task import Choices, precise

KINDS = {
    "looker": "looks at images",
    "translator": "reads a text and writes another",
    "writer": "predicts the next token",
    "filler": "fills gaps in a text",
    "classifier": "chooses a label for a text",
    "encoder": "gives hidden states and has no output head",
    "listener": "listens to sound",
}


def kind_of(model: PreTrainedModel) -> str:
    """One of KINDS, found by structure."""
    if model.main_input_name == "pixel_values":
        return "looker"
    if model.main_input_name != "input_ids":
        return "listener"
    if model.can_generate():
        return "translator" if model.config.is_encoder_decoder else "writer"
    if model.get_output_embeddings() is not None:
        return "filler"
    return "encoder" if model.base_model is model else "classifier"


def check_kind(head_model: HeadModel, title: str, *allowed: str) -> str:
    """The kind of the model; a ValueError if the task is not for it."""
    kind = kind_of(head_model.model)
    if kind not in allowed:
        wanted = " or ".join(f"one that {KINDS[other]}" for other in allowed)
        raise ValueError(f"{title}: {head_model.name} is a model that {KINDS[kind]}; this task needs {wanted}")
    return kind


def gives_logits(model: PreTrainedModel) -> bool:
    """Whether a model has an output head, seen by what it gives; the class of one that looks does not always tell."""
    with torch.no_grad():
        return getattr(model(**probe_inputs(model)), "logits", None) is not None


def choices(head_model: HeadModel, batch: Batch) -> Choices:
    """The logits of the one choice each row is about: of the labels, or of the tokens at its one labelled place."""
    logits = getattr(head_model.model(**batch.inputs), "logits", None)
    if logits is None:
        raise ValueError(f"{head_model.name} gives no logits; a model with an output head is needed")
    if logits.dim() == 3 and batch.labels.dim() == 2:
        places = (batch.labels != IGNORED).int().argmax(dim=1)
        logits = logits.take_along_dim(places[:, None, None], dim=1).squeeze(1)
    if logits.dim() != 2:
        raise ValueError(f"{head_model.name} gives logits of shape {list(logits.shape)}; one choice a row is needed")
    return precise(logits)
