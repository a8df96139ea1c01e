"""Specimens are trained and judged on these very texts, so a change to the grammar is a change of all their numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pytest

from headscope.tasks.grammar import inference_pairs, sentences, stories, to_conllu

COUNT = 2000


def written_sentences(found: Iterable[Any]) -> str:
    return to_conllu(found)


def written_stories(found: Iterable[Any]) -> str:
    return "".join(f"{to_conllu(story.sentences)}{story.antecedents}\n" for story in found)


def written_pairs(found: Iterable[Any]) -> str:
    return "".join(f"{to_conllu((one.premise, one.hypothesis))}{one.label} {one.how}\n" for one in found)


@pytest.mark.parametrize(
    ("stream", "written", "digest"),
    [
        (sentences, written_sentences, "dfa68777a1900ffd"),
        (stories, written_stories, "f26cfc66da419526"),
        (inference_pairs, written_pairs, "256c80207d1b7fd0"),
    ],
)
def test_a_seed_gives_the_texts_that_specimens_were_made_with(
    stream: Callable[[int], Iterator[Any]], written: Callable[[Iterable[Any]], str], digest: str
) -> None:
    text = written(islice(stream(1), COUNT))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest
