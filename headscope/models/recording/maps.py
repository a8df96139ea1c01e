"""Reads attention while a model runs: every map is handed on as soon as it is computed, and none is kept.

For as long as somebody watches, the attention setting of the model is a function of our own, which runs the model's own
eager attention on a few queries at a time. Attention modules that do not go through transformers' AttentionInterface
(DeBERTa) are asked for their probabilities instead, which are taken out of their output again.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import accepted
from headscope.models.recording.attention_statistics import (
    Attention,
    AttentionMap,
    AttentionSummary,
    HeadStatistics,
    query_sums,
)
from headscope.models.sites import Site

WATCHED = "headscope_watched"
QUERIES_AT_ONCE = 64
IGNORED_LABEL = -100

Consumer = Callable[[Site, Attention, int], None]
Valid = Bool[Tensor, "batch position"]


@contextmanager
def watching(head_model: HeadModel, consumer: Consumer) -> Iterator[None]:
    """Hands the attention of every layer to `consumer(site, attention, first_query)` while the context lasts.

    `attention` are the softmax probabilities of the heads `site.kept` for the queries of this call that begin at
    `first_query`, all of them or the next few. A layer that runs several times in a pass is reported each time, a layer
    without heads never. Only the current thread is watched; others that share the model compute what they always do.
    The model should be in eval mode: attention dropout is left out where possible, and the model's own
    `output_attentions` gives nothing.
    """
    model = head_model.model
    sites = {model.get_submodule(site.core): site for site in head_model.sites if site.kept}
    with ExitStack() as stack:
        for target, change in _changes(model, sites):
            stack.enter_context(_changed(target, change))
        token = _WATCHERS.set((*_WATCHERS.get(), _Watcher(sites, consumer)))
        stack.callback(_WATCHERS.reset, token)
        yield


@torch.no_grad()
def attention_maps(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> dict[tuple[str, int], AttentionMap]:
    """The whole maps of one example by (bank, layer); heads in the order of `site.kept`.

    A layer that runs several times in one pass gives the mean of its maps.
    """
    sizes = {value.shape[0] for value in inputs.values()}
    if sizes != {1}:
        raise ValueError(f"inputs of batch size {', '.join(map(str, sorted(sizes)))}; allowed is one example")
    calls: dict[tuple[str, int], list[list[AttentionMap]]] = {}

    def keep(site: Site, attention: Attention, first_query: int) -> None:
        layer = calls.setdefault((site.bank, site.layer), [])
        if first_query == 0:
            layer.append([])
        layer[-1].append(attention[0])

    with watching(head_model, keep):
        _run(head_model.model, inputs)
    return {
        layer: torch.stack([torch.cat(parts, dim=-2) for parts in maps]).mean(dim=0) for layer, maps in calls.items()
    }


@torch.no_grad()
def summarise(
    head_model: HeadModel, batches: Iterable[Mapping[str, Tensor]], exclude: Collection[int] = ()
) -> dict[HeadId, HeadStatistics]:
    """Statistics of every live head over all batches, which are inputs of the model.

    Padding (by the attention masks) and tokens in `exclude`, such as [CLS] and [SEP], count neither as queries nor as
    keys. Batches may differ in size and length.
    """
    summary = AttentionSummary()
    for batch in batches:
        inputs = {name: value.to(head_model.device) for name, value in batch.items()}
        valid = _valid_positions(head_model.model, inputs, exclude)
        with watching(head_model, partial(_add, summary, valid)):
            _run(head_model.model, inputs)
    return summary.statistics()


def _add(
    summary: AttentionSummary,
    valid: Mapping[str, tuple[Valid | None, Valid | None]],
    site: Site,
    attention: Attention,
    first_query: int,
) -> None:
    queries, keys = valid[site.bank]
    if queries is not None:
        queries = queries[:, first_query : first_query + attention.shape[-2]]
    if keys is not None:  # keys before the tokens are vectors of the layer's own
        attention = attention[..., attention.shape[-1] - keys.shape[-1] :]
    summary.add(site, query_sums(attention, queries, keys, first_query))


def _run(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> None:
    model(**{name: value.to(model.device) for name, value in inputs.items()}, **accepted(model, use_cache=False))


def _valid_positions(
    model: PreTrainedModel, inputs: Mapping[str, Tensor], exclude: Collection[int]
) -> dict[str, tuple[Valid | None, Valid | None]]:
    """By bank, which queries and which keys count; None where all do (images and sound have no tokens)."""
    reads_tokens = model.main_input_name == "input_ids"
    source = _valid(inputs.get("input_ids"), inputs.get("attention_mask"), exclude) if reads_tokens else None
    if not model.config.is_encoder_decoder:
        memory = _valid(None, inputs.get("encoder_attention_mask"), exclude)
        return {"encoder": (source, source), "decoder": (source, source), "cross": (source, memory)}
    target = _valid_target(model, inputs, exclude)
    return {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}


def _valid_target(model: PreTrainedModel, inputs: Mapping[str, Tensor], exclude: Collection[int]) -> Valid | None:
    tokens, mask = inputs.get("decoder_input_ids"), inputs.get("decoder_attention_mask")
    if tokens is None and "labels" in inputs:  # the model reads its labels, one place to the right
        labels = inputs["labels"]
        mask = labels != IGNORED_LABEL
        tokens = labels.roll(1, dims=1)
        tokens[:, 0] = model.config.decoder_start_token_id
    return _valid(tokens, mask, exclude)


def _valid(tokens: Tensor | None, mask: Tensor | None, exclude: Collection[int]) -> Valid | None:
    if tokens is None:
        return None if mask is None else mask.bool()
    ordinary = ~torch.isin(tokens, torch.tensor(sorted(exclude), dtype=tokens.dtype, device=tokens.device))
    return ordinary if mask is None else ordinary & mask.bool()


@dataclass(frozen=True, eq=False)
class _Watcher:
    sites: Mapping[nn.Module, Site]
    consumer: Consumer


_WATCHERS: ContextVar[tuple[_Watcher, ...]] = ContextVar("attention_watchers", default=())


def _watchers_of(core: nn.Module) -> list[_Watcher]:
    return [watcher for watcher in _WATCHERS.get() if core in watcher.sites]


def _watched_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """The module's own eager attention, some queries at a time if somebody in this thread watches."""
    attend = _eager_attention(module)
    mask = _additive(attention_mask, module, query, key, options.get("is_causal"))
    watchers = _watchers_of(module)
    if not watchers:
        output, attention = attend(module, query, key, value, mask, **options)
        return output, attention
    outputs = []
    for first in range(0, query.shape[2], QUERIES_AT_ONCE):
        rows = slice(first, first + QUERIES_AT_ONCE)
        own = options | {"dropout": 0.0}
        if options.get("position_bias") is not None:
            own["position_bias"] = _rows(options["position_bias"], rows)
        output, attention = attend(module, query[:, :, rows], key, value, _rows(mask, rows), **own)
        _report(watchers, module, attention, first)
        del attention  # before the next is made
        outputs.append(output)
    return torch.cat(outputs, dim=1), None


