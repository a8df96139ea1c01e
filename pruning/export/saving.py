"""Writes a model and its tokenizer as transformers would, in no more bytes than needed, and runs it again."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.models.writing import writing
from headscope.pruning.export.proof import Reference, outputs_in_every_attention

SMALLER = (torch.float16, torch.bfloat16)


def save_model(head_model: HeadModel, folder: Path, old_names: bool) -> None:
    """Weights that half precision holds exactly, such as those of a checkpoint that came so, are written in it.

    `old_names` writes the weight names that stock transformers expects of a checkpoint; a folder with its own
    modelling file needs the names of the modules.
    """
    unsaved = set(head_model.model._keys_to_ignore_on_save or ())
    weights = {name: tensor for name, tensor in head_model.model.state_dict().items() if name not in unsaved}
    dtype = next((dtype for dtype in SMALLER if all(_fits(tensor, dtype) for tensor in weights.values())), None)
    with writing(folder):
        head_model.model.save_pretrained(
            folder, state_dict=None if dtype is None else _converted(weights, dtype), save_original_format=old_names
        )
    if head_model.tokenizer is not None:
        head_model.tokenizer.save_pretrained(folder)


def run_loaded(folder: Path, reference: Reference) -> tuple[list[Tensor], int]:
    """The outputs of a saved model under each attention implementation, and its parameters."""
    dtype = str(reference.expected.dtype).removeprefix("torch.")
    loaded = load(folder, str(reference.expected.device), dtype)
    return outputs_in_every_attention(loaded, reference.inputs), loaded.n_parameters


def _fits(tensor: Tensor, dtype: torch.dtype) -> bool:
    return not tensor.is_floating_point() or bool(torch.equal(tensor.to(dtype).to(tensor.dtype), tensor))


def _converted(weights: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """The same weights in another precision; tensors that share memory still do."""
    seen: dict[int, Tensor] = {}
    for tensor in weights.values():
        if tensor.is_floating_point():
            seen.setdefault(tensor.data_ptr(), tensor.to(dtype))
    return {name: seen[tensor.data_ptr()] if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
