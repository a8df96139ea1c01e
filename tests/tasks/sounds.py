"""Recordings made by arithmetic, and a tiny model that listens to them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import wave
from functools import cache
from pathlib import Path

import numpy as np
import transformers as hf
from transformers import WhisperFeatureExtractor, WhisperProcessor

from headscope.models.head_model import HeadModel
from headscope.tasks.speech import Speech, Utterance
from headscope.tasks.task import Splits
from tests.families import WHISPER
from tests.tasks.tiny import TEXTS, sharpened, tokenizer

CONFIG = WHISPER | {"encoder_layers": 2, "decoder_layers": 2, "max_source_positions": 50}
RATE = 16_000


def listener() -> HeadModel:
    """A random Whisper in double precision that hears a second at most."""
    return sharpened(lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(**CONFIG)), processor())


def processor() -> WhisperProcessor:
    """Its ear of 8 bands and 100 frames, and its words."""
    return WhisperProcessor(WhisperFeatureExtractor(feature_size=8, chunk_length=1), tokenizer())


def recording(path: Path, tone: float = 440.0, seconds: float = 0.4, rate: int = RATE, channels: int = 1) -> Path:
    """A WAV file of one tone."""
    times = np.arange(int(seconds * rate)) / rate
    samples = (0.5 * 2**15 * np.sin(2 * np.pi * tone * times)).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.repeat(samples, channels).tobytes())
    return path


def table(folder: Path, n: int = 60, header: str = "path\ttranscript") -> Path:
    """A table of sounds in a folder below it, and of transcripts that are all different."""
    (folder / "clips").mkdir()
    rows = []
    for number in range(n):
        recording(folder / "clips" / f"{number}.wav", 200 + 20 * number, 0.2 + 0.01 * (number % 30))
        rows.append(f"clips/{number}.wav\tw{number % 50} w{(number * 7) % 53} w{number // 50}")
    path = folder / "own.tsv"
    path.write_text("\n".join([header, *rows]))
    return path


@cache
def spoken() -> Speech:
    """Two dozen sounds of different lengths and their transcripts."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    examples = [
        Utterance(str(recording(folder / f"{number}.wav", 200 + 50 * number, 0.2 + 0.03 * number)), text)
        for number, text in enumerate(TEXTS)
    ]
    return Speech("spoken", "spoken", Splits.of(examples, examples, examples))
