"""Large samples, drawn in a process of their own: tests check annotations on every call, which is slow."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from headscope.tasks.grammar import derivation_tables, inference_pairs, sentences, stories
from headscope.tasks.grammar.clause_derivation import ClauseDeriver
from headscope.tasks.grammar.languages.english import Writer
from headscope.tasks.grammar.phrase_derivation import PhraseDeriver
from headscope.tasks.grammar.sampler import Sampler
from headscope.tasks.grammar.sentence import realise

ROOT = Path(__file__).parents[3]
STREAMS: dict[str, Callable[[int, str], Iterator[Any]]] = {
    "sentences": sentences,
    "stories": stories,
    "inference_pairs": inference_pairs,
}


def drawn(stream: str, seed: int, count: int, split: str = "train") -> Any:
    """The first items of a stream."""
    command = [sys.executable, "-m", "tests.tasks.grammar.draw", stream, str(seed), str(count), split]
    return pickle.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def derivations(seed: int, count: int) -> list[tuple[str, float]]:
    """English text and log probability of the derivations that are likely, before any split."""
    source = random.Random(seed)
    found = []
    for _ in range(count):
        sampler = Sampler(source)
        clause = ClauseDeriver(sampler).sentence()
        if sampler.log_probability > -12.5:
            found.append((realise(clause, 0.0).english, sampler.log_probability))
    return found


def phrases(seed: int, count: int) -> list[tuple[str, float]]:
    """English text and log probability of short noun phrases."""
    source = random.Random(seed)
    found = []
    for _ in range(count):
        sampler = Sampler(source)
        phrase = PhraseDeriver(sampler).simple(sampler.pick(derivation_tables.nouns(("rule",))), rich=True)
        writer = Writer()
        writer.common(phrase)
        found.append((" ".join(token.form for token in writer.out), sampler.log_probability))
    return found


def contested(seed: int, count: int) -> list[str]:
    """English sentences that were drawn with two German translations."""
    known: dict[str, tuple[str, ...]] = {}
    return [
        sentence.english
        for sentence in islice(sentences(seed), count)
        if known.setdefault(sentence.english, sentence.german) != sentence.german
    ]


SAMPLES: dict[str, Callable[[int, int], Any]] = {
    "derivations": derivations,
    "phrases": phrases,
    "contested": contested,
}


def main(stream: str, seed: str, count: str, split: str) -> None:
    """Write what was asked for to standard output."""
    if stream in SAMPLES:
        result: Any = SAMPLES[stream](int(seed), int(count))
    else:
        result = list(islice(STREAMS[stream](int(seed), split), int(count)))
    sys.stdout.buffer.write(pickle.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
