"""Learned priors and what was kept by them, in one file that pages read without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from pruning.fiak.layers import PriorLayer
    from pruning.fiak.selection import KeptLayer


def write_priors(
    path: Path, layers: Sequence[PriorLayer], priors: Mapping[str, Tensor], kept: Mapping[str, KeptLayer]
) -> None:
    """For every layer, such as `encoder.3`: `encoder.3.priors`, `.scores` and `.keys`.

    Priors are [head, query, key], or [head, 1, key] for those of keys; scores and keys are true where they are kept.
    """
    arrays: dict[str, NDArray[np.float32] | NDArray[np.bool_]] = {}
    for layer in layers:
        arrays[f"{layer.name}.priors"] = priors[layer.name].abs().float().numpy()
        arrays[f"{layer.name}.scores"] = kept[layer.name].scores.numpy()
        arrays[f"{layer.name}.keys"] = kept[layer.name].keys.numpy()
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, allow_pickle=False, **arrays)
    partial.replace(path)


def read_priors(path: Path, layer: str) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Priors, kept scores and kept keys of one layer."""
    with np.load(path, allow_pickle=False) as file:
        if f"{layer}.priors" not in file:
            known = ", ".join(name.removesuffix(".priors") for name in file.files if name.endswith(".priors"))
            raise KeyError(f"no layer {layer!r}; there are {known}")
        return file[f"{layer}.priors"], file[f"{layer}.scores"], file[f"{layer}.keys"]
