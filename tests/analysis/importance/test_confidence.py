from __future__ import annotations

import pytest
import torch

from headscope.analysis.importance import query_means
from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.confidence import Confidence, largest_weights
from headscope.models.heads import HeadId
from headscope.models.recording import maps as capture
from headscope.models.recording.maps import attention_maps
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.task import Splits
from tests.analysis.subjects import KINDS, WITHOUT_TEXT_HEAD, fresh, subject
from tests.reference.attention import largest, mean_over_tokens

OF_TRANSFORMERS = [kind for kind in (*KINDS, *WITHOUT_TEXT_HEAD) if kind != "all-attention"]
N = 5


@pytest.mark.parametrize("kind", OF_TRANSFORMERS)
def test_it_is_the_mean_largest_weight_over_all_ordinary_tokens(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "QUERIES_AT_ONCE", 2)
    scores = score(Confidence(), *subject(kind), n=N)
    head_model, task = fresh(kind)
    expected = mean_over_tokens(head_model, task.batches(head_model, "calibration", N, budget=1), largest)
    assert scores.values == pytest.approx(expected, rel=1e-5)
    assert max(expected.values()) > 1.02 * min(expected.values()), "too even to tell"


def test_persistent_vectors_are_no_tokens() -> None:
    head_model, task = subject("all-attention")
    (batch,) = task.batches(head_model, "calibration", 1)
    n_tokens = batch.inputs["input_ids"].shape[1]
    ordinary = range(1, n_tokens - 1)  # between begin and end
    scores = score(Confidence(), head_model, task, n=1)
    for (bank, layer), maps in attention_maps(head_model, batch.inputs).items():
        of_tokens = maps[..., -n_tokens:][:, ordinary][:, :, ordinary]
        assert maps.shape[-1] == n_tokens + 5
        expected = of_tokens.amax(dim=-1).mean(dim=-1).tolist()
        assert [scores.values[head] for head in head_model.grid.layer(bank, layer)] == pytest.approx(expected)


def test_the_order_of_images_patches_and_class_token_is_that_of_the_model() -> None:
    head_model, _ = subject("vision")
    assert query_means.n_image_tokens(head_model, 5) == 1
    assert query_means.n_image_tokens(subject("encoder")[0], 5) == 0


def test_query_heads_that_share_keys_have_scores_of_their_own() -> None:
    values = score(Confidence(), *subject("grouped"), n=N).values
    assert len({values[HeadId("decoder", 1, head)] for head in range(4)}) == 4


def test_the_heads_that_are_left_in_a_smaller_model_keep_their_scores() -> None:
    head_model, task = subject("grouped")
    last = [HeadId("decoder", 2, head) for head in (0, 2)]
    smaller = without_heads(head_model, HeadMask(head_model.grid, frozenset(last)))
    before, after = (score(Confidence(), model, task, n=N).values for model in (head_model, smaller))
    assert after == pytest.approx(before | dict.fromkeys(last, 0.0))


def test_the_largest_weight_is_not_divided_by_what_is_left() -> None:
    weights = torch.tensor([0.5, 0.2, 0.0]).view(1, 1, 1, 3)
    values, known = largest_weights(weights, torch.tensor([[2]]))
    assert values.item() == 0.5 and known.item()


def test_texts_without_an_ordinary_token_are_refused() -> None:
    nothing = Splits.of(*[[LabelledText("", "0")]] * 3)
    with pytest.raises(ValueError, match="nothing in these 1 examples counts"):
        score(Confidence(), subject("encoder")[0], Classification("empty", "empty", nothing))
