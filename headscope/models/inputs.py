"""Made inputs for any model: the smallest that run once, and those of a size to measure what a model costs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
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


LENGTHS = ("max_position_embeddings", "max_target_positions", "n_positions")
"""What configurations call the number of tokens that a model can take."""


def sized_inputs(model: PreTrainedModel, batch: int, length: int | None) -> dict[str, Tensor]:
    """Inputs of `length` tokens a sequence, source and target alike; images and sounds have the size they have."""
    if batch < 1 or (length is not None and length < 1):
        raise ValueError(f"inputs of batch {batch} and length {length}; both must be at least 1")
    longest = longest_input(model)
    if length is not None and longest is not None and length > longest:
        raise ValueError(f"inputs of {length} tokens; {type(model).__name__} takes at most {longest}")
    return {name: _sized(value, batch, length, name) for name, value in probe_inputs(model).items()}


def lengths_for(model: PreTrainedModel, wanted: Iterable[int]) -> tuple[int | None, ...]:
    """Those lengths, cut to the longest that the model takes, each once; None alone if it reads no tokens."""
    if model.main_input_name != "input_ids" and not model.config.is_encoder_decoder:
        return (None,)
    longest = longest_input(model)
    cut = (length if longest is None else min(length, longest) for length in wanted)
    return tuple(dict.fromkeys(cut))


def longest_input(model: PreTrainedModel) -> int | None:
    """How many tokens the model takes at most; None where it knows no limit."""
    config: Any = model.config.get_text_config(decoder=True)
    known = [getattr(config, name, None) for name in LENGTHS]
    found = [int(number) for number in known if isinstance(number, int) and number > 0]
    return min(found) - _reserved(model) if found else None


def _reserved(model: PreTrainedModel) -> int:
    """Positions that a table keeps for padding: some models count from the one behind it."""
    tables = [module for path, module in model.named_modules() if path.endswith("position_embeddings")]
    marks = [table.padding_idx for table in tables if isinstance(table, nn.Embedding)]
    return max((mark + 1 for mark in marks if mark is not None), default=0)


def _sized(value: Tensor, batch: int, length: int | None, name: str) -> Tensor:
    """The one example repeated: its tokens up to the length, and itself up to the batch size."""
    if length is not None and (name.endswith("input_ids") or name == "encoder_hidden_states"):
        times = -(-length // value.shape[1])
        value = value.repeat(1, times, *[1] * (value.dim() - 2))[:, :length]
    return value.repeat(batch, *[1] * (value.dim() - 1))
