"""What a model reads when its heads are asked for their roles: tokens, the words they belong to, and what is known."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from headscope.analysis.importance.positions import special_tokens
from headscope.analysis.roles.passages import Link, Passage
from headscope.analysis.roles.search_progress import Progress, Progressing, at_once
from headscope.analysis.roles.word_pieces import NO_WORD, owners_of, piece_spans, readable_text
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch, EncodedRow, batched, text_budget
from headscope.tasks.batches.encoding import longest_text, read_texts, text_inputs, text_tokens, tokenizer_of
from headscope.tasks.generation import generated, start_token
from headscope.tasks.model_kinds import KINDS, kind_of
from headscope.tasks.vision import image_budget, image_rows, image_shape

LONGEST = 256
"""Tokens that are read of a text."""

BUDGET = 2048
"""Places of a batch, so that the maps of one layer stay small."""

N_REPEATS = 80
REPEATED = range(8, 21)
"""How many random tokens a probe of repetition may have, before they come again."""


@dataclass(frozen=True)
class Side:
    """A sequence of tokens, and for each the number of the word it belongs to; special tokens belong to none."""

    tokens: tuple[int, ...]
    owners: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def ordinary(self) -> tuple[int, ...]:
        """The places of all tokens that belong to a word."""
        return tuple(place for place, owner in enumerate(self.owners) if owner != NO_WORD)

    @cached_property
    def n_words(self) -> int:
        """Words, counting those without a piece of their own that come before the last one that has."""
        return max(self.owners, default=NO_WORD) + 1


@dataclass(frozen=True)
class Reading:
    """One example as the model reads it, without padding.

    `target` are the tokens that the decoder of an encoder-decoder reads, `written` the same places with the words that
    are written there. The tokens of an image are its patches, row after row, `grid` rows and columns of them. A
    `repeated` reading is a probe: random tokens, and the same again.
    """

    row: EncodedRow = field(repr=False)
    text: str
    source: Side
    target: Side | None = None
    written: Side | None = None
    links: tuple[Link, ...] = ()
    alignment: tuple[tuple[int, int], ...] = ()
    grid: tuple[int, int] | None = None
    repeated: bool = False

    @property
    def index(self) -> int:
        """The number of the reading in its sample."""
        return self.row.index

    @property
    def half(self) -> int:
        """0 if something may be chosen by this reading, 1 if it is reported on."""
        return self.index % 2

    def sides(self, bank: str) -> tuple[Side, Side]:
        """The tokens that look and those that are looked at."""
        own = self.source if self.target is None or bank == "encoder" else self.target
        return own, self.source if bank == "cross" else own


@dataclass(frozen=True)
class Sample:
    """All readings; `title` says what they are."""

    title: str
    readings: tuple[Reading, ...]

    def batches(self, head_model: HeadModel, budget: int | None = None) -> Iterator[Batch]:
        """The readings as inputs of the model, those of like length together."""
        rows = [reading.row for reading in self.readings]
        return batched(rows, head_model, "roles", budget or self._budget(head_model))

    def _budget(self, head_model: HeadModel) -> int:
        images = any(reading.grid for reading in self.readings)
        return image_budget(head_model) if images else text_budget(head_model, BUDGET)

    @cached_property
    def frequencies(self) -> Mapping[str, Counter[int]]:
        """How often each ordinary token occurs among those that look, by bank."""
        counts: dict[str, Counter[int]] = {"encoder": Counter(), "decoder": Counter()}
        for reading in self.readings:
            if not reading.repeated:
                for bank, count in counts.items():
                    side, _ = reading.sides(bank)
                    count.update(side.tokens[place] for place in side.ordinary)
        return counts

    @cached_property
    def commonest(self) -> Mapping[str, tuple[int, ...]]:
        """All ordinary tokens by bank, the most frequent first, of equals the lower number."""
        return {
            bank: tuple(sorted(count, key=lambda token: (-count[token], token)))
            for bank, count in self.frequencies.items()
        }


def text_sample(head_model: HeadModel, passages: Sequence[Passage], title: str = "") -> Sample:
    """The passages as the model reads them; a causal model also reads probes of repetition."""
    return at_once(sampling(head_model, passages, title))


def sampling(head_model: HeadModel, passages: Sequence[Passage], title: str = "") -> Progressing[Sample]:
    """The same, a step a passage: a model that is given no translation writes its own."""
    kind = kind_of(head_model.model)
    if kind in ("looker", "listener"):
        raise ValueError(f"texts for {head_model.name}, a model that {KINDS[kind]}; a model that reads texts is needed")
    distinct = [_as_read(passage) for passage in dict.fromkeys(passages)]
    read = {"translator": _translations, "writer": _continuous}.get(kind, _encoded)
    readings = []
    for reading in read(head_model, distinct):
        readings.append(reading)
        yield Progress(len(readings), len(distinct))
    if kind == "writer":
        readings += repetitions(head_model, readings)
    if not any(reading.source.ordinary for reading in readings):
        raise ValueError(f"no word in {len(passages)} passages that {head_model.name} can read; at least one is needed")
    return Sample(title, tuple(readings))


def image_sample(head_model: HeadModel, n: int, split: str = "development") -> Sample:
    """The first n digits of a split."""
    rows = image_rows(head_model, split, n)
    grid = patch_grid(head_model)
    n_patches = grid[0] * grid[1]
    with torch.no_grad():
        pixels = rows[0].inputs["pixel_values"][None].to(head_model.device, head_model.model.dtype)
        states = head_model.model(pixel_values=pixels, output_hidden_states=True).hidden_states
    n_before = states[0].shape[1] - n_patches
    if n_before < 0:
        raise ValueError(f"{head_model.name} has fewer places than patches; allowed is one place a patch")
    owners = (*[NO_WORD] * n_before, *range(n_patches))
    side = Side(tuple(range(n_before + n_patches)), owners)
    readings = tuple(Reading(row, f"digit {row.index}", side, grid=grid) for row in rows)
    return Sample(f"{len(rows)} digits of {split}", readings)


def patch_grid(head_model: HeadModel) -> tuple[int, int]:
    """Rows and columns of patches."""
    patch = head_model.model.config.patch_size
    sides = patch if isinstance(patch, list | tuple) else (patch, patch)
    _, height, width = image_shape(head_model)
    return height // sides[0], width // sides[1]


def repetitions(head_model: HeadModel, readings: Sequence[Reading]) -> list[Reading]:
    """Random tokens of the texts, each once, and then all of them again, as Olsson et al. 2022 probe induction.

    How many there are differs from probe to probe, so that no fixed offset leads to the token that is repeated.
    """
    known = sorted({reading.source.tokens[place] for reading in readings for place in reading.source.ordinary})
    begin = getattr(head_model.tokenizer, "bos_token_id", None)
    before = [] if begin is None else [begin]
    probes = []
    for number in range(N_REPEATS):
        chooser = random.Random(f"repeat/{number}")
        size = min(REPEATED[number * 5 % len(REPEATED)], len(known))
        tokens = chooser.sample(known, size)
        whole = [*before, *tokens, *tokens]
        owners = (*[NO_WORD] * len(before), *range(2 * size))
        row = _row(len(readings) + number, {"input_ids": whole, "attention_mask": [1] * len(whole)})
        probes.append(Reading(row, "", Side(tuple(whole), owners), repeated=True))
    return probes


def _as_read(passage: Passage) -> Passage:
    """The passage with texts in which its words can be found."""
    texts = tuple(readable_text(text, words) for text, words in zip(passage.texts, passage.words, strict=True))
    target = passage.target
    if target is not None and passage.target_words:
        target = readable_text(target, passage.target_words)
    elif target is not None:
        return _replaced(passage, texts, target, tuple(target.split()))
    return _replaced(passage, texts, target, passage.target_words)


def _replaced(passage: Passage, texts: tuple[str, ...], target: str | None, words: tuple[str, ...]) -> Passage:
    return Passage(texts, passage.words, passage.links, target, words, passage.alignment)


def _continuous(head_model: HeadModel, passages: Sequence[Passage]) -> Iterator[Reading]:
    texts = [" ".join(passage.texts) for passage in passages]
    for index, tokens in enumerate(text_tokens(head_model, texts)):
        read = tokens[: _longest(head_model)]
        inputs = {"input_ids": read, "attention_mask": [1] * len(read)}
        words = [word for own in passages[index].words for word in own]
        side = _side(head_model, read, [(texts[index], words)])
        yield Reading(_row(index, inputs), texts[index], side, links=passages[index].links)


def _encoded(head_model: HeadModel, passages: Sequence[Passage]) -> Iterator[Reading]:
    """Single texts are cut to what is read; pairs that are longer are left out."""
    index = 0
    for passage in passages:
        first, second = passage.texts[0], passage.texts[1] if len(passage.texts) > 1 else None
        (inputs,) = text_inputs(head_model, [(first, second)])
        length = len(inputs["input_ids"])
        if second is not None and length >= _longest(head_model):
            continue
        read = {name: values[: _longest(head_model)] for name, values in inputs.items()}
        side = _side(head_model, read["input_ids"], list(zip(passage.texts, passage.words, strict=True)))
        yield Reading(_row(index, read), " | ".join(passage.texts), side, links=passage.links)
        index += 1


def _translations(head_model: HeadModel, passages: Sequence[Passage]) -> Iterator[Reading]:
    start = start_token(head_model.model)
    for index, source in enumerate(_encoded(head_model, [_single(passage) for passage in passages])):
        passage = passages[index]
        inputs = {name: source.row.inputs[name] for name in ("input_ids", "attention_mask")}
        if passage.target is None:
            labels = _own_translation(head_model, inputs)
            words = tuple(range(len(labels)))
        else:
            (labels,) = read_texts(
                head_model, text_target=[passage.target], truncation=True, max_length=_longest(head_model)
            ).input_ids
            words = _side(head_model, labels, [(passage.target, passage.target_words)]).owners
        read = [start, *labels[:-1]]
        row = EncodedRow(index, inputs | {"decoder_input_ids": read}, list(labels))
        target = Side(tuple(read), (NO_WORD, *words[:-1]))
        written = Side(target.tokens, words)
        yield Reading(row, source.text, source.source, target, written, passage.links, passage.alignment)


def _single(passage: Passage) -> Passage:
    words = tuple(word for own in passage.words for word in own)
    return Passage((" ".join(passage.texts),), (words,), passage.links)


def _own_translation(head_model: HeadModel, inputs: Mapping[str, Any]) -> list[int]:
    """What the model writes, where no translation is given, and the end."""
    (written,) = generated(
        head_model, {name: torch.tensor([value]).to(head_model.device) for name, value in inputs.items()}
    )
    end = tokenizer_of(head_model).eos_token_id
    return [*written[: LONGEST - 1], start_token(head_model.model) if end is None else end]


def _side(head_model: HeadModel, tokens: Sequence[int], texts: Sequence[tuple[str, Sequence[str]]]) -> Side:
    """Tokens that are those of one text or two, with special tokens around them, and the words they belong to."""
    special = _marks(head_model)
    places = [place for place, token in enumerate(tokens) if token not in special]
    owners = [NO_WORD] * len(tokens)
    first_piece, first_word = 0, 0
    for number, (text, words) in enumerate(texts):
        last = number == len(texts) - 1
        own = places[first_piece:] if last else places[first_piece : first_piece + _n_pieces(head_model, text)]
        spans = piece_spans(head_model.tokenizer, text, [tokens[place] for place in own])
        for place, owner in zip(own, owners_of(text, words, spans), strict=True):
            owners[place] = first_word + owner
        first_piece += len(own)
        first_word += len(words)
    return Side(tuple(tokens), tuple(owners))


def _n_pieces(head_model: HeadModel, text: str) -> int:
    return len(head_model.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)


def _marks(head_model: HeadModel) -> frozenset[int]:
    """Special tokens; an unknown word is a word, unless its token is also one of the others."""
    tokenizer = head_model.tokenizer
    unknown = getattr(tokenizer, "unk_token_id", None)
    named = {getattr(tokenizer, f"{name}_token_id", None) for name in ("bos", "eos", "cls", "sep", "pad", "mask")}
    return special_tokens(head_model) - ({unknown} - named)


def _longest(head_model: HeadModel) -> int:
    return min(LONGEST, longest_text(head_model))


def _row(index: int, inputs: Mapping[str, Any]) -> EncodedRow:
    return EncodedRow(index, inputs, 0)
