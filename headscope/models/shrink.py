"""Makes a transformers model smaller in place, by a plan of plain numbers.

Exported models carry a copy of this file, so it needs nothing but torch and transformers. The plan lists attention
layers of the unpruned model: which rows of which projection feed which head, and which heads are kept. A layer whose
heads are all gone keeps one phantom head without weights (its projections give zeros, its output projection gives
its bias), so the forward pass and the key/value cache of every architecture stay as they are.
"""

from __future__ import annotations

import copy
import inspect
import sys
from typing import Any

import torch
from torch import nn
from transformers import AttentionInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.pytorch_utils import Conv1D

HEAD_COUNTS = ("num_heads", "num_attention_heads")
ALL_HEADS_WIDTHS = ("all_head_size", "split_size")
ATTENTION = "headscope_kept_heads"


def shrink(model: nn.Module, plan: dict[str, Any]) -> None:
    """Takes away every head that the plan does not keep; the model must have the unpruned shape."""
    for site in plan["sites"]:
        if len(site["kept"]) < site["heads"]:
            _shrink_site(model, site)


def shrunk(base: Any) -> type:
    """The same model class, but built in the smaller shape that `config.head_plan` describes."""

    def build(self: Any, config: Any, *args: Any, **options: Any) -> None:
        base.__init__(self, config, *args, **options)
        shrink(self, config.head_plan)

    return type(base.__name__, (base,), {"__init__": build, "__module__": base.__module__})


def _shrink_site(model: nn.Module, site: dict[str, Any]) -> None:
    core = model.get_submodule(site["core"])
    for path, heads in site["rows"].items():
        _replace(model, path, _fewer_rows(model.get_submodule(path), heads, site["kept"]))
    _replace(model, site["output"], _fewer_columns(model.get_submodule(site["output"]), site["width"], site["kept"]))
    _shrink_own_parameters(core, site)
    _tell_head_count(core, site)


def _fewer_rows(module: Any, heads: list[list[list[int]]], kept: list[int]) -> Any:
    """The projection with only those rows that feed a kept head, or no head at all."""
    if not kept:
        return Zeros(sum(stop - first for first, stop in heads[0]))
    size = module.nf if isinstance(module, Conv1D) else module.out_features
    owned = [any(first <= row < stop for head in heads for first, stop in head) for row in range(size)]
    wanted = {row for head in kept for first, stop in heads[head] for row in range(first, stop)}
    return _sliced(module, [row for row in range(size) if row in wanted or not owned[row]], rows=True)


def _fewer_columns(module: Any, width: int, kept: list[int]) -> Any:
    if not kept:
        size = module.nf if isinstance(module, Conv1D) else module.out_features
        return Constant(size, module.bias)
    return _sliced(module, [head * width + column for head in kept for column in range(width)], rows=False)


def _sliced(module: Any, keep: list[int], rows: bool) -> Any:
    """A copy of a linear layer with some of its rows (outputs) or columns (inputs)."""
    smaller: Any = copy.copy(module)
    smaller._parameters = dict(module._parameters)
    transposed = isinstance(module, Conv1D)
    index = torch.tensor(keep, device=module.weight.device)
    weight = module.weight.detach().index_select(1 if rows == transposed else 0, index).contiguous()
    smaller.weight = nn.Parameter(weight, requires_grad=module.weight.requires_grad)
    if rows and module.bias is not None:
        bias = module.bias.detach().index_select(0, index)
        smaller.bias = nn.Parameter(bias, requires_grad=module.bias.requires_grad)
    if transposed:
        smaller.nx, smaller.nf = weight.shape
    else:
        smaller.out_features, smaller.in_features = weight.shape
    return smaller


def _shrink_own_parameters(core: nn.Module, site: dict[str, Any]) -> None:
    """Parameters that the attention module holds itself, one slice a head or one number a head and column."""
    n_heads, width, kept = site["heads"], site["width"], site["kept"]
    columns = [head * width + column for head in kept or [0] for column in range(width)]
    for name, parameter in list(core.named_parameters(recurse=False)):
        for dim, size in enumerate(parameter.shape):
            if size in (n_heads, n_heads * width):
                index = torch.tensor(kept if size == n_heads else columns, device=parameter.device, dtype=torch.long)
                values = parameter.detach().index_select(dim, index)
                setattr(core, name, nn.Parameter(values, requires_grad=parameter.requires_grad))
                break


def _tell_head_count(core: Any, site: dict[str, Any]) -> None:
    """Sets what the forward pass reads: head counts, key/value groups, and which head takes which position bias."""
    kept = site["kept"] or [0]
    for name in HEAD_COUNTS:
        if isinstance(getattr(core, name, None), int):
            setattr(core, name, len(kept))
    for name in ALL_HEADS_WIDTHS:
        if isinstance(getattr(core, name, None), int):
            setattr(core, name, len(kept) * site["width"])
    groups = [site["groups"][head] for head in kept]
    left = sorted(set(groups))
    counts = [groups.count(group) for group in left]
    core.key_value_index = None
    takes_bias = "position_bias" in inspect.signature(core.forward).parameters
    core.position_bias_index = (site["numbers"] or [0]) if takes_bias else None
    if hasattr(core, "num_key_value_groups"):
        even = len(set(counts)) == 1
        core.num_key_value_groups = counts[0] if even else 1
        core.key_value_index = None if even else [left.index(group) for group in groups]
    if (core.key_value_index or core.position_bias_index) and not hasattr(core, "stack_config"):
        core.stack_config = core.config
        core.config = copy.copy(core.config)
        core.config._attn_implementation_internal = ATTENTION


def _kept_heads_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **options: Any
) -> Any:
    """Gives every kept query head its key/value head and its position bias, then attends as the model is set to."""
    if module.key_value_index:
        key, value = _picked(key, module.key_value_index), _picked(value, module.key_value_index)
    if module.position_bias_index and options.get("position_bias") is not None:
        options["position_bias"] = _picked(options["position_bias"], module.position_bias_index)
    eager = sys.modules[type(module).__module__].eager_attention_forward
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(module.stack_config._attn_implementation, eager)
    return attend(module, query, key, value, attention_mask, **options)


AttentionInterface.register(ATTENTION, _kept_heads_attention)


def _picked(heads: torch.Tensor, index: list[int]) -> torch.Tensor:
    return torch.cat([heads[:, head : head + 1] for head in index], dim=1)


def _replace(model: nn.Module, path: str, module: nn.Module) -> None:
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, module)


class Zeros(nn.Module):
    """In place of a projection of which no row is left.

    The empty `weight` is there for code that initialises or inspects the projection; it is no parameter.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.weight, self.bias = torch.empty(0), None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Zeros of the width of one head."""
        return x.new_zeros(*x.shape[:-1], self.width)


class Constant(nn.Module):
    """In place of an output projection into which no head is left: its bias, or nothing."""

    def __init__(self, width: int, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.width = width
        self.weight, self.bias = torch.empty(0), bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The bias at every position."""
        constant = x.new_zeros(*x.shape[:-1], self.width)
        return constant if self.bias is None else constant + self.bias
