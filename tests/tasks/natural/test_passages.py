"""Checks of the passages: how many, how long, all different, and spread over registers."""

import ast
import re
from collections import Counter

import pytest

from headscope.tasks.natural.passages import HEADING, REGISTERS, passages

RUN = 8
"""Words in a row that no two passages share."""

ALL = [(register, passage) for register in REGISTERS for passage in passages()[register]]


def words(text):
    return re.findall(r"[a-z0-9']+", text.lower())


def test_every_register_has_twelve_passages_with_titles_of_their_own():
    assert Counter(register for register, _ in ALL) == dict.fromkeys(REGISTERS, 12)
    assert len({passage.title for _, passage in ALL}) == len(ALL)


@pytest.mark.parametrize("register", REGISTERS)
def test_every_passage_has_120_to_200_words(register):
    lengths = {passage.title: len(passage.text.split()) for passage in passages()[register]}
    assert {title: n for title, n in lengths.items() if not 120 <= n <= 200} == {}


def test_no_two_passages_share_eight_words_in_a_row():
    seen, shared = {}, []
    for _, passage in ALL:
        own = words(passage.text)
        for run in {tuple(own[start : start + RUN]) for start in range(len(own) - RUN + 1)}:
            other = seen.setdefault(run, passage.title)
            if other != passage.title:
                shared.append((other, passage.title, " ".join(run)))
    assert shared == []


def test_no_two_passages_of_prose_begin_with_the_same_two_words():
    openings = Counter(tuple(words(passage.text)[:2]) for register, passage in ALL if register != "code")
    assert [opening for opening, n in openings.items() if n > 1] == []


def test_passages_are_plain_text():
    for _, passage in ALL:
        assert passage.text == passage.text.strip() and not HEADING.search(passage.text)
        assert re.findall(r"[^\n\t -~]|[ \t]$", passage.text, re.MULTILINE) == [], passage.title


def test_the_code_in_python_can_be_parsed():
    found = [passage for passage in passages()["code"] if passage.title.endswith("(Python)")]
    assert len(found) == 3
    for passage in found:
        ast.parse(passage.text)
