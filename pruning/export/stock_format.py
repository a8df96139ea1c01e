"""The old shape with the heads zeroed: any transformers loads it, nothing gets smaller."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from headscope.models.gating import uninstall
from headscope.models.head_model import HeadModel
from headscope.pruning.export.proof import Reference
from headscope.pruning.export.saving import save_model
from headscope.pruning.masks import HeadMask


def with_zeroed_heads(head_model: HeadModel, mask: HeadMask) -> HeadModel:
    """A copy in which the columns of the output projection that read a masked head are zero."""
    name = type(head_model.model).__name__
    if not type(head_model.model).__module__.startswith("transformers."):
        raise ValueError(f"{name} is no architecture of transformers, so stock transformers cannot load it")
    if head_model.removed:
        raise ValueError("a model whose heads were removed for good has no stock shape; export the unpruned model")
    zeroed = copy.deepcopy(head_model.model)
    uninstall(zeroed)
    with torch.no_grad():
        for head in mask.removed:
            site = head_model.site(head.bank, head.layer)
            output: Any = zeroed.get_submodule(site.output)
            columns = slice(head.head * site.width, (head.head + 1) * site.width)
            if isinstance(output, Conv1D):
                output.weight[columns] = 0
            else:
                output.weight[:, columns] = 0
    return replace(head_model, model=zeroed)


def write(head_model: HeadModel, mask: HeadMask, folder: Path, reference: Reference) -> dict[str, str]:
    """Saves the zeroed copy as transformers would."""
    del reference
    save_model(with_zeroed_heads(head_model, mask), folder, old_names=True)
    return {}


def snippet(head_model: HeadModel) -> str:
    """How to load it without Headscope."""
    name = type(head_model.model).__name__
    return f"from transformers import {name}\n\nmodel = {name}.from_pretrained(folder)"