# Masks that are added to scores, as those of eager attention are, suit every other setting as well. That matters to a
# thread in which the setting changes between the making of the mask and its use.
AttentionInterface.register(WATCHED, _watched_attention)
AttentionMaskInterface.register(WATCHED, eager_mask)


def _eager_attention(module: nn.Module) -> Callable[..., Any]:
    """The eager attention function of the file in which the module's forward pass is written."""
    eager: Callable[..., Any] = _forward(module).__globals__["eager_attention_forward"]
    return eager


def _additive(
    mask: Tensor | None, module: nn.Module, query: Tensor, key: Tensor, is_causal: bool | None
) -> Tensor | None:
    """The mask as numbers to add to scores; None may stand for a causal mask, as transformers' sdpa has it."""
    n_queries, n_keys = query.shape[2], key.shape[2]
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if mask is None and causal and n_queries > 1:
        mask = torch.ones(n_queries, n_keys, dtype=torch.bool, device=query.device).tril()[None, None]
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=query.dtype, device=mask.device).masked_fill(
        ~mask, torch.finfo(query.dtype).min
    )


def _rows(values: Tensor | None, rows: slice) -> Tensor | None:
    """Some queries of a mask or a bias, which may be the same for all queries."""
    return values if values is None or values.shape[-2] == 1 else values[..., rows, :]


def _report(watchers: Iterable[_Watcher], core: nn.Module, attention: Attention, first_query: int) -> None:
    for watcher in watchers:
        watcher.consumer(watcher.sites[core], attention.detach(), first_query)


