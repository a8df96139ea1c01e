"""Speech: a transcript is predicted after its sound, and what cannot be heard is one sentence."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf

from headscope.models.gating import gated
from headscope.tasks.batches.batching import IGNORED
from headscope.tasks.own_data import Columns
from headscope.tasks.speech import Ear, Utterance, read_speech, samples
from tests.tasks.sounds import CONFIG, RATE, listener, processor, recording, spoken, table
from tests.tasks.tiny import closed, sharpened, tiny, tokenizer

COLUMNS = Columns("path", target="transcript")


@pytest.fixture(scope="module")
def head_model():
    return listener()


def test_the_perplexity_is_that_of_the_transcript_after_its_sound(head_model):
    task = spoken()
    perplexity, bits = task.estimates(task.outcomes(head_model, "test", 6))
    total, n = 0.0, 0
    for one in task.examples.first("test", 6):
        heard = processor().feature_extractor(
            samples(Path(one.sound), processor().feature_extractor), sampling_rate=RATE
        )
        labels = torch.tensor([tokenizer()(one.transcript).input_ids])
        features = torch.tensor(np.array(heard.input_features), dtype=torch.float64)
        total += labels.shape[1] * head_model.model(input_features=features, labels=labels).loss.item()
        n += labels.shape[1]
    assert perplexity.value == pytest.approx(math.exp(total / n))
    assert bits.value == pytest.approx(total / n / math.log(2))
    assert perplexity.n == 6


def test_the_loss_of_an_example_is_the_mean_over_its_tokens_and_heads_change_it(head_model):
    task = spoken()
    (batch,) = task.batches(head_model, "test", 4, budget=10**6)
    outcomes = task.outcomes(head_model, "test", 4)
    expected = (outcomes["nll"] / outcomes["n_tokens"])[list(batch.indices)]
    losses = task.losses(head_model, batch)
    assert losses.tolist() == pytest.approx(expected.tolist())
    with gated(head_model, closed(head_model)):
        assert (task.losses(head_model, batch) - losses).abs().min() > 1e-3


def test_the_sound_matters(head_model):
    ear = Ear.of(head_model, "t")
    (first, second), text = [one.sound for one in spoken().examples.first("test", 2)], "w1 w2"
    features = [ear.row(0, Utterance(sound, text)).inputs["input_features"] for sound in (first, second)]
    assert not torch.equal(*features)


def test_a_prompt_is_read_and_not_judged(head_model):
    prompted = replace(head_model, tokenizer=processor())
    prompted.tokenizer.tokenizer = tokenizer("<pad> <s> $A </s>")
    row = Ear.of(prompted, "t").row(0, Utterance(spoken().examples.first("test", 1)[0].sound, "w1 w2"))
    assert row.inputs["decoder_input_ids"] == [0, 1, 6, 7]  # the start token, which the prompt repeats, comes once
    assert row.labels == [IGNORED, 6, 7, 2]


def test_the_silence_behind_a_sound_is_marked(head_model, tmp_path):
    heard = Ear.of(head_model, "t").row(0, Utterance(str(recording(tmp_path / "a.wav", seconds=0.3)), "w1"))
    assert heard.inputs["attention_mask"] == [1] * 30 + [0] * 70
    assert heard.inputs["input_features"].shape == (8, 100)


def test_samples_are_those_of_the_file_as_shares_of_the_loudest(tmp_path):
    found = samples(recording(tmp_path / "a.wav", tone=1000, seconds=0.01), processor().feature_extractor)
    assert found == pytest.approx(0.5 * np.sin(2 * np.pi * 1000 * np.arange(160) / RATE), abs=2**-15)


def test_a_table_is_read_from_its_own_folder_wherever_one_is(head_model, tmp_path, monkeypatch):
    path = table(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    task, broken = read_speech(head_model, Path(tmp_path.name) / "own.tsv", COLUMNS)
    assert broken == ()
    found = [one for split in ("calibration", "development", "test") for one in task.examples.first(split)]
    assert len(found) == 60
    assert {Path(one.sound) for one in found} == set((path.parent / "clips").iterdir())


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("gone.wav", "no file gone.wav in its folder"),
        ("clips", "no file clips in its folder"),
        ("../outside.wav", "../outside.wav is not in the folder of own.tsv; sounds must lie there or below"),
        ("/etc/hostname", "/etc/hostname is not in the folder of own.tsv"),
        ("link.wav", "link.wav is not in the folder of own.tsv"),
        ("text.wav", "text.wav is no whole WAV file of PCM samples"),
        ("cut.wav", "cut.wav is no whole WAV file of PCM samples"),
        ("stereo.wav", "stereo.wav has 2 channels of 16 bits at 16000 Hz; needed is 1 channel of 16 bits at 16000 Hz"),
        ("cd.wav", "cd.wav has 1 channel of 16 bits at 44100 Hz; needed is 1 channel of 16 bits at 16000 Hz"),
        ("long.wav", "long.wav lasts 1.5 seconds; more than 0 and at most 1 are heard"),
        ("empty.wav", "empty.wav lasts 0.0 seconds"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_sound_that_cannot_be_heard_is_one_sentence_and_the_others_are(cell, told, head_model, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    path = table(folder)
    recording(tmp_path / "outside.wav")
    (folder / "link.wav").symlink_to(tmp_path / "outside.wav")
    (folder / "text.wav").write_text("words")
    (folder / "cut.wav").write_bytes((folder / "clips" / "0.wav").read_bytes()[:30])
    recording(folder / "stereo.wav", channels=2)
    recording(folder / "cd.wav", rate=44_100)
    recording(folder / "long.wav", seconds=1.5)
    recording(folder / "empty.wav", seconds=0)
    path.write_text(f"{path.read_text()}\n{cell}\tw1")
    task, (broken,) = read_speech(head_model, path, COLUMNS)
    assert str(broken).startswith("own.tsv, line 62: ") and told in str(broken)
    assert sum(len(task.examples.first(split)) for split in ("calibration", "development", "test")) == 60


def test_a_table_without_a_usable_row_says_why(head_model, tmp_path):
    path = tmp_path / "own.tsv"
    path.write_text("path\ttranscript\na.wav\tw1\nb.wav\tw2")
    with pytest.raises(ValueError, match=r"own.tsv has no usable row; own.tsv, line 2: no file a.wav in its folder"):
        read_speech(head_model, path, COLUMNS)


def deaf(part: str):
    """A model of which something is missing that it takes to listen."""
    if part == "processor":
        return replace(listener(), tokenizer=None)
    if part == "bands":
        ear = hf.WhisperProcessor(hf.WhisperFeatureExtractor(feature_size=8, chunk_length=2), tokenizer())
        return replace(listener(), tokenizer=ear)
    if part == "head":
        return sharpened(lambda: hf.WhisperModel(hf.WhisperConfig(**CONFIG)), processor())
    return tiny("gpt2")


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("processor", "has no feature extractor with a tokenizer; both are needed to listen"),
        ("bands", "makes 8 bands of 200 frames; the model hears 8 bands of 100"),
        ("head", "WhisperModel listens and writes nothing; a model that writes is needed"),
        ("ear", "is a model that predicts the next token; this task needs one that listens to sound"),
    ],
)
def test_a_model_that_cannot_listen_and_write_is_refused(part, told):
    with pytest.raises(ValueError, match=told):
        next(spoken().batches(deaf(part), "test", 1))


def test_a_transcript_longer_than_the_model_writes_is_cut(head_model):
    ear = Ear.of(head_model, "t")
    row = ear.row(0, Utterance(spoken().examples.first("test", 1)[0].sound, "w1 " * 100))
    assert len(row.labels) == len(row.inputs["decoder_input_ids"]) == 32
