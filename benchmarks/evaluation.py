"""Seconds that a live metric takes: BLEU of a translator on 200 sentences, against the library's own generation.

Run as `python -m benchmarks.evaluation`. The model is random, of the shape of a small translator, and never ends a
sentence by itself, so every answer is as long as LENGTH says. Ways take turns, and the quickest round of each counts.
Seconds are those of the processor on one thread, which other work on the machine disturbs least; on free cores the
clock shows no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from headscope.models.head_model import HeadModel
from headscope.tasks import generation
from headscope.tasks.task import Splits
from headscope.tasks.task_catalog import task
from headscope.tasks.translation import Translation

N = 200
LENGTH = 20
ROUNDS = 3
VOCABULARY = 1200
THREADS = 1


def main() -> None:
    """Print seconds and sentences a second of every way."""
    torch.set_num_threads(THREADS)
    translation = task("translation")
    if not isinstance(translation, Translation):
        raise ValueError(f"{translation.key} is no translation")
    head_model = random_translator(translation)
    short = Translation("short", "Short", Splits.of(*[translation.pairs("development", N)] * 3))
    generation._limit = _same_limit
    ways: dict[str, Callable[[], object]] = {
        "BLEU and chrF with intervals, greedy": lambda: short.estimates(short.outcomes(head_model, "development")),
        "greedy alone": lambda: short.outcomes(head_model, "development"),
        "greedy in batches of 2048 places": lambda: short.outcomes(head_model, "development", budget=2048),
        "the library's greedy": lambda: by_library(head_model, short),
        "teacher-forced losses": lambda: teacher_forced(head_model, short),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            way()
            seconds[name].append(time.process_time() - start)
    print(f"{N} sentences of {LENGTH} tokens, {THREADS} thread, least and median of {ROUNDS} rounds")
    for name, rounds in seconds.items():
        least, median = min(rounds), sorted(rounds)[ROUNDS // 2]
        print(f"{name:40} {least:6.2f} s {median:6.2f} s {N / least:8.0f} sentences/s")


def random_translator(translation: Translation) -> HeadModel:
    """A random Marian of 6 + 3 layers, d 128, 8 heads, and a tokenizer trained on both sides of the task."""
    plain = Tokenizer(models.BPE(unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.train_from_iterator(
        [text for pair in translation.pairs("calibration") for text in (pair.source, pair.target)],
        trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<pad>", "<unk>", "</s>"]),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>", eos_token="</s>", model_max_length=128
    )
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=128,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
        encoder_layers=6,
        decoder_layers=3,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
    )
    model = MarianMTModel(config)
    model.generation_config.eos_token_id = None
    return HeadModel.of(model, tokenizer, "random translator")


def _same_limit(n_source: int, longest: int) -> int:
    del n_source
    return min(LENGTH, longest)


@torch.inference_mode()
def by_library(head_model: HeadModel, translation: Translation) -> list[list[int]]:
    """What `generate` writes for the same batches."""
    written = []
    for batch in translation.batches(head_model, "development", budget=16384):
        sources = {name: batch.inputs[name] for name in ("input_ids", "attention_mask")}
        output = head_model.model.generate(  # type: ignore[operator]
            **sources, num_beams=1, do_sample=False, max_new_tokens=LENGTH, pad_token_id=0
        )
        written += output.tolist()
    return written


@torch.inference_mode()
def teacher_forced(head_model: HeadModel, translation: Translation) -> float:
    """The mean loss, which a live curve can use instead."""
    batches = translation.batches(head_model, "development")
    return float(torch.cat([translation.losses(head_model, batch) for batch in batches]).mean())


if __name__ == "__main__":
    main()
