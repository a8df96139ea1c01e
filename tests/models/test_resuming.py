from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
import transformers as hf
from torch import Tensor, nn

from headscope.models.example_inputs import output_tensor
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import accepted, probe_inputs
from headscope.models.partial_forward import Recording, recording, resuming, ungoverned
from headscope.models.sites import Site
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import FAMILIES, TEXT, family

EVERY_FAMILY = pytest.mark.parametrize("name", FAMILIES)
ROWS = 2


@cache
def precise(name: str) -> HeadModel:
    """The tiny model of a family in double precision."""
    head_model = family(name)
    return replace(head_model, model=copy.deepcopy(head_model.model).double())


@torch.no_grad()
def passed(head_model: HeadModel, times: int = 1) -> Tensor:
    inputs = probe_inputs(head_model.model, ROWS)
    rows = {name: value.repeat(times, *[1] * (value.dim() - 1)) for name, value in inputs.items()}
    found: Tensor = output_tensor(head_model.model(**rows, **accepted(head_model.model, use_cache=False)))
    return found


def output(head_model: HeadModel, gates: Tensor, times: int = 1) -> Tensor:
    with gated(head_model, gates):
        return passed(head_model, times)


def recorded(head_model: HeadModel, gates: Tensor) -> Recording:
    with recording(head_model, ROWS, ungoverned(head_model, lambda: passed(head_model))) as found:
        output(head_model, gates)
    return found


def in_order(found: Recording) -> list[Site]:
    return sorted(found.head_model.sites, key=found.beginning)


def columns(head_model: HeadModel, site: Site) -> list[int]:
    return [head_model.grid.positions[HeadId(site.bank, site.layer, head)] for head in site.kept]


def some_gates(head_model: HeadModel) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(2, (len(head_model.grid),), generator=generator).double()


def changed_from(found: Recording, reference: Tensor, first: Site) -> Tensor:
    """The reference with the first head of this layer turned over, and one of every later layer."""
    gates = reference.clone()
    later = [site for site in in_order(found) if found.beginning(site) >= found.beginning(first)]
    for site in later:
        gates[columns(found.head_model, site)[0]] = 1 - gates[columns(found.head_model, site)[0]]
    return gates


@EVERY_FAMILY
def test_a_resumed_pass_gives_what_a_whole_pass_gives_to_the_last_bit(name: str) -> None:
    head_model = precise(name)
    reference = some_gates(head_model)
    found = recorded(head_model, reference)
    for site in head_model.sites:
        gates = changed_from(found, reference, site)
        expected = output(head_model, gates)
        assert not torch.allclose(expected, output(head_model, reference))
        with resuming(found, site):
            assert torch.equal(output(head_model, gates), expected), site.core


@EVERY_FAMILY
def test_several_masks_in_one_pass_give_what_each_gives_alone(name: str) -> None:
    head_model = precise(name)
    reference = torch.ones(len(head_model.grid))
    found = recorded(head_model, reference)
    for site in head_model.sites:
        masks = [reference.clone() for _ in columns(head_model, site)]
        for mask, column in zip(masks, columns(head_model, site), strict=True):
            mask[column] = 0
        rows = torch.stack(masks).repeat_interleave(ROWS, dim=0)
        with resuming(found, site, len(masks)):
            together = output(head_model, rows, len(masks))
        alone = torch.cat([output(head_model, mask) for mask in masks])
        torch.testing.assert_close(together, alone, rtol=1e-9, atol=1e-11)


@contextmanager
def counted(modules: dict[str, nn.Module]) -> Iterator[list[str]]:
    """The names of modules that run, in order."""
    ran: list[str] = []

    def note(name: str, module: nn.Module, args: tuple[Any, ...]) -> None:
        del module, args
        ran.append(name)

    handles = [
        module.register_forward_pre_hook(lambda module, args, name=name: note(name, module, args))
        for name, module in modules.items()
    ]
    try:
        yield ran
    finally:
        for handle in handles:
            handle.remove()


@EVERY_FAMILY
def test_what_feeds_heads_before_the_change_does_not_run_again(name: str) -> None:
    head_model = precise(name)
    found = recorded(head_model, torch.ones(len(head_model.grid)))
    order = in_order(found)
    owners = {path: head_model.model.get_submodule(path) for site in order for path in site.owners}
    for number, site in enumerate(order):
        with counted(owners) as ran, resuming(found, site):
            output(head_model, torch.ones(len(head_model.grid)))
        expected = {path for later in order[number + 1 :] if later not in found.ungoverned for path in later.owners}
        shared = name == "albert"  # one layer that runs several times
        assert set(ran) == (set(owners) if shared else expected), site.core


def test_a_change_in_a_decoder_leaves_the_encoder_alone_and_one_in_the_encoder_does_not() -> None:
    head_model = precise("marian")
    found = recorded(head_model, torch.ones(len(head_model.grid)))
    banks = [(site.bank, site.layer) for site in in_order(found)]
    in_decoder = [(bank, layer) for layer in range(3) for bank in ("decoder", "cross")]
    assert banks == [("encoder", 0), ("encoder", 1), ("encoder", 2), *in_decoder]
    encoder, decoder = head_model.model.model.encoder.layers, head_model.model.model.decoder.layers
    assert {*encoder} < {*found.known(head_model.site("cross", 0))}
    assert not {*decoder} & {*found.known(head_model.site("cross", 0))}
    assert {encoder[0]} == {*encoder, *decoder} & {*found.known(head_model.site("encoder", 1))}


