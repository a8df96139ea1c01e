"""A model whose scores were pruned, in a folder: its weights as usual, and beside them what is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from headscope.models.head_model import HeadModel
from headscope.models.loading.fingerprint import fingerprint
from headscope.models.loading.loader import Progress, load
from headscope.models.writing import writing
from headscope.pruning.export.saving import save_model
from headscope.pruning.fiak.layers import PriorLayer, prior_layers
from headscope.pruning.fiak.pruned_attention import without_scores
from headscope.pruning.fiak.selection import KeptLayer

MODEL = "model"
KEPT = "fiak.safetensors"


def save_without_scores(
    pruned: HeadModel, layers: Sequence[PriorLayer], kept: Mapping[str, KeptLayer], form: str, folder: Path
) -> None:
    """Writes the folder, which `load_without_scores` reads.

    The weights are in a folder of their own: loaded alone they would be those of a dense model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_model(pruned, folder / MODEL, old_names=False)
    tensors = {f"{name}.scores": one.scores.contiguous() for name, one in kept.items()}
    tensors |= {f"{name}.keys": one.keys.contiguous() for name, one in kept.items()}
    weights = fingerprint(str(folder / MODEL))  # so that other weights make this file, and the folder, another one
    about = {"form": form, "layers": json.dumps([asdict(layer) for layer in layers]), "weights": weights}
    with writing(folder / KEPT):
        save_file(tensors, folder / KEPT, about)


def load_model(
    name_or_folder: str | Path, device: str = "auto", dtype: str = "auto", progress: Progress = lambda _: None
) -> HeadModel:
    """The model of a name, a folder or a hub id, one whose scores were pruned among them."""
    name = str(name_or_folder).strip()
    if not _is_pruned(name):
        return load(name_or_folder, device, dtype, progress)
    progress("reading what is left of its attention")
    return replace(load_without_scores(Path(name).expanduser(), device, dtype), name=name)


def load_without_scores(folder: Path, device: str = "auto", dtype: str = "auto") -> HeadModel:
    """The model that `save_without_scores` wrote."""
    if not (folder / KEPT).is_file():
        raise ValueError(f"no {KEPT} in {folder}; give the folder of a model whose attention scores were pruned")
    try:
        with safe_open(folder / KEPT, framework="pt") as file:
            about = file.metadata() or {}
            form, layers = about["form"], [_layer(record) for record in json.loads(about["layers"])]
            kept = {layer.name: _kept(layer, file) for layer in layers}
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{folder / KEPT} is broken or was not written by this program") from error
    found = load(folder / MODEL, device, dtype)
    known = prior_layers(found, layers[0].length) if layers else ()
    if not layers or any(layer not in known for layer in layers):
        raise ValueError(f"{folder / KEPT} is not of the model beside it; both are written together")
    return without_scores(found, layers, kept, form)


def _is_pruned(name: str) -> bool:
    try:
        return bool(name) and (Path(name).expanduser() / KEPT).is_file()
    except (OSError, RuntimeError, ValueError):  # no name of a folder at all
        return False


def _kept(layer: PriorLayer, file: Any) -> KeptLayer:
    """What is kept of a layer; a ValueError where it has not the size of the layer."""
    found = KeptLayer(file.get_tensor(f"{layer.name}.scores"), file.get_tensor(f"{layer.name}.keys"))
    n_heads, length = len(layer.heads), layer.length
    sizes = {"scores": (n_heads, length, length), "keys": (n_heads, length)}
    for what, size in sizes.items():
        tensor = getattr(found, what)
        if tensor.dtype != torch.bool or tuple(tensor.shape) != size:
            raise ValueError(f"{what} of {layer.name} are {tensor.dtype} {tuple(tensor.shape)} instead of bool {size}")
    return found


def _layer(record: dict[str, object]) -> PriorLayer:
    lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
    return PriorLayer(**{**record, **lists})  # type: ignore[arg-type]
