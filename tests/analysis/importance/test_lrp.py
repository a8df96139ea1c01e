from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as hf
from torch import Tensor, nn

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.lrp import Conservation, Relevance, conservation, shares, traced
from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.head_model import HeadModel
from headscope.models.loading.known_models import specimen_names
from headscope.models.loading.loader import load
from headscope.models.relevance.operations import AttentionRule
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import fresh, subject
from tests.families import FAMILIES
from tests.models.capture_reference import lively_model, padded_inputs
from tests.reference.lrp import gpt2_relevances

RULES = pytest.mark.parametrize("rule", ["cp", "attnlrp"])
TOKENS = [[3, 1, 4, 2], [7, 5, 8, 6]]


def with_biases(head_model: HeadModel) -> HeadModel:
    """The model with no bias and no norm left as it starts out."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in head_model.model.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return head_model


def tiny_gpt2() -> HeadModel:
    torch.manual_seed(0)
    config = hf.GPT2Config(
        vocab_size=11, n_embd=8, n_layer=3, n_head=2, n_inner=12, n_positions=8, bos_token_id=0, eos_token_id=0
    )
    return with_biases(lively_model(hf.GPT2LMHeadModel(config)))


@pytest.mark.parametrize("family", FAMILIES)
def test_relevance_in_equals_relevance_out_with_biases_counted(family: str) -> None:
    torch.manual_seed(0)
    head_model = with_biases(lively_model(FAMILIES[family]()))
    inputs = padded_inputs(head_model.model)
    found = conservation(head_model, inputs)
    assert found.end + found.biases == pytest.approx(found.start, rel=1e-4)
    assert found.gap < 1e-6
    attentive = conservation(head_model, inputs, "attnlrp")
    assert attentive.end + attentive.biases == pytest.approx(attentive.start, rel=1e-4)
    assert attentive.start == pytest.approx(found.start)
    assert abs(attentive.end - found.end) > 1e-3 * abs(found.start)


@pytest.mark.parametrize("name", specimen_names())
@RULES
def test_relevance_is_conserved_in_every_specimen(name: str, rule: AttentionRule) -> None:
    head_model = load(name, device="cpu")
    found = conservation(head_model, example_inputs(head_model), rule)
    assert found.end + found.biases == pytest.approx(found.start, rel=1e-4)
    assert abs(found.end) > 1e-2 * abs(found.start)


@RULES
def test_head_relevances_are_those_of_the_rules_carried_out_neuron_by_neuron(rule: AttentionRule) -> None:
    head_model = tiny_gpt2()
    judged = torch.tensor([[True, True, True, False], [True, True, False, False]])
    trace = traced(head_model, {"input_ids": torch.tensor(TOKENS)}, judged, rule)
    found = torch.stack([trace.layers[site] for site in head_model.sites], dim=1).numpy()
    expected = [gpt2_relevances(head_model.model, tokens, n, rule) for tokens, n in zip(TOKENS, (3, 2), strict=True)]
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-7)


def test_relevance_starts_at_the_largest_logit_of_each_place_that_is_judged() -> None:
    head_model = tiny_gpt2()
    inputs = {"input_ids": torch.tensor(TOKENS)}
    judged = torch.tensor([[True, False, True, False], [False, True, False, False]])
    largest = main_output(head_model, inputs).amax(dim=-1)
    expected = float(largest[0, 0] + largest[0, 2] + largest[1, 1])
    assert traced(head_model, inputs, judged).conservation.start == pytest.approx(expected)
    assert traced(head_model, inputs).conservation.start == pytest.approx(float(largest.sum()))


def test_a_head_has_its_share_of_the_absolute_relevance_of_its_layer() -> None:
    relevances = torch.tensor([[3.0, -1.0], [0.0, 0.0], [-2.0, -2.0]])
    expected = torch.tensor([[0.75, -0.25], [0.0, 0.0], [-0.5, -0.5]])
    torch.testing.assert_close(shares(relevances), expected)
    head_model, task = subject("seq2seq")
    batch = next(iter(task.batches(head_model, "calibration", 3)))
    values, weights = Relevance().of_batch(head_model, task, batch)
    heads = list(head_model.grid)
    for bank, layer in {(head.bank, head.layer) for head in heads}:
        columns = [place for place, head in enumerate(heads) if (head.bank, head.layer) == (bank, layer)]
        torch.testing.assert_close(values[:, columns].abs().sum(dim=1), torch.ones(3, dtype=torch.float64))
    assert weights is None


@RULES
def test_the_head_that_does_the_task_has_most_of_its_layer(rule: AttentionRule) -> None:
    head_model, task, important = hand_wired()
    values = score(Relevance(rule), head_model, task, n=8).values
    assert max(values, key=lambda head: values[head]) == important
    assert values[important] > 0.8


class Wavy(nn.Module):
    """An activation that nobody has a rule for."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        return hidden_states + torch.cos(3 * hidden_states)


@RULES
def test_a_model_that_loses_relevance_is_refused_before_and_while_it_is_scored(rule: AttentionRule) -> None:
    head_model, task = fresh("encoder")
    for layer in head_model.model.bert.encoder.layer:
        layer.intermediate.intermediate_act_fn = Wavy()
    sentence = r"of a relevance of \S+ in \S+ \S+ arrives; lrp has no rule for some operation of this model"
    with pytest.raises(ValueError, match=sentence):
        Relevance(rule).check(head_model, task)
    batch = next(iter(task.batches(head_model, "calibration", 2)))
    with pytest.raises(ValueError, match=sentence):
        Relevance(rule).of_batch(head_model, task, batch)


def test_bloom_is_refused_for_it_computes_an_activation_out_of_sight() -> None:
    torch.manual_seed(0)
    config = hf.BloomConfig(vocab_size=60, hidden_size=32, n_layer=2, n_head=4)
    head_model = lively_model(hf.BloomForCausalLM(config))
    with pytest.raises(ValueError, match="no rule for some operation"):
        Relevance().check(head_model, subject("decoder")[1])


def test_the_gap_is_relative_to_the_largest_of_the_three_sums() -> None:
    assert Conservation(2.0, 5.0, -4.0).gap == pytest.approx(0.2)
    assert Conservation(4.0, 3.0, 1.0).gap == 0
    assert Conservation(0.0, 0.0, 0.0).gap == 0


def test_gaps_that_are_not_a_number_are_refused() -> None:
    head_model, task = fresh("encoder")
    with torch.no_grad():
        head_model.model.classifier.bias.fill_(torch.nan)
    with pytest.raises(ValueError, match="arrives"):
        Relevance().check(head_model, task)