@EVERY_FAMILY
def test_no_gate_reaches_the_first_attention_of_an_encoder_and_of_a_decoder(name: str) -> None:
    head_model = precise(name)
    free = {(site.bank, site.layer) for site in ungoverned(head_model, lambda: passed(head_model))}
    has_both = {"encoder", "decoder"} <= {bank.bank for bank in head_model.grid.banks}
    assert free == ({("encoder", 0), ("decoder", 0)} if has_both else set())


def test_what_was_overwritten_after_it_was_given_is_computed_anew() -> None:
    head_model = precise("llama")

    def overwrite(module: nn.Module, args: tuple[Tensor, ...]) -> None:
        del module
        args[0].mul_(1.5)

    layers = head_model.model.model.layers
    handle = layers[1].register_forward_pre_hook(overwrite)
    try:
        reference = torch.ones(len(head_model.grid))
        found = recorded(head_model, reference)
        site = head_model.site("decoder", 2)
        gates = changed_from(found, reference, site)
        assert {layers[1]} == {*layers} & {*found.known(site)}
        expected = output(head_model, gates)
        with resuming(found, site):
            assert torch.equal(output(head_model, gates), expected)
    finally:
        handle.remove()


def shared(n_layers: int, n_groups: int) -> HeadModel:
    torch.manual_seed(0)
    config = hf.AlbertConfig(**TEXT | {"num_hidden_layers": n_layers}, embedding_size=16, num_hidden_groups=n_groups)
    model = hf.AlbertForSequenceClassification(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.25)
    return HeadModel.of(model)


@pytest.mark.parametrize(("n_layers", "n_groups"), [(1, 1), (4, 2)])
def test_layers_that_run_twice_or_go_on_after_their_projection_are_computed_anew(n_layers: int, n_groups: int) -> None:
    head_model = shared(n_layers, n_groups)
    reference = torch.ones(len(head_model.grid))
    found = recorded(head_model, reference)
    for site in head_model.sites:
        gates = changed_from(found, reference, site)
        expected = output(head_model, gates)
        assert not torch.allclose(expected, output(head_model, reference))
        with resuming(found, site):
            assert torch.equal(output(head_model, gates), expected), site.core


def test_hooks_of_others_act_once_on_what_is_given_again() -> None:
    head_model = precise("llama")
    site = head_model.site("decoder", 2)
    layer, core = head_model.model.model.layers[1], head_model.model.get_submodule(site.core)
    handles = [
        layer.register_forward_hook(lambda *call: call[-1] * 1.5),
        core.register_forward_hook(lambda *call: (call[-1][0] * 1.5, *call[-1][1:])),
    ]
    try:
        reference = torch.ones(len(head_model.grid))
        found = recorded(head_model, reference)
        gates = changed_from(found, reference, site)
        assert {layer, core} < {*found.known(site)}
        expected = output(head_model, gates)
        with resuming(found, site):
            assert torch.equal(output(head_model, gates), expected)
    finally:
        for handle in handles:
            handle.remove()


def test_a_smaller_model_resumes_too() -> None:
    head_model = precise("llama")
    gone = frozenset(head for head in head_model.grid if head.layer == 1 or head.head == 0)
    smaller = without_heads(head_model, HeadMask(head_model.grid, gone))
    reference = torch.ones(len(smaller.grid))
    found = recorded(smaller, reference)
    site = smaller.site("decoder", 2)
    gates = changed_from(found, reference, site)
    layers = smaller.model.model.layers
    assert {*layers[:2]} < {*found.known(site)}
    expected = output(smaller, gates)
    with resuming(found, site):
        assert torch.equal(output(smaller, gates), expected)


def state(head_model: HeadModel) -> list[Any]:
    modules = list(head_model.model.modules())
    return [[*map(vars, modules)], [[*module._forward_pre_hooks, *module._forward_hooks] for module in modules]]


def test_the_model_is_left_as_it_was_even_after_an_error() -> None:
    head_model = precise("bert")
    gates = torch.ones(len(head_model.grid))
    output(head_model, gates)
    before = copy.copy([set(names) for names in state(head_model)[0]]), state(head_model)[1]
    found = recorded(head_model, gates)
    with pytest.raises(ValueError, match="gates for 3 examples"), resuming(found, head_model.sites[-1]):
        assert any("forward" in vars(module) for module in head_model.model.modules())
        output(head_model, gates.repeat(3, 1))
    with pytest.raises(ValueError, match="gates for 3 examples"):
        recorded(head_model, gates.repeat(3, 1))
    assert ([set(names) for names in state(head_model)[0]], state(head_model)[1]) == before


def test_a_forward_of_the_instance_is_put_back() -> None:
    head_model = precise("bert")
    layer = head_model.model.bert.encoder.layer[0]
    own = layer.forward
    layer.__dict__["forward"] = own
    try:
        gates = torch.ones(len(head_model.grid))
        found = recorded(head_model, gates)
        with resuming(found, head_model.sites[-1]), resuming(found, head_model.sites[-1]):
            assert layer.__dict__["forward"] is not own
        assert layer.__dict__["forward"] is own
    finally:
        del layer.__dict__["forward"]


def test_other_threads_are_neither_recorded_nor_resumed() -> None:
    head_model = precise("gpt2")
    gates, other = torch.ones(len(head_model.grid)), some_gates(head_model)
    expected = output(head_model, other)
    seen = []

    def run_elsewhere() -> None:
        thread = threading.Thread(target=lambda: seen.append(output(head_model, other)))
        thread.start()
        thread.join()

    with recording(head_model, ROWS) as found:
        run_elsewhere()
        output(head_model, gates)
    with resuming(found, head_model.sites[-1]):
        run_elsewhere()
    assert all(torch.equal(one, expected) for one in seen) and len(seen) == 2
    assert len(found.known(head_model.sites[-1])) == 2 * len(head_model.sites) - 1
