import gc
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
import transformers as hf
from torch import Tensor, nn
from transformers import AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import probe_inputs
from headscope.models.recording import maps as capture
from headscope.models.recording.attention_statistics import HeadStatistics, query_sums
from headscope.models.recording.maps import WATCHED, attention_maps, summarise, watching
from headscope.models.sites import Site
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import FAMILIES, TEXT
from tests.models.capture_reference import (
    EAGER_ONLY,
    SETTINGS,
    assert_same_maps,
    assert_same_outputs,
    captured,
    lively,
    lively_model,
    padded_inputs,
    reference,
    set_to,
    settings_of,
)


@pytest.fixture(autouse=True)
def two_queries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "QUERIES_AT_ONCE", 2)


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_watching_sees_what_eager_attention_computes_and_changes_nothing(name: str, setting: str) -> None:
    inputs = padded_inputs(lively(name).model)
    expected = reference(lively(name), inputs)
    assert max(float(attention.std()) for calls in expected.values() for attention in calls) > 0.05, "too even to tell"
    head_model = set_to(lively(name), setting)
    before = settings_of(head_model.model)
    found, outputs = captured(head_model, inputs)
    assert_same_maps(found, expected, inputs)
    with torch.no_grad():
        assert_same_outputs(outputs, head_model.model(**inputs)[0], inputs)
    assert settings_of(head_model.model) == before
    assert set(before) == {setting}


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "deberta-v2"])
def test_nothing_is_left_behind_when_the_body_raises(name: str) -> None:
    head_model = lively(name)
    before = settings_of(head_model.model), hooks_of(head_model.model)

    def refuse(site: Site, attention: Tensor, first_query: int) -> None:
        raise RuntimeError(f"{site.core} {attention.shape} {first_query}")

    with pytest.raises(RuntimeError, match="Size"), watching(head_model, refuse):
        head_model.model(**probe_inputs(head_model.model))
    assert (settings_of(head_model.model), hooks_of(head_model.model)) == before
    assert capture._LOANS == {}
    head_model.model(**probe_inputs(head_model.model))


def hooks_of(model: PreTrainedModel) -> list[int]:
    return [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]


def test_every_part_of_a_model_gets_its_own_setting_back() -> None:
    encoder = hf.BertModel(hf.BertConfig(**TEXT))
    decoder = hf.BertLMHeadModel(hf.BertConfig(**TEXT, is_decoder=True, add_cross_attention=True))
    head_model = lively_model(hf.EncoderDecoderModel(encoder=encoder, decoder=decoder))
    model = head_model.model
    model.set_attn_implementation({"": "sdpa", "encoder": "eager", "decoder": "sdpa"})
    parts = [model.config, model.config.encoder, model.config.decoder]
    inputs = padded_inputs(model)
    expected = model(**inputs).logits
    with watching(head_model, lambda *_: None):
        assert [part._attn_implementation for part in parts] == [WATCHED] * 3
        found = model(**inputs).logits
    assert_same_outputs(found, expected, inputs)
    assert [part._attn_implementation for part in parts] == ["sdpa", "eager", "sdpa"]


@pytest.mark.parametrize("name", ["bert", "deberta-v2"])
def test_no_map_is_alive_when_the_next_arrives(name: str) -> None:
    head_model = lively(name)
    inputs = probe_inputs(head_model.model, 2)
    handed_out: list[weakref.ref[Tensor]] = []
    alive: list[int] = []

    def look(site: Site, attention: Tensor, first_query: int) -> None:
        del site
        if first_query == 0:
            assert all(earlier() is None for earlier in handed_out)
            alive.append(live_maps(attention))
        handed_out.append(weakref.ref(attention))

    with torch.no_grad(), watching(head_model, look):
        outputs = head_model.model(**inputs)
    assert len(alive) >= 3
    assert max(alive) == 1
    assert all(earlier() is None for earlier in handed_out)
    del outputs


def live_maps(attention: Tensor) -> int:
    """How many different tensors in memory have the batch, heads and keys of this map."""
    shape = attention.shape
    found = set()
    for thing in gc.get_objects():
        if type(thing) is Tensor and thing.dim() == 4 and thing.shape[:2] == shape[:2] and thing.shape[3] == shape[3]:
            found.add(thing.untyped_storage().data_ptr())
    return len(found)


@pytest.mark.parametrize("name", ["bert", "deberta-v2"])
def test_a_watched_model_keeps_no_map_even_if_asked(name: str) -> None:
    head_model = set_to(lively(name), "eager")
    inputs = probe_inputs(head_model.model)
    assert len(head_model.model(**inputs, output_attentions=True).attentions) == 3
    with watching(head_model, lambda *_: None):
        outputs = head_model.model(**inputs, output_attentions=True)
    assert not any(isinstance(attention, Tensor) for attention in outputs.attentions or ())