_Change = Callable[[Any], Callable[[], None]]


def _changes(model: PreTrainedModel, sites: Mapping[nn.Module, Site]) -> list[tuple[object, _Change]]:
    """What must change, and how, so that every layer reports."""
    cores = [core for core in sites if _uses_interface(core)]
    changes: list[tuple[object, _Change]] = [(config, _watch_setting) for config in _settings(model, cores)]
    for core in sites.keys() - set(cores):
        if "output_attentions" not in inspect.signature(core.forward).parameters:
            raise ValueError(
                f"cannot read the attention of {sites[core].core} ({type(core).__name__}); "
                "allowed are modules that use transformers' AttentionInterface or take output_attentions"
            )
        changes.append((core, _watch_outputs))
    return changes


def _forward(module: nn.Module) -> Any:
    return inspect.unwrap(type(module).forward)


def _uses_interface(core: nn.Module) -> bool:
    forward = _forward(core)
    return (
        "ALL_ATTENTION_FUNCTIONS" in forward.__code__.co_names
        and "eager_attention_forward" in forward.__globals__
        and hasattr(core, "config")
    )


def _settings(model: PreTrainedModel, cores: Collection[nn.Module]) -> list[Any]:
    """Every config that decides how these modules attend, or which masks they are given."""
    if not cores:
        return []
    # a pruned layer may hold a config of its own that leads back to that of its stack, see headscope/models/shrink.py
    found = [getattr(core, "stack_config", core.config) for core in cores]
    found += [module.config for module in model.modules() if isinstance(module, PreTrainedModel)]
    return list({id(config): config for top in found for config in _with_parts(top)}.values())


def _with_parts(config: Any) -> Iterator[Any]:
    yield config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if part is not None:
            yield from _with_parts(part)


def _watch_setting(config: Any) -> Callable[[], None]:
    before = config._attn_implementation_internal
    config._attn_implementation_internal = WATCHED
    return partial(setattr, config, "_attn_implementation_internal", before)


def _watch_outputs(core: nn.Module) -> Callable[[], None]:
    handles = ExitStack()
    handles.callback(core.register_forward_pre_hook(_ask_for_attention, with_kwargs=True).remove)
    handles.callback(core.register_forward_hook(_take_attention).remove)
    return handles.close


def _ask_for_attention(
    core: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The call with attention asked for; without `kwargs` the hook was removed while another thread came to call it."""
    if kwargs is None or not _watchers_of(core):
        return None
    call = inspect.signature(core.forward).bind(*args, **kwargs)
    call.arguments["output_attentions"] = True
    return call.args, call.kwargs


def _take_attention(core: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
    """The output without the probabilities, which go to those who watch."""
    del args
    watchers = _watchers_of(core)
    if not watchers:
        return None
    site = watchers[0].sites[core]
    places = [place for place, part in enumerate(output) if _is_attention(part, len(site.kept))]
    if len(places) != 1:
        raise ValueError(f"cannot read the attention of {site.core} ({type(core).__name__}); its output has none")
    attention = output[places[0]]
    for first in range(0, attention.shape[2], QUERIES_AT_ONCE):
        _report(watchers, core, attention[:, :, first : first + QUERIES_AT_ONCE], first)
    return tuple(None if place in places else part for place, part in enumerate(output))


def _is_attention(part: Any, n_heads: int) -> bool:
    return isinstance(part, Tensor) and part.dim() == 4 and part.shape[1] == n_heads


@dataclass
class _Loan:
    """A change in force, and how many contexts rely on it."""

    target: object
    undo: Callable[[], None]
    users: int = 0


_LOANS: dict[int, _Loan] = {}
_LOCK = threading.Lock()


@contextmanager
def _changed(target: object, change: _Change) -> Iterator[None]:
    """Changes the target once however many contexts and threads ask for it; the last to leave undoes it."""
    with _LOCK:
        if id(target) not in _LOANS:
            _LOANS[id(target)] = _Loan(target, change(target))
        _LOANS[id(target)].users += 1
    try:
        yield
    finally:
        with _LOCK:
            loan = _LOANS[id(target)]
            loan.users -= 1
            if loan.users == 0:
                del _LOANS[id(target)]
                loan.undo()
