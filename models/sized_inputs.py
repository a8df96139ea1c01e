"""Inputs of any batch size and length, to measure what a model costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from models.probe_inputs import probe_inputs

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