@pytest.mark.parametrize("name", ["bert", "marian", "gemma2", "deberta-v2"])
def test_attention_maps_are_whole_and_of_one_example(name: str) -> None:
    head_model = lively(name)
    inputs = probe_inputs(head_model.model)
    maps = attention_maps(head_model, inputs)
    assert_same_maps({layer: [one[None]] for layer, one in maps.items()}, reference(head_model, inputs), inputs)
    with pytest.raises(ValueError, match="batch size 2; allowed is one example"):
        attention_maps(head_model, probe_inputs(head_model.model, 2))


def test_the_map_of_a_shared_layer_is_the_mean_of_its_calls() -> None:
    head_model = lively("albert")
    inputs = probe_inputs(head_model.model)
    calls = reference(head_model, inputs)["encoder", 0]
    assert len(calls) == 3
    torch.testing.assert_close(attention_maps(head_model, inputs)["encoder", 0], torch.cat(calls).mean(0))


@pytest.mark.parametrize(("batch", "side"), [(1, "left"), (2, "right"), (3, "left"), (4, "right")])
@pytest.mark.parametrize("name", ["bert", "gpt2", "marian", "vit"])
def test_statistics_are_those_of_full_maps_without_padding_and_special_tokens(name: str, batch: int, side: str) -> None:
    head_model = lively(name)
    inputs = padded_inputs(head_model.model, 4, side)
    exclude = [int(value[0, 3]) for key, value in inputs.items() if key.endswith("input_ids")]
    batches = [{key: value[first : first + batch] for key, value in inputs.items()} for first in range(0, 4, batch)]
    found = summarise(head_model, batches, exclude)
    expected = from_full_maps(head_model, inputs, exclude)
    assert found.keys() == expected.keys() == set(head_model.grid)
    for head, statistics in found.items():
        assert_same_statistics(statistics, expected[head])


def from_full_maps(
    head_model: HeadModel, inputs: Mapping[str, Tensor], exclude: list[int]
) -> dict[HeadId, HeadStatistics]:
    maps = reference(head_model, inputs)

    def valid(side: str, size: int) -> Tensor:
        tokens = inputs.get(f"{side}input_ids")
        if tokens is None:
            return torch.ones(4, size, dtype=torch.bool)
        admitted = [[token not in exclude for token in row] for row in tokens.tolist()]
        return torch.tensor(admitted) & inputs[f"{side}attention_mask"].bool()

    target = "decoder_" if head_model.model.config.is_encoder_decoder else ""
    sides = {"encoder": ("", ""), "decoder": (target, target), "cross": (target, "")}
    statistics = {}
    for (bank, layer), (attention,) in maps.items():
        queries, keys = (valid(side, attention.shape[dim]) for side, dim in zip(sides[bank], (2, 3), strict=True))
        for head, averages in enumerate(query_sums(attention, queries, keys).averages()):
            statistics[HeadId(bank, layer, head)] = averages
    return statistics


def assert_same_statistics(found: HeadStatistics, expected: HeadStatistics) -> None:
    assert found.n_queries == expected.n_queries
    assert found.confidence == pytest.approx(expected.confidence, abs=1e-5)
    assert found.entropy == pytest.approx(expected.entropy, abs=1e-5)
    assert found.mass == pytest.approx(expected.mass, abs=1e-5)
    assert found.argmax == pytest.approx(expected.argmax, abs=1e-5)


def test_labels_stand_for_the_decoder_inputs_that_the_model_makes_of_them() -> None:
    head_model = lively("bart")
    inputs = padded_inputs(head_model.model)
    labels = inputs["decoder_input_ids"].masked_fill(inputs["decoder_attention_mask"] == 0, -100)
    source = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    decoder_inputs = head_model.model.prepare_decoder_input_ids_from_labels(labels)
    given = source | {"decoder_input_ids": decoder_inputs, "decoder_attention_mask": (labels != -100).long()}
    exclude = [int(labels[0, 1])]
    assert int((decoder_inputs == exclude[0]).sum()) == 1
    expected = summarise(head_model, [given], exclude)
    for head, statistics in summarise(head_model, [source | {"labels": labels}], exclude).items():
        assert_same_statistics(statistics, expected[head])


