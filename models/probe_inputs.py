"""The smallest inputs that make a model run once, whatever it reads: text, images or sound."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

SOURCE_LENGTH = 7
TARGET_LENGTH = 5


def probe_inputs(model: PreTrainedModel, batch: int = 1, length: int | None = None) -> dict[str, Tensor]:
    """Random inputs of a few tokens, or of `length` (or one image, or one sound), the same on every call."""
    generator = torch.Generator().manual_seed(0)
    main = model.main_input_name
    if main == "pixel_values":
        inputs = {main: torch.randn(batch, *_image_shape(model.config), generator=generator)}
    elif main == "input_features":
        inputs = {main: torch.randn(batch, *_sound_shape(model.config), generator=generator)}
    elif main == "input_ids":
        inputs = {main: _tokens(model.config, batch, length or SOURCE_LENGTH, generator)}
    else:
        raise ValueError(f"a model that reads {main!r}; supported are input_ids, pixel_values and input_features")
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = _tokens(model.config, batch, length or TARGET_LENGTH, generator)
    elif getattr(model.config, "add_cross_attention", False):
        width = model.config.hidden_size
        inputs["encoder_hidden_states"] = torch.randn(batch, SOURCE_LENGTH + 4, width, generator=generator)
    return {name: _place(value, model) for name, value in inputs.items()}


def accepted(model: PreTrainedModel, **options: Any) -> dict[str, Any]:
    """Those of the options that the model's forward takes."""
    known = inspect.signature(model.forward).parameters
    return {name: value for name, value in options.items() if name in known}


def _place(value: Tensor, model: PreTrainedModel) -> Tensor:
    return value.to(model.device, model.dtype) if value.is_floating_point() else value.to(model.device)


def _tokens(config: Any, batch: int, length: int, generator: torch.Generator) -> Tensor:
    """Distinct ordinary tokens: special ones, padding above all, would be masked away."""
    config = config.get_text_config(decoder=True)
    special = {getattr(config, f"{name}_token_id", None) for name in ("pad", "bos", "eos", "decoder_start", "unk")}
    ordinary = [token for token in range(min(config.vocab_size, 200)) if token not in special]
    order = torch.randperm(len(ordinary), generator=generator)[: batch * length]
    picked = [ordinary[int(index)] for index in order]
    while len(picked) < batch * length:
        picked += picked
    return torch.tensor(picked[: batch * length]).reshape(batch, length)


def _image_shape(config: Any) -> tuple[int, int, int]:
    size = config.image_size
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return config.num_channels, height, width


def _sound_shape(config: Any) -> tuple[int, int]:
    return config.num_mel_bins, 2 * config.max_source_positions
