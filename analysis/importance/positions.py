"""Which positions of a batch count: padding never does, and special tokens where they would mislead."""

from __future__ import annotations

import math
from collections.abc import Collection

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import IGNORED, Batch
from headscope.tasks.vision import image_shape

Counted = Bool[Tensor, "example position"]
Tokens = Int[Tensor, "example position"]

FRAMES_A_POSITION = 2
"""Frames of sound that the encoder of Whisper makes one position of."""


def special_tokens(head_model: HeadModel) -> frozenset[int]:
    """The numbers of begin, end, separator and padding tokens and their like; none without a tokenizer."""
    tokenizer = getattr(head_model.tokenizer, "tokenizer", head_model.tokenizer)  # that of a model that listens
    return frozenset(getattr(tokenizer, "all_special_ids", ()))


def counted_positions(
    batch: Batch, exclude: Collection[int] = frozenset()
) -> dict[str, tuple[Counted | None, Counted | None]]:
    """By bank, which queries and which keys are neither padding nor a token in `exclude`; None where all are (images).

    In a decoder that is taught, a position is padding where it has no label; of a sound, where the recording is over.
    """
    if "pixel_values" in batch.inputs:
        return dict.fromkeys(("encoder", "decoder", "cross"), (None, None))
    source = batch.inputs["attention_mask"].bool()
    if "input_ids" in batch.inputs:
        source = _ordinary(batch.inputs["input_ids"], exclude) & source
    else:
        source = source[:, ::FRAMES_A_POSITION]
    target = source
    if "decoder_input_ids" in batch.inputs:
        target = _ordinary(batch.inputs["decoder_input_ids"], exclude) & (batch.labels != IGNORED)
    return {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}


def n_image_tokens(head_model: HeadModel, n_positions: int) -> int:
    """How many positions come before the patches of an image: class tokens and their like."""
    config = head_model.model.config
    if head_model.model.main_input_name != "pixel_values" or not hasattr(config, "patch_size"):
        return 0
    sides = config.patch_size if isinstance(config.patch_size, list | tuple) else (config.patch_size,) * 2
    _, *size = image_shape(head_model)
    n_patches = math.prod(length // side for length, side in zip(size, sides, strict=True))
    return max(0, n_positions - int(n_patches))


def _ordinary(tokens: Tokens, exclude: Collection[int]) -> Counted:
    return ~torch.isin(tokens, torch.tensor(sorted(exclude), dtype=tokens.dtype, device=tokens.device))