def test_batches_of_different_length_are_summarised_together() -> None:
    head_model = lively("gpt2")
    short, long = ({"input_ids": torch.randint(5, 50, (2, length))} for length in (3, 8))
    both = summarise(head_model, [short, long])
    apart = [summarise(head_model, [batch]) for batch in (short, long)]
    for head, statistics in both.items():
        assert statistics.n_queries == 2 * 3 + 2 * 8
        confidences = [part[head].confidence * part[head].n_queries for part in apart]
        assert statistics.confidence == pytest.approx(sum(confidences) / statistics.n_queries)
        assert sum(statistics.mass) == pytest.approx(1)


@pytest.mark.parametrize("name", ["bert", "marian", "t5", "llama", "qwen3", "gemma2", "deberta-v2"])
@pytest.mark.parametrize("setting", ["eager", "sdpa"])
def test_a_pruned_model_reports_the_heads_that_are_left_under_their_own_numbers(name: str, setting: str) -> None:
    if setting == "sdpa" and name in EAGER_ONLY:
        pytest.skip("no sdpa")
    head_model = set_to(lively(name), setting)
    last = head_model.sites[-1]
    first = head_model.sites[0]
    uneven = HeadId(first.bank, first.layer, 1)  # where heads share keys and values, groups of one and of two are left
    mask = HeadMask(head_model.grid).prune(uneven, *(HeadId(last.bank, last.layer, head) for head in (0, 2, 3)))
    smaller = without_heads(head_model, mask)
    inputs = padded_inputs(head_model.model)
    with gated(head_model, mask.as_gates()):
        expected, _ = captured(head_model, inputs)
    for site in smaller.sites:
        layer = site.bank, site.layer
        expected[layer] = [attention[:, list(site.kept)] for attention in expected[layer]]
    assert_same_maps(captured(smaller, inputs)[0], expected, inputs)
    assert summarise(smaller, [inputs]).keys() == mask.kept


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "llama", "deberta-v2"])
def test_a_layer_without_heads_is_not_reported(name: str) -> None:
    head_model = lively(name)
    first = head_model.sites[0]
    emptied = HeadMask(head_model.grid, frozenset(head_model.grid.layer(first.bank, first.layer)))
    smaller = without_heads(head_model, emptied)
    inputs = padded_inputs(head_model.model)
    expected = smaller.model(**inputs)[0]
    maps, outputs = captured(smaller, inputs)
    assert (first.bank, first.layer) not in maps
    assert len(maps) == len(head_model.sites) - 1
    assert_same_outputs(outputs, expected, inputs)


@pytest.mark.parametrize("name", ["bert", "marian", "deberta-v2"])
def test_maps_are_read_behind_closed_gates(name: str) -> None:
    head_model = lively(name)
    inputs = padded_inputs(head_model.model)
    gates = torch.ones(len(head_model.grid), dtype=torch.float64)
    gates[0] = 0.0
    open_maps, _ = captured(head_model, inputs)
    with gated(head_model, gates):
        closed, _ = captured(head_model, inputs)
        assert_same_maps(closed, reference(head_model, inputs), inputs)
    assert not torch.allclose(closed["encoder", 1][0], open_maps["encoder", 1][0], atol=1e-3)


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral, window of 3", "marian", "t5"])
def test_generation_reports_one_query_a_step_with_the_rows_of_the_full_map(name: str) -> None:
    head_model = set_to(lively(name), "sdpa")
    prompt = {"input_ids": probe_inputs(head_model.model)["input_ids"]}
    rows: dict[int, list[Tensor]] = defaultdict(list)

    def keep(site: Site, attention: Tensor, first_query: int) -> None:
        del first_query
        if site.bank == "decoder":
            rows[site.layer].append(attention[0])

    options: dict[str, Any] = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    with watching(head_model, keep):
        tokens = head_model.model.generate(**prompt, **options)
    assert tokens.tolist() == head_model.model.generate(**prompt, **options).tolist()
    own = {"decoder_input_ids": tokens} if head_model.model.config.is_encoder_decoder else {"input_ids": tokens}
    full = attention_maps(head_model, prompt | own)
    for layer, steps in rows.items():
        attention = full["decoder", layer]
        for back, step in enumerate(reversed(steps[-3:])):
            query = tokens.shape[1] - 2 - back
            keys = slice(query + 1 - step.shape[-1], query + 1)  # a sliding cache holds the last few keys
            assert step.shape[1] == 1
            torch.testing.assert_close(step[:, 0], attention[:, query, keys], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["bert", "deberta-v2"])
