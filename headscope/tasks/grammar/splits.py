"""Which combinations of words are held out of training, and the endless streams of sentences of each split."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from functools import cache

from headscope.tasks.grammar.clause_derivation import ClauseDeriver
from headscope.tasks.grammar.combinations import Combination, combinations
from headscope.tasks.grammar.sampler import Sampler
from headscope.tasks.grammar.sentence import Sentence, realise

SPLITS = ("train", "calibration", "development", "test")
HELD_OUT = {"development": range(0, 40), "test": range(40, 80)}


def check(split: str) -> None:
    """Refuse an unknown split."""
    if split not in SPLITS:
        raise ValueError(f"no split {split!r}; known: {', '.join(SPLITS)}")


@cache
def home(pair: Combination) -> str:
    """The split a combination of words belongs to: development, test, or train for all others."""
    digest = hashlib.sha256("|".join(pair).encode()).digest()
    number = int.from_bytes(digest[:4], "big") % 1000
    for split, numbers in HELD_OUT.items():
        if number in numbers:
            return split
    return "train"


def admitted(pairs: Iterable[Combination], split: str) -> bool:
    """Whether a sentence with these combinations may be in the split.

    Training and calibration have no held-out combination; development and test have at least one of their own and none
    of the other's.
    """
    homes = {home(pair) for pair in pairs} - {"train"}
    return homes == ({split} if split in HELD_OUT else set())


def source(seed: int, split: str, purpose: str) -> random.Random:
    """The random stream of a seed, split and purpose."""
    check(split)
    return random.Random(f"{purpose}/{split}/{seed}")


def sentences(seed: int, split: str = "train") -> Iterator[Sentence]:
    """An endless stream of sentences; the same seed and split give the same stream."""
    stream = source(seed, split, "sentences")
    while True:
        sampler = Sampler(stream)
        clause = ClauseDeriver(sampler).sentence()
        if admitted(combinations(clause), split):
            yield realise(clause, sampler.log_probability)
