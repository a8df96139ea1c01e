"""Ways to choose K heads at equal K, and new weights in the same small shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.method_comparison import WAYS, Contest, Entry, compared
from headscope.pruning.surgery import without_heads
from headscope.pruning.training.fine_tuning import reinitialised
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits
from tests.tasks.tiny import TEXTS, tiny

STORIES = LanguageModelling("stories", "Stories", Splits.of(TEXTS[:12], TEXTS[12:18], TEXTS[18:]))
CONTEST = Contest(
    keeps=(3,), seeds=(0,), ways=tuple(WAYS), steps=2, finetune=1, scratch=2, training={"batch": 4, "n_judged": 2}
)


@pytest.fixture(scope="module")
def writer() -> HeadModel:
    return tiny("gpt2", "<s> $A </s>")


@pytest.fixture(scope="module")
def scores(writer: HeadModel) -> dict[HeadId, float]:
    return {head: float(place * 7 % 5) + place / 100 for place, head in enumerate(writer.grid)}


@pytest.fixture(scope="module")
def entries(writer: HeadModel, scores: dict[HeadId, float]) -> dict[str, Entry]:
    return {entry.way: entry for entry in compared(writer, STORIES, CONTEST, scores) if entry is not None}


def test_every_way_leaves_exactly_as_many_heads(entries: dict[str, Entry], writer: HeadModel) -> None:
    assert set(entries) == set(WAYS)
    assert {len(entry.mask.split()) for entry in entries.values()} == {len(writer.grid) - 3}


def test_gradient_order_keeps_the_highest_scores(
    entries: dict[str, Entry], writer: HeadModel, scores: dict[HeadId, float]
) -> None:
    kept = sorted(scores, key=scores.__getitem__)[-3:]
    assert HeadMask.of(writer.grid, entries["gradient"].mask).removed == frozenset(writer.grid) - frozenset(kept)
    assert entries["scratch"].mask == entries["gradient"].mask


def test_old_weights_are_those_of_the_model_under_the_mask(entries: dict[str, Entry], writer: HeadModel) -> None:
    smaller = without_heads(writer, HeadMask.of(writer.grid, entries["random"].mask))
    expected = STORIES.metrics[0].estimate(STORIES.outcomes(smaller, "test")).value
    assert entries["random"].old is not None
    assert entries["random"].old["value"] == pytest.approx(expected)
    assert entries["random"].trained["value"] != pytest.approx(expected)
    assert entries["scratch"].old is None


def test_what_is_done_is_not_done_again(
    entries: dict[str, Entry], writer: HeadModel, scores: dict[HeadId, float]
) -> None:
    done = [(way, 3, 0) for way in WAYS if way != "l0"]
    again = [entry for entry in compared(writer, STORIES, CONTEST, scores, done) if entry is not None]
    assert again == [entries["l0"]]


def test_random_heads_differ_by_seed(writer: HeadModel, scores: dict[HeadId, float]) -> None:
    contest = replace(CONTEST, seeds=(1, 2), ways=("random",))
    first, second = [entry for entry in compared(writer, STORIES, contest, scores) if entry is not None]
    assert first.mask != second.mask


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ways": ("magic",)}, "no way 'magic' to choose heads; known: dsp, dsp-frozen, l0"),
        ({"keeps": ()}, "nothing to compare; at least one number of heads"),
        ({"keeps": (99,)}, "99 heads to keep of 12; from 1 to 12 are allowed"),
    ],
)
def test_a_bad_contest_is_one_sentence(
    fields: dict[str, object], message: str, writer: HeadModel, scores: dict[HeadId, float]
) -> None:
    with pytest.raises(ValueError, match=message):
        list(compared(writer, STORIES, replace(CONTEST, **fields), scores))  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["gpt2", "bert", "marian", "vit"])
def test_new_weights_owe_nothing_to_the_old_ones_but_the_shape(family: str) -> None:
    head_model = tiny(family)
    with torch.no_grad():
        for parameter in head_model.model.parameters():
            parameter.add_(1.0)
    layer = [head for head in head_model.grid if head.layer == 0]
    smaller = without_heads(head_model, HeadMask(head_model.grid, frozenset([*layer, head_model.grid.heads[-1]])))
    one, same, other = (reinitialised(smaller, seed).model.state_dict() for seed in (1, 1, 2))
    old = smaller.model.state_dict()
    assert {name: tensor.shape for name, tensor in one.items()} == {name: tensor.shape for name, tensor in old.items()}
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)
    trained = {name for name, parameter in smaller.model.named_parameters() if parameter.requires_grad}
    assert [name for name in trained if old[name].numel() and torch.equal(one[name], old[name])] == []
