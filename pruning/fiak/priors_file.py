"""Learned priors and what was kept by them, in one file that pages read without torch."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.pruning.fiak.layers import PriorLayer
    from headscope.pruning.fiak.selection import KeptLayer

BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, ValueError, RuntimeError, AttributeError,
    TypeError, OSError,
)  # fmt: skip
"""What numpy and zipfile raise for a file that was cut off or altered; a missing one is an OSError, which passes."""


def write_priors(
    path: Path, layers: Sequence[PriorLayer], priors: Mapping[str, Tensor], kept: Mapping[str, KeptLayer]
) -> None:
    """For every layer, such as `encoder.3`: `encoder.3.priors`, `.scores`, `.keys` and `.heads`.

    Priors are [head, query, key], or [head, 1, key] for those of keys; scores and keys are true where they are kept.
    Heads are the numbers of those that the layer has.
    """
    arrays: dict[str, NDArray[np.float32] | NDArray[np.bool_] | NDArray[np.int64]] = {}
    for layer in layers:
        arrays[f"{layer.name}.priors"] = priors[layer.name].abs().float().numpy()
        arrays[f"{layer.name}.scores"] = kept[layer.name].scores.numpy()
        arrays[f"{layer.name}.keys"] = kept[layer.name].keys.numpy()
        arrays[f"{layer.name}.heads"] = np.array(layer.heads)
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, allow_pickle=False, **arrays)
    partial.replace(path)


def read_priors(path: Path, layer: str) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Priors, kept scores and kept keys of one layer; a ValueError that names a file which cannot be read."""
    known = layers_in(path)
    if layer not in known:
        raise KeyError(f"no layer {layer!r}; there are {', '.join(known)}")
    with _opened(path) as file:
        return file[f"{layer}.priors"], file[f"{layer}.scores"], file[f"{layer}.keys"]


def layers_in(path: Path) -> list[str]:
    """The layers of a file of priors, such as `encoder.3`."""
    with _opened(path) as file:
        return [name.removesuffix(".priors") for name in file.files if name.endswith(".priors")]


def heads_in(path: Path, layer: str) -> list[int]:
    """The numbers of the heads of a layer; files of earlier versions do not tell them, there they are counted."""
    with _opened(path) as file:
        name = f"{layer}.heads"
        return [int(head) for head in (file[name] if name in file.files else range(len(file[f"{layer}.keys"])))]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with path.open("rb") as raw:
        try:
            with np.load(raw, allow_pickle=False) as file:
                yield file
        except BROKEN as error:
            raise ValueError(f"{path} is no file of priors, or was cut off or altered; run it again") from error
