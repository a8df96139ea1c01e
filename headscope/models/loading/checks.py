"""Whether a model folder can be loaded at all, told before anything of it is built: its files, its shape, its size."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PreTrainedConfig
from transformers.initialization import no_init_weights

from headscope.models.text import shown

Shapes = dict[str, tuple[int, ...]]

FEW = 64
"""Layers that any model may have, however few tensors its files hold."""

MUCH_MORE = 8
SMALL = 2**26
"""A model may have so many times the numbers of its files, for tied weights count twice, or so many in any case."""

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux tells how much memory a container has."""

_NUMBERED = re.compile(r"\.(\d{1,6})(?=\.)")
_COUNTS_LAYERS = re.compile(r"(layers?|depths?)$")


def check_files(folder: Path) -> None:
    """Whether everything in the folder is a plain file or a folder, and every link stays inside.

    Links of the hub's cache lead from `snapshots` to `blobs`, both of the same model.
    """
    whole = folder.resolve()
    inside = whole.parents[1] if whole.parent.name == "snapshots" else whole
    for path in sorted(folder.iterdir()):
        try:
            target = path.resolve()
            mode = target.stat().st_mode
        except (OSError, RuntimeError) as error:
            raise ValueError(f"{_named(path)} is a link that leads nowhere; allowed are plain files") from error
        if not target.is_relative_to(inside):
            raise ValueError(f"{_named(path)} is a link out of its folder, which is refused; put the file itself there")
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ValueError(f"{_named(path)} is no plain file; allowed are files and folders")


def weight_shapes(folder: Path) -> Shapes:
    """The shape of every tensor in the folder's safetensors, from their headers."""
    shapes: Shapes = {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt") as weights:
                shapes |= {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            reason = shown(str(error).strip() or type(error).__name__, 200)
            raise ValueError(f"{_named(path)} is broken or cut short: {reason}") from error
    return shapes


def check_layers(config: PreTrainedConfig, shapes: Shapes) -> None:
    """Whether the configuration asks for no more layers than the files can have; each would be built first."""
    most = max(FEW, len(shapes))
    for name, count in _counts(config.to_dict()):
        if not 0 <= count <= most:
            raise ValueError(
                f"config.json says {name} is {shown(str(count), 30)}; from 0 to {most} are allowed "
                f"with the {len(shapes)} tensors of its weights"
            )


def outline(cls: Any, config: PreTrainedConfig) -> nn.Module:
    """The model without any numbers in it, which takes no memory; whatever the class raises."""
    with torch.device("meta"), no_init_weights():
        model: nn.Module = cls(config)
    return model


def check_size(model: nn.Module, shapes: Shapes) -> None:
    """Whether the outlined model is about as large as its files are."""
    asked, given = sum(one.numel() for one in model.parameters()), elements(shapes)
    if asked > max(SMALL, MUCH_MORE * given):
        raise ValueError(
            f"config.json describes a model of {asked:.2e} parameters and the weights have {given:.2e}; "
            "both must be of the same model"
        )


def first_misfit(model: nn.Module, shapes: Shapes) -> str:
    """The first tensor whose shape in the files is not that of the outlined model, in words; empty if none is."""
    for name, parameter in model.named_parameters():
        found = shapes.get(name)
        if found is not None and found != tuple(parameter.shape):
            return f"{name} is {_spelt(found)} and config.json asks for {_spelt(tuple(parameter.shape))}"
    return ""


def left_over(model: nn.Module, unexpected: Iterable[str]) -> str:
    """The first layer that the files hold and the model has no place for, in words; empty if there is none.

    Other weights may be left over: heads for another task, or tables that are computed anew.
    """
    lists = {name: len(one) for name, one in model.named_modules() if isinstance(one, nn.ModuleList)}
    for name in sorted(unexpected):
        for found in _NUMBERED.finditer(name):
            before, number = name[: found.start()], int(found[1])
            if number >= lists.get(before, number + 1):
                return f"they hold {before}.{number} and config.json asks for {lists[before]} of {before}"
    return ""


def check_room(n_bytes: int, device: torch.device) -> None:
    """Raise a ValueError with the sizes if the weights cannot fit into what is free, on the machine or the device."""
    for place, free in free_memory(device).items():
        if n_bytes > free:
            raise ValueError(
                f"the weights need {_size(n_bytes)} and {place} has {_size(free)} free; "
                "take a smaller model, a lower precision or another device"
            )


def free_memory(device: torch.device) -> dict[str, int]:
    """The bytes that are free where weights pass: always the machine's memory, and that of a CUDA device."""
    free = min(int(psutil.virtual_memory().available), _free_in_container())
    if device.type != "cuda":
        return {"this machine": free}
    return {"this machine": free, str(device): int(torch.cuda.mem_get_info(device)[0])}


def elements(shapes: Shapes) -> int:
    """How many numbers tensors of these shapes hold."""
    return sum(torch.Size(shape).numel() for shape in shapes.values())


def _free_in_container() -> int:
    """What the limit of a container leaves; very much where there is none."""
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        reclaimed = re.search(r"^inactive_file (\d+)$", (CGROUP / "memory.stat").read_text(), re.MULTILINE)
        return int(limit) - int(used) + (int(reclaimed[1]) if reclaimed else 0)
    except (OSError, ValueError):  # "max" is no number
        return 2**62


def _counts(values: Mapping[Any, Any]) -> Iterator[tuple[str, int]]:
    """Every number of layers that a configuration names, in parts of it too."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _counts(value)
        elif _COUNTS_LAYERS.search(str(name)):
            listed = value if isinstance(value, list | tuple) else [value]
            yield from ((str(name), one) for one in listed if isinstance(one, int) and not isinstance(one, bool))


def _named(path: Path) -> str:
    return shown(str(path), 200)


def _spelt(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "one number"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GB" if n_bytes >= 2**29 else f"{n_bytes / 2**20:.0f} MB"
