"""Attention written by hand: heads whose roles are known, over sentences of the grammar in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import torch
import transformers as hf
from torch import Tensor

from headscope.analysis.roles.layer_attention import Look
from headscope.analysis.roles.passages import of_pair, of_sentence, of_story
from headscope.analysis.roles.role import RATE, Role, RoleFinding, judged
from headscope.analysis.roles.sample import Reading, Sample, text_sample
from headscope.models.head_model import HeadModel
from headscope.models.sites import Site
from headscope.specimens.story_recipe import byte_pairs
from headscope.tasks.grammar import inference_pairs, sentences, stories
from tests.families import FAMILIES, VISION

Wire = Callable[[Reading, str], Tensor]
"""The weights [query, key] of one head over a reading in a bank."""


@cache
def reading_model(family: str, pattern: str = "<s> $A </s>") -> HeadModel:
    """A random model, which is never run, with a tokenizer of many pieces."""
    texts = [one.english for one in islice(sentences(1, "train"), 300)]
    texts += [one.german_text for one in islice(sentences(1, "train"), 300)]
    tokenizer = byte_pairs(texts, 700, pattern, ["input_ids", "attention_mask"])
    model = FAMILIES[family]()
    model.resize_token_embeddings(len(tokenizer))
    return HeadModel.of(model, tokenizer, "reads")


@cache
def looker() -> HeadModel:
    """A model of images of four by four patches."""
    config = hf.ViTConfig(**VISION | {"patch_size": 2}, num_channels=1)
    return HeadModel.of(hf.ViTForImageClassification(config), None, "looks")


@cache
def trees(n: int = 100) -> Sample:
    """Sentences for an encoder."""
    return text_sample(reading_model("bert"), [of_sentence(one) for one in islice(sentences(3, "test"), n)])


@cache
def pairs(n: int = 80) -> Sample:
    """Inference pairs for an encoder, with a separator between the two."""
    return text_sample(reading_model("bert"), [of_pair(one) for one in islice(inference_pairs(3, "test"), n)])


@cache
def told(n: int = 56) -> Sample:
    """Stories and probes of repetition for a decoder."""
    return text_sample(reading_model("gpt2"), [of_story(one) for one in islice(stories(3, "test"), n)])


@cache
def translated(n: int = 60) -> Sample:
    """Sentences with their translations and alignments."""
    model = reading_model("marian", "$A </s>")
    return text_sample(model, [of_sentence(one) for one in islice(sentences(3, "test"), n)])


def site_of(bank: str, n_heads: int) -> Site:
    """A layer of that many heads."""
    return Site(bank, 0, "core", "out", 1, tuple(range(n_heads)), {"q": torch.zeros(n_heads, 1, dtype=torch.bool)})


@dataclass(frozen=True, eq=False)
class Scene:
    """What heads look at in a bank, reading after reading."""

    sample: Sample
    bank: str
    site: Site
    looks: tuple[Look, ...]


def scene(sample: Sample, bank: str, wires: Sequence[Wire]) -> Scene:
    """What such heads look at; later tokens are hidden in a decoder."""
    looks = []
    for reading in sample.readings:
        maps = torch.stack([wire(reading, bank) for wire in wires])
        looks.append(Look(reading, bank, causal(maps) if bank == "decoder" else maps))
    return Scene(sample, bank, site_of(bank, len(wires)), tuple(looks))


def causal(maps: Tensor) -> Tensor:
    """Weights on later tokens moved to what can be seen."""
    seen = maps.tril() + 1e-9 * torch.ones_like(maps).tril()
    return seen / seen.sum(dim=-1, keepdim=True)


def verdicts(role: Role, seen: Scene, rate: float = RATE) -> dict[int, RoleFinding]:
    """What a role finds in each of the heads."""
    tally = role.tally(seen.sample, seen.bank)
    assert tally is not None
    for look in seen.looks:
        tally.add(seen.site, look)
    return {head.head: one for head, one in judged(role, tally.trials(), rate).items()}


def holding(role: Role, seen: Scene) -> set[int]:
    """The heads that have the role."""
    return {number for number, one in verdicts(role, seen).items() if one.verdict}


def blank(reading: Reading, bank: str) -> Tensor:
    queries, keys = reading.sides(bank)
    return torch.zeros(len(queries), len(keys), dtype=torch.float64)


def random_of(seed: int) -> Wire:
    """A head whose weights are drawn anew for every reading."""

    def wire(reading: Reading, bank: str) -> Tensor:
        generator = torch.Generator().manual_seed(1000 * seed + reading.index)
        size = blank(reading, bank).shape
        return (3 * torch.randn(size, generator=generator, dtype=torch.float64)).softmax(dim=-1)

    return wire


def split_at_random(seed: int) -> Wire:
    """A head whose weights are drawn anew for every reading, all ways to split them equally likely."""

    def wire(reading: Reading, bank: str) -> Tensor:
        generator = torch.Generator().manual_seed(1000 * seed + reading.index)
        weights = blank(reading, bank).exponential_(generator=generator)
        return weights / weights.sum(dim=-1, keepdim=True)

    return wire


def pointing_at(where: Callable[[Reading, str], dict[int, Sequence[int]]], seed: int = 99) -> Wire:
    """A head that looks at known places and, where there is none, anywhere."""

    def wire(reading: Reading, bank: str) -> Tensor:
        weights = random_of(seed)(reading, bank)
        for query, keys in where(reading, bank).items():
            weights[query] = 0.2 * weights[query]
            weights[query, list(keys)] += 0.8 / len(keys)
        return weights

    return wire


def offset(distance: int) -> Wire:
    def where(reading: Reading, bank: str) -> dict[int, Sequence[int]]:
        n = len(reading.sides(bank)[0])
        return {place: [place + distance] for place in range(n) if 0 <= place + distance < n}

    return pointing_at(where)


def related(relation: str, down: bool) -> Wire:
    """From every piece of a word to all pieces of the related one."""

    def where(reading: Reading, bank: str) -> dict[int, Sequence[int]]:
        del bank
        owners = reading.source.owners
        found: dict[int, Sequence[int]] = {}
        for link in reading.links:
            if link.relation == relation:
                source, target = (link.head, link.dependent) if down else (link.dependent, link.head)
                targets = [place for place, owner in enumerate(owners) if owner == target]
                found |= {place: targets for place, owner in enumerate(owners) if owner == source and targets}
        return found

    return pointing_at(where)


def rarest(sample: Sample) -> Wire:
    def where(reading: Reading, bank: str) -> dict[int, Sequence[int]]:
        side = reading.sides(bank)[0]
        count = sample.frequencies[bank]
        least = min(side.ordinary, key=lambda place: count[side.tokens[place]])
        return {place: [least] for place in range(len(side))}

    return pointing_at(where)


def uniform(reading: Reading, bank: str) -> Tensor:
    weights = blank(reading, bank)
    return weights + 1 / weights.shape[1]


def on_last_mark(reading: Reading, bank: str) -> Tensor:
    def where(one: Reading, at: str) -> dict[int, Sequence[int]]:
        queries, keys = one.sides(at)
        return {place: [len(keys) - 1] for place in range(len(queries))}

    return pointing_at(where)(reading, bank)


def on_first(reading: Reading, bank: str) -> Tensor:
    return pointing_at(lambda one, at: {place: [0] for place in range(len(one.sides(at)[0]))})(reading, bank)


def at_equals(reading: Reading, bank: str) -> Tensor:
    def where(one: Reading, at: str) -> dict[int, Sequence[int]]:
        side = one.sides(at)[0]
        same = {
            place: [other for other in side.ordinary if side.tokens[other] == side.tokens[place] and other != place]
            for place in side.ordinary
        }
        return {place: others[:1] for place, others in same.items() if others}

    return pointing_at(where)(reading, bank)


def repeated(ahead: int) -> Wire:
    """To the first occurrence of a token in a probe, or what came after it."""

    def where(reading: Reading, bank: str) -> dict[int, Sequence[int]]:
        del bank
        if not reading.repeated:
            return {}
        places = reading.source.ordinary
        size = len(places) // 2
        return {places[size + number]: [places[number + ahead]] for number in range(size)}

    return pointing_at(where)


def aligned(writes: bool) -> Wire:
    def where(reading: Reading, bank: str) -> dict[int, Sequence[int]]:
        del bank
        side = reading.written if writes else reading.target
        assert side is not None
        found: dict[int, Sequence[int]] = {}
        for here, there in reading.alignment:
            targets = [place for place, owner in enumerate(reading.source.owners) if owner == here]
            found |= {place: targets for place, owner in enumerate(side.owners) if owner == there}
        return found

    return pointing_at(where)


def a_neighbour(patch: int, side: int, seed: int) -> int:
    """One of the patches around, in an image of side x side patches."""
    row, column = divmod(patch, side)
    near = [
        (row + down) * side + column + right
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        if (down or right) and 0 <= row + down < side and 0 <= column + right < side
    ]
    return near[(7 * patch + seed) % len(near)]
