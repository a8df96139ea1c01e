"""How well a model that listens predicts the transcript of a sound."""

from __future__ import annotations

import wave
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.head_model import HeadModel
from headscope.models.inputs import longest_input
from headscope.models.text import shown
from headscope.tasks.batches.batching import BUDGET, IGNORED, Batch, EncodedRow, text_budget
from headscope.tasks.generation import start_token
from headscope.tasks.language_modelling import BITS_PER_TOKEN, PERPLEXITY, mean_losses, token_sums
from headscope.tasks.model_kinds import check_kind
from headscope.tasks.own_data import Columns, split_by_hash
from headscope.tasks.readers import BrokenRow, Row, Source, read_table
from headscope.tasks.task import Metric, PerExample, Splits, Task, array

Samples = NDArray[np.float32]

NEEDED = "a table (.tsv) of two columns, the path of a WAV file and its transcript"
BITS = 16
"""Of a sample."""


@dataclass(frozen=True)
class Utterance:
    """The path of a sound, and what is said."""

    sound: str
    transcript: str


@dataclass(frozen=True)
class Speech(Task):
    """Every token of a transcript, after the sound and the true tokens before it.

    Nothing is written, so that words are not counted: perplexity, not the error rate of words.
    """

    examples: Splits[Utterance]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Perplexity, then bits per token."""
        return PERPLEXITY, BITS_PER_TOKEN

    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """Sounds as the model hears them, and their transcripts shifted by one, as a model is taught."""
        ear = Ear.of(head_model, self.title)
        return [ear.row(index, one) for index, one in enumerate(self.examples.first(split, n))]

    def budget(self, head_model: HeadModel) -> int:
        """Frames, or places whose logits fit."""
        return text_budget(head_model, BUDGET)

    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """Mean cross-entropy of the tokens of the transcript."""
        return mean_losses(head_model, batch)

    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """Summed negative log-likelihood, in nats, and number of tokens of the transcript."""
        nll, n_tokens = token_sums(head_model.model(**batch.inputs).logits, batch.labels)
        return {"nll": array(nll), "n_tokens": array(n_tokens)}


@dataclass(frozen=True, eq=False)
class Ear:
    """What turns sounds and transcripts into what one model reads."""

    extractor: Any
    tokenizer: Any
    start: int
    longest: int

    @classmethod
    def of(cls, head_model: HeadModel, title: str) -> Ear:
        """That of a model; a ValueError if it cannot listen and write, or lacks what that takes."""
        check_kind(head_model, title, "listener")
        model, processor = head_model.model, head_model.tokenizer
        extractor, tokenizer = (getattr(processor, name, None) for name in ("feature_extractor", "tokenizer"))
        if extractor is None or tokenizer is None:
            raise ValueError(f"{head_model.name} has no feature extractor with a tokenizer; both are needed to listen")
        if not model.can_generate():
            raise ValueError(f"{head_model.name} listens and writes nothing; a model that writes is needed")
        made = extractor.feature_size, extractor.nb_max_frames
        heard = model.config.num_mel_bins, 2 * model.config.max_source_positions
        if made != heard:
            raise ValueError(
                f"the feature extractor of {head_model.name} makes {made[0]} bands of {made[1]} frames; "
                f"the model hears {heard[0]} bands of {heard[1]}"
            )
        return cls(extractor, tokenizer, start_token(model), longest_input(model) or BUDGET)

    def row(self, index: int, one: Utterance) -> EncodedRow:
        """One example; the prompt and the silence that fills up a sound are not judged."""
        heard = self.extractor(
            samples(Path(one.sound), self.extractor), sampling_rate=self.extractor.sampling_rate, return_tensors="pt",
            return_attention_mask=True,
        )  # fmt: skip
        tokens: list[int] = self.tokenizer(one.transcript).input_ids
        tokens = tokens[tokens[:1] == [self.start] :][: self.longest]
        if not tokens:
            raise ValueError(f"{one.transcript!r} has no token for this model; every transcript needs one")
        inputs = {
            "input_features": heard.input_features[0],
            "attention_mask": heard.attention_mask[0].tolist(),
            "decoder_input_ids": [self.start, *tokens[:-1]],
        }
        n_prompt = _leading(tokens[:-1], set(self.tokenizer.all_special_ids))
        return EncodedRow(index, inputs, [IGNORED] * n_prompt + tokens[n_prompt:])


def read_speech(head_model: HeadModel, path: Path, columns: Columns) -> tuple[Speech, tuple[BrokenRow, ...]]:
    """The task that a table of sounds and transcripts makes, and the rows that were skipped.

    Sounds lie in the folder of the table or below it: a table must not be a way to other files.
    """
    source = Source.from_path(path)
    ear = Ear.of(head_model, source.name)
    if columns.target is None:
        raise ValueError(f"{source.name} has no transcripts; {head_model.name} listens to sound and needs {NEEDED}")
    table = read_table(source, columns.texts)
    folder = path.resolve().parent
    read = [_utterance(source.name, folder, row, columns, ear) for row in table.rows]
    broken = (*table.broken, *(one for one in read if isinstance(one, BrokenRow)))
    found = [one for one in read if isinstance(one, Utterance)]
    if broken and not found:
        raise ValueError(f"{source.name} has no usable row; {broken[0]}")
    return Speech(source.name, source.name, split_by_hash(source.name, found, lambda one: one.transcript)), broken


def _utterance(file: str, folder: Path, row: Row, columns: Columns, ear: Ear) -> Utterance | BrokenRow:
    name, transcript = row.values[columns.text], row.values[columns.target or ""]
    try:
        sound = (folder / name).resolve()
        if not sound.is_relative_to(folder):
            raise ValueError(f"{shown(name)} is not in the folder of {file}; sounds must lie there or below")
        samples(sound, ear.extractor)
    except (ValueError, OSError, RuntimeError) as error:  # the last are of names that no system takes
        return BrokenRow(file, row.line, str(error))
    return Utterance(str(sound), transcript)


def samples(sound: Path, extractor: Any) -> Samples:
    """The samples of a WAV file, from -1 to 1; a ValueError if it is not as the extractor needs it."""
    name = shown(sound.name)
    if not sound.is_file():
        raise ValueError(f"no file {name} in its folder")
    try:
        with wave.open(str(sound), "rb") as recording:
            found = recording.getnchannels(), 8 * recording.getsampwidth(), recording.getframerate()
            pcm = recording.readframes(recording.getnframes())
    except (wave.Error, EOFError, OSError) as error:
        raise ValueError(f"{name} is no whole WAV file of PCM samples") from error
    needed = 1, BITS, extractor.sampling_rate
    if found != needed:
        told = ("{} channel{} of {} bits at {} Hz".format(n, "s" * (n > 1), *rest) for n, *rest in (found, needed))
        raise ValueError("{} has {}; needed is {}".format(name, *told))
    n_samples, most = len(pcm) * 8 // BITS, extractor.n_samples
    if not 0 < n_samples <= most:
        lasts, longest = n_samples / extractor.sampling_rate, most / extractor.sampling_rate
        raise ValueError(f"{name} lasts {lasts:.1f} seconds; more than 0 and at most {longest:.0f} are heard")
    return np.frombuffer(pcm, dtype="<i2", count=n_samples).astype(np.float32) / np.float32(2 ** (BITS - 1))


def _leading(tokens: Sequence[int], special: set[int]) -> int:
    """How many special tokens come first."""
    return next((place for place, token in enumerate(tokens) if token not in special), len(tokens))
