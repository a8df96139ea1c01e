"""Runs a model on one example and keeps what every head looks at."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from headscope.analysis.attention.attention_record import Maps, Picture, Seen, SeenBank, SeenLayer
from headscope.analysis.attention.example import MOST_TOKENS, Example, Inputs, inputs_of
from headscope.analysis.attention.predictions import answer_of
from headscope.analysis.attention.readable_tokens import readable
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.recording.maps import attention_maps
from headscope.tasks.batches.encoding import tokenizer_of
from headscope.tasks.generation import generated, start_token
from headscope.tasks.model_kinds import kind_of
from headscope.tasks.vision import image_shape

START = "<start>"
CLASS = "[CLS]"
EXTRA = "[extra]"

Tokens = tuple[str, ...]
LayerMaps = Mapping[tuple[str, int], Tensor]


@torch.no_grad()
def see(head_model: HeadModel, example: Example, removed: Collection[HeadId] = frozenset()) -> Seen:
    """What the model says about an example without the removed heads, and what every head looks at meanwhile.

    The maps of an encoder-decoder are those over its own greedy translation, those of a writer over the text alone.
    """
    off = frozenset(head_model.grid.check(head) for head in removed)
    inputs = inputs_of(head_model, example)
    gates = torch.tensor([0.0 if head in off else 1.0 for head in head_model.grid], device=head_model.device)
    with gated(head_model, gates):
        if kind_of(head_model.model) == "translator":
            inputs = inputs | {"decoder_input_ids": _own_translation(head_model, inputs)}
        answer = answer_of(head_model, inputs)
        shown = {
            name: values[:, :MOST_TOKENS] if name == "decoder_input_ids" else values for name, values in inputs.items()
        }
        maps = attention_maps(head_model, shown)
        picture = _picture(head_model, inputs) if "pixel_values" in inputs else None
    sides = _sides(head_model, shown, picture)
    banks = tuple(_bank(head_model, bank.bank, maps, sides[bank.bank]) for bank in head_model.grid.banks)
    return Seen(head_model.name, banks, off | head_model.removed, answer, picture, _pair_start(head_model, example))


def _own_translation(head_model: HeadModel, inputs: Inputs) -> Tensor:
    """The start token and what the model writes after it."""
    source = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    (written,) = generated(head_model, source)
    return torch.tensor([[start_token(head_model.model), *written]], device=head_model.device)


def _sides(head_model: HeadModel, inputs: Inputs, picture: Picture | None) -> dict[str, tuple[Tokens, Tokens]]:
    """By bank, the tokens that look and those that are looked at."""
    if picture is not None:
        source = _patch_names(picture)
    else:
        source = readable(tokenizer_of(head_model), inputs["input_ids"][0].tolist())
    target = source
    if "decoder_input_ids" in inputs:
        target = (START, *readable(tokenizer_of(head_model), inputs["decoder_input_ids"][0, 1:].tolist()))
    return {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}


def _bank(head_model: HeadModel, bank: str, maps: LayerMaps, sides: tuple[Tokens, Tokens]) -> SeenBank:
    queries, keys = sides
    n_before = max((found.shape[-1] - len(keys) for (name, _), found in maps.items() if name == bank), default=0)
    if n_before > 0:
        keys = (f"persistent ({n_before})", *keys)
    sites = [site for site in head_model.sites if site.bank == bank]
    layers = []
    for site in sites:
        found = maps.get((bank, site.layer))
        empty = np.zeros((0, len(queries), len(keys)), dtype=np.float32)
        layer = SeenLayer((), empty) if found is None else SeenLayer(site.kept, _folded(found, n_before))
        if layer.maps.shape[1:] != empty.shape[1:]:
            raise ValueError(
                f"{site.core} attends from {layer.maps.shape[1]} places to {layer.maps.shape[2]}; "
                f"allowed is one place a token, here {len(queries)} and {len(keys)}"
            )
        layers.append(layer)
    return SeenBank(bank, queries, keys, tuple(site.n_heads for site in sites), tuple(layers))


def _folded(attention: Tensor, n_before: int) -> Maps:
    """The maps with the keys before the text, if there are any, summed into one."""
    if n_before > 0:
        before = attention[..., :n_before].sum(dim=-1, keepdim=True)
        attention = torch.cat([before, attention[..., n_before:]], dim=-1)
    folded: Maps = attention.float().cpu().numpy()
    return folded


def _picture(head_model: HeadModel, inputs: Inputs) -> Picture:
    patch = head_model.model.config.patch_size
    patch_height, patch_width = patch if isinstance(patch, list | tuple) else (patch, patch)
    _, height, width = image_shape(head_model)
    rows, columns = height // patch_height, width // patch_width
    states = head_model.model(**inputs, output_hidden_states=True).hidden_states
    grey = inputs["pixel_values"][0].float().mean(dim=0)  # [height, width]
    ink = (grey - grey.min()) / (grey.max() - grey.min()).clamp(min=torch.finfo(torch.float32).tiny)
    return Picture(ink.cpu().numpy(), rows, columns, states[0].shape[1] - rows * columns)


def _patch_names(picture: Picture) -> Tokens:
    before = (CLASS, *[EXTRA] * picture.n_before)[: picture.n_before]
    patches = (f"{row + 1},{column + 1}" for row in range(picture.rows) for column in range(picture.columns))
    return (*before, *patches)


def _pair_start(head_model: HeadModel, example: Example) -> int | None:
    """Where the second text begins among the tokens, if the tokenizer can tell."""
    if example.pair is None:
        return None
    encoded = tokenizer_of(head_model)(example.text, example.pair)
    parts: list[int | None] = encoded.sequence_ids(0) if encoded.is_fast else []
    return parts.index(1) if 1 in parts else None
