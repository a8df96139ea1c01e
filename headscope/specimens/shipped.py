"""A shipped specimen, in memory."""

from __future__ import annotations

from pathlib import Path

import torch

from headscope.models.head_model import HeadModel
from headscope.specimens.recipe import recipe_of

SHIPPED = Path(__file__).parent


def load(name: str, folder: Path | None = None) -> HeadModel:
    """The specimen of that name, in single precision, with its tokenizer."""
    recipe = recipe_of(name)
    source = folder or SHIPPED / name
    model = recipe.architecture.from_pretrained(source, dtype=torch.float32, attn_implementation="eager")
    return HeadModel.of(model, recipe.processor_class.from_pretrained(source), name)
