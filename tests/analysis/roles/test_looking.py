"""What reaches the roles does not depend on padding, batches or how maps are cut; tiny random models are run."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from headscope.analysis.roles.layer_attention import TOKEN, WORD, Look, look_at
from headscope.analysis.roles.passages import Link, Passage, from_texts
from headscope.analysis.roles.role import roles
from headscope.analysis.roles.sample import Sample, image_sample, text_sample
from headscope.analysis.roles.search import find_roles, roles_of
from headscope.analysis.roles.search_progress import Progress
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.recording import maps as capture
from headscope.models.recording.maps import attention_maps
from headscope.models.sites import Site
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.tasks.batches.batching import Batch
from tests.analysis.subjects import KINDS, fresh, subject
from tests.tasks.tiny import TEXTS

PASSAGES = [
    Passage((text,), (tuple(text.split()),), (Link("next", 0, 1),), " ".join(reversed(text.split())))
    for text in TEXTS[:10]
]


def sample_of(kind: str) -> Sample:
    head_model, _ = subject(kind)
    return image_sample(head_model, 10) if kind == "vision" else text_sample(head_model, PASSAGES)


def seen(head_model: HeadModel, sample: Sample, batches: list[Batch]) -> dict[tuple[str, int, int], torch.Tensor]:
    found: dict[tuple[str, int, int], torch.Tensor] = {}

    def keep(site: Site, look: Look) -> None:
        assert (site.bank, site.layer, look.reading.index) not in found, "handed on twice"
        found[site.bank, site.layer, look.reading.index] = look.attention

    readings = {reading.index: reading for reading in sample.readings}
    for batch in batches:
        look_at(head_model, batch, readings, keep)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_size_and_parts_of_maps_give_the_attention_of_each_example_alone(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head_model, _ = subject(kind)
    sample = sample_of(kind)
    together = seen(head_model, sample, list(sample.batches(head_model, 10_000)))
    monkeypatch.setattr(capture, "QUERIES_AT_ONCE", 2)
    single = list(sample.batches(head_model, 1))
    for batch in single[:6]:
        (index,) = batch.indices
        reading = sample.readings[index]
        for (bank, layer), maps in attention_maps(head_model, batch.inputs).items():
            queries, keys = reading.sides(bank)
            expected = maps[..., maps.shape[-1] - len(keys) :].float()
            assert expected.shape[1:] == (len(queries), len(keys))
            torch.testing.assert_close(together[bank, layer, index].float(), expected, rtol=1e-4, atol=1e-5)
    assert seen(head_model, sample, single).keys() == together.keys()


def test_padding_on_the_left_changes_nothing() -> None:
    head_model, _ = fresh("grouped")  # its positions are relative
    head_model.model.float()  # in double precision its own eager attention divides 0 by 0 where all is padding
    sample = sample_of("grouped")
    (right,) = sample.batches(head_model, 100_000)
    lengths = right.inputs["attention_mask"].sum(dim=1).tolist()
    assert len(set(lengths)) > 3
    inputs = {
        name: torch.stack([row.roll(len(row) - n) for row, n in zip(value, lengths, strict=True)])
        for name, value in right.inputs.items()
    }
    left = replace(right, inputs=inputs)
    assert int(left.inputs["attention_mask"][0, 0]) == 0 or lengths[0] == max(lengths)
    expected = seen(head_model, sample, [right])
    for place, attention in seen(head_model, sample, [left]).items():
        torch.testing.assert_close(attention, expected[place], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", ["encoder", "seq2seq", "decoder"])
def test_findings_are_the_same_for_any_batch_size(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.analysis.roles.pointing.FEWEST", 1)
    monkeypatch.setattr("headscope.analysis.roles.methods.positional.FEWEST", 1)
    head_model, _ = subject(kind)
    sample = sample_of(kind)
    found = roles_of(head_model, sample)
    monkeypatch.setattr(Sample, "_budget", lambda *_: 1)
    again = roles_of(head_model, sample)
    assert again.keys() == found.keys() and "positional" in found
    for key, own in found.items():
        for head, one in own.items():
            assert again[key][head].score == pytest.approx(one.score, rel=1e-6)
            assert again[key][head].n == one.n


def test_special_tokens_are_no_keys_between_tokens_and_pieces_add_up_between_words() -> None:
    (reading,) = text_sample(subject("encoder")[0], from_texts(["w1 w2 w3"])).readings
    reading = replace(reading, source=replace(reading.source, owners=(-1, 0, 0, 1, -1)))
    attention = torch.tensor(
        [[0.1, 0.2, 0.3, 0.1, 0.3], [0.5, 0.1, 0.1, 0.2, 0.1], [0.1, 0.4, 0.2, 0.2, 0.1],
         [0.6, 0.2, 0.1, 0.1, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2]]
    )  # fmt: skip
    look = Look(reading, "encoder", attention[None])
    torch.testing.assert_close(look.weights(WORD)[0], torch.tensor([[0.4, 0.2], [0.3, 0.1]]))
    assert look.strongest(TOKEN)[0].tolist()[1:4] == [3, 1, 1]


def test_a_head_that_cannot_decide_looks_nowhere() -> None:
    (reading,) = text_sample(subject("encoder")[0], from_texts(["w1 w2"])).readings
    look = Look(reading, "encoder", torch.full((1, 4, 4), 0.25))
    assert look.strongest(TOKEN).tolist() == [[-1, -1, -1, -1]]


def test_a_smaller_model_has_findings_for_the_heads_that_are_left() -> None:
    head_model, _ = subject("encoder")
    gone = HeadId("encoder", 1, 2)
    smaller = without_heads(head_model, HeadMask(head_model.grid, frozenset([gone])))
    found = roles_of(smaller, text_sample(smaller, from_texts(TEXTS)), [roles()["broad"]()])
    assert set(found["broad"]) == set(head_model.grid) - {gone}


def test_steps_tell_how_far_the_work_is() -> None:
    head_model, _ = subject("vision")
    steps = list(find_roles(head_model, image_sample(head_model, 6)))
    assert steps[0] == Progress(0, 6) and steps[-1] == Progress(6, 6)


def test_small_tensors_are_counted_on_one_thread_and_the_model_runs_on_all() -> None:
    head_model, _ = subject("vision")
    sample = image_sample(head_model, 2)
    seen = []

    def note(site: Site, look: Look) -> None:
        del site, look
        seen.append(torch.get_num_threads())
        raise ValueError("enough")

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="enough"):
            look_at(head_model, next(sample.batches(head_model)), {one.index: one for one in sample.readings}, note)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)
