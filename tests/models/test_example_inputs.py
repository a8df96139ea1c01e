"""Inputs on which two versions of a model are compared: many positions, different tokens, padding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headscope.models.example_inputs import FEWEST, example_inputs, n_positions
from headscope.models.loading.loader import load
from tests.families import FAMILIES, family

READS = [name for name in FAMILIES if family(name).model.main_input_name == "input_ids"]


@pytest.mark.parametrize("name", READS)
def test_a_model_without_a_tokenizer_reads_many_different_tokens_and_padding(name: str) -> None:
    inputs = example_inputs(family(name))
    mask = inputs["attention_mask"].bool()
    kept = inputs["input_ids"][mask]
    assert n_positions(inputs) == len(kept) >= FEWEST
    assert len(kept.unique()) >= len(kept) / 2
    assert not mask.all()


def test_sentences_whose_words_a_tokenizer_does_not_know_are_not_read() -> None:
    class Unknowing:
        pad_token = "[PAD]"

        def __call__(self, texts: list[str], **_: Any) -> dict[str, torch.Tensor]:
            tokens = torch.full((len(texts), 30), 3)
            return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}

    model = family("bert")
    assert torch.equal(
        example_inputs(replace(model, tokenizer=Unknowing()))["input_ids"], example_inputs(model)["input_ids"]
    )


@pytest.mark.parametrize("name", ["t5", "deberta-v2", "gemma3", "qwen3"])
def test_a_tokenizer_that_was_made_up_counts_as_none(name: str, tmp_path: Path) -> None:
    family(name).model.save_pretrained(tmp_path)
    assert load(tmp_path).tokenizer is None


@pytest.mark.parametrize("name", ["reader", "writer", "translator"])
def test_specimens_read_sentences(name: str) -> None:
    model = load(name)
    inputs = example_inputs(model)
    assert n_positions(inputs) >= FEWEST
    assert "key" in model.tokenizer.decode(inputs["input_ids"][0])