def test_two_watchers_in_one_thread_both_see_everything(name: str) -> None:
    head_model = lively(name)
    inputs = probe_inputs(head_model.model)
    seen: dict[str, list[Tensor]] = defaultdict(list)
    with (
        torch.no_grad(),
        watching(head_model, lambda _, attention, __: seen["outer"].append(attention)),
        watching(head_model, lambda _, attention, __: seen["inner"].append(attention)),
    ):
        head_model.model(**inputs)
    assert len(seen["outer"]) == len(seen["inner"]) == 3 * 4
    for outer, inner in zip(seen["outer"], seen["inner"], strict=True):
        torch.testing.assert_close(outer, inner)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "llama", "mistral, window of 3", "deberta-v2"])
@pytest.mark.parametrize("setting", ["eager", "sdpa"])
@pytest.mark.parametrize("begins", ["before", "during"])
def test_another_thread_gets_the_same_results_wherever_watching_begins_and_ends(
    name: str, setting: str, begins: str
) -> None:
    if setting == "sdpa" and name in EAGER_ONLY:
        pytest.skip("no sdpa")
    head_model = set_to(lively(name), setting)
    model = head_model.model
    inputs = padded_inputs(model) if name != "llama" else probe_inputs(model, 3)
    expected = model(**inputs)[0].detach()
    half_way, go_on = threading.Event(), threading.Event()
    results: list[Tensor] = []

    def pause(*_: Any) -> None:
        if threading.current_thread() is other:
            half_way.set()
            assert go_on.wait(20)

    def run() -> None:
        with torch.no_grad():
            results.append(model(**inputs)[0])

    def to_half_way() -> None:
        other.start()
        assert half_way.wait(20)

    seen: list[Site] = []
    other = threading.Thread(target=run)
    handle = model.get_submodule(head_model.sites[1].core).register_forward_pre_hook(pause)
    try:
        if begins == "before":
            to_half_way()
        with watching(head_model, lambda site, *_: seen.append(site)):
            if begins == "during":
                to_half_way()
            else:
                go_on.set()
                other.join(20)
        go_on.set()
        other.join(20)
    finally:
        handle.remove()
    assert seen == []
    (found,) = results
    assert_same_outputs(found, expected, inputs)


def test_a_thread_that_watches_still_does_when_another_has_stopped_watching() -> None:
    head_model = set_to(lively("bert"), "sdpa")
    inputs = probe_inputs(head_model.model)
    entered, leave = threading.Event(), threading.Event()

    def watch_for_a_while() -> None:
        with watching(head_model, lambda *_: None):
            entered.set()
            assert leave.wait(20)

    other = threading.Thread(target=watch_for_a_while)
    other.start()
    assert entered.wait(20)
    seen: list[int] = []
    with watching(head_model, lambda site, *_: seen.append(site.layer)):
        leave.set()
        other.join(20)
        head_model.model(**inputs)
    assert sorted(set(seen)) == [0, 1, 2]
    assert set(settings_of(head_model.model)) == {"sdpa"}


def test_gradients_reach_the_gates_of_a_watched_model() -> None:
    head_model = lively("llama")
    inputs = probe_inputs(head_model.model)
    gradients = []
    for watched in (False, True):
        gates = torch.ones(len(head_model.grid), dtype=torch.float64, requires_grad=True)
        with gated(head_model, gates):
            if watched:
                with watching(head_model, lambda *_: None):
                    loss = head_model.model(**inputs)[0].square().sum()
            else:
                loss = head_model.model(**inputs)[0].square().sum()
        gradients += torch.autograd.grad(loss, gates)
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-4, rtol=1e-5)


class Stubborn(nn.Module):
    """An attention that tells nobody what it does."""

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, None]:
        del args, kwargs
        return hidden_states, None


class Forgetful(Stubborn):
    """An attention that can be asked but does not answer."""

    def forward(self, hidden_states: Tensor, *args: Any, output_attentions: bool = False, **kwargs: Any) -> Any:
        del output_attentions
        return super().forward(hidden_states, *args, **kwargs)


@pytest.fixture
def one_bert() -> Iterator[HeadModel]:
    yield lively_model(FAMILIES["bert"]())


def test_a_module_that_cannot_be_read_is_named(one_bert: HeadModel) -> None:
    core = one_bert.model.get_submodule(one_bert.sites[1].core)
    core.__class__ = Stubborn
    with pytest.raises(ValueError, match=r"attention of bert\.encoder\.layer\.1\.attention\.self \(Stubborn\)"):
        attention_maps(one_bert, probe_inputs(one_bert.model))
    core.__class__ = Forgetful
    with pytest.raises(ValueError, match=r"layer\.1\.attention\.self \(Forgetful\); its output has none"):
        attention_maps(one_bert, probe_inputs(one_bert.model))
    assert set(settings_of(one_bert.model)) == {"sdpa"}


def test_masks_are_made_for_the_watched_setting_too() -> None:
    assert AttentionMaskInterface()[WATCHED] is eager_mask
