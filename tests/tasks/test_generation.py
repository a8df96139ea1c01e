"""Generation: token for token what the library writes, whatever the batch."""

import pytest
import torch

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.tasks.generation import CHECK_EVERY, LIMIT_STEP, generated, greedy
from tests.tasks.tiny import closed, tiny

FAMILIES = ("marian", "bart", "t5", "m2m100")
LENGTH = 24


@pytest.fixture(scope="module", params=FAMILIES)
def translator(request) -> HeadModel:
    head_model = tiny(request.param)
    head_model.model.generation_config.pad_token_id = 0
    return head_model


def sources(n: int = 10) -> dict[str, torch.Tensor]:
    tokens = torch.randint(5, 60, (n, 8), generator=torch.Generator().manual_seed(3))
    lengths = torch.tensor([8 - index % 6 for index in range(n)])
    mask = (torch.arange(8) < lengths[:, None]).long()
    return {"input_ids": tokens * mask, "attention_mask": mask}


def library(model, inputs, n_beams=1, length=LENGTH):
    settings = {"num_beams": n_beams, "do_sample": False, "max_new_tokens": length}
    ends = model.generation_config.eos_token_id
    written = model.generate(**inputs, **settings)[:, 1:].tolist()
    return [tokens[: tokens.index(ends)] if ends in tokens else tokens for tokens in written]


@pytest.fixture
def ending(translator, monkeypatch):
    """An end token that rows reach at different steps, so that rows leave the batch."""
    monkeypatch.setattr(translator.model.generation_config, "eos_token_id", None)
    with torch.inference_mode():
        endless = greedy(translator.model, sources(), [LENGTH] * 10)
    firsts = {token: {row.index(token) for row in endless if token in row} for row in endless for token in row}
    token = max(firsts, key=lambda token: len(firsts[token] - {0}))
    monkeypatch.setattr(translator.model.generation_config, "eos_token_id", token)
    return token


def test_greedy_writes_what_the_library_writes(translator, ending):
    with torch.inference_mode():
        ours = greedy(translator.model, sources(), [LENGTH] * 10)
        assert ours == library(translator.model, sources())
    assert all(ending not in row for row in ours)


@pytest.mark.usefixtures("ending")
def test_rows_end_at_their_own_limit(translator):
    limits = [1 + 2 * row for row in range(10)]
    with torch.inference_mode():
        free = greedy(translator.model, sources(), [LENGTH] * 10)
        bound = greedy(translator.model, sources(), limits)
    assert bound == [row[:limit] for row, limit in zip(free, limits, strict=True)]


@pytest.mark.usefixtures("ending")
def test_one_by_one_writes_the_same(translator):
    inputs = sources()
    with torch.inference_mode():
        together = generated(translator, inputs)
        alone = []
        for row in range(10):
            n = int(inputs["attention_mask"][row].sum())
            alone += generated(translator, {name: value[row : row + 1, :n] for name, value in inputs.items()})
    assert together == alone


def test_beams_write_what_the_library_writes(translator):
    inputs = {name: value[:3] for name, value in sources().items()}
    inputs = {name: value[[0, 0, 0]] for name, value in inputs.items()}
    limit = LIMIT_STEP * -(-(2 * 8 + 10) // LIMIT_STEP)
    with torch.inference_mode():
        assert generated(translator, inputs, n_beams=3) == library(translator.model, inputs, n_beams=3, length=limit)


def test_a_config_with_penalties_is_left_to_the_library(translator, monkeypatch):
    inputs = {name: value[:1] for name, value in sources().items()}
    with torch.inference_mode():
        plain = generated(translator, inputs)
        monkeypatch.setattr(translator.model.generation_config, "no_repeat_ngram_size", 1)
        assert generated(translator, inputs) == library(translator.model, inputs, length=LIMIT_STEP * 2)
        assert generated(translator, inputs) != plain


def test_banned_and_forced_tokens_are_the_librarys(translator, monkeypatch):
    with torch.inference_mode():
        usual = greedy(translator.model, sources(), [LENGTH] * 10)
        config = translator.model.generation_config
        monkeypatch.setattr(config, "bad_words_ids", [[usual[0][0]]])
        monkeypatch.setattr(config, "forced_bos_token_id", 9)
        monkeypatch.setattr(config, "forced_eos_token_id", config.eos_token_id)
        ours = greedy(translator.model, sources(), [LENGTH] * 10)
        assert ours == library(translator.model, sources())
    assert all(row[0] == 9 and usual[0][0] not in row for row in ours)


def test_gates_reach_every_step():
    translator = tiny("marian")
    with torch.inference_mode():
        usual = generated(translator, sources())
        with gated(translator, closed(translator)):
            assert generated(translator, sources()) != usual


def test_a_model_that_never_ends_stops_in_time(translator, monkeypatch):
    monkeypatch.setattr(translator.model.generation_config, "eos_token_id", None)
    with torch.inference_mode():
        written = generated(translator, sources(2))
    assert [len(row) for row in written] == [LIMIT_STEP * 2, LIMIT_STEP * 2]
    assert LIMIT_STEP % CHECK_EVERY == 0


def test_no_beam_is_refused(translator):
    with pytest.raises(ValueError, match="0 beams"):
        generated(translator, sources(), n_beams=0)
