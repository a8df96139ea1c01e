"""Facts about the lessons as data."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.models.loading.known_models import specimen_names
from headscope.web.lessons.control import control_with, controls
from headscope.web.lessons.glossary import glossary, spotted
from headscope.web.lessons.lesson import Lesson, Step, lesson_of, lessons

ROOT = Path(__file__).parents[3]
EVERY_LESSON = pytest.mark.parametrize("lesson", lessons().values(), ids=lessons().keys())
LONGEST_SENTENCE = 32
LONGEST_TEXT = 90


def words(text: str) -> list[int]:
    """How many words each sentence has."""
    return [len(sentence.split()) for sentence in re.split(r"(?<=[.?!:;])\s+", text)]


def test_there_is_one_lesson_for_each_of_the_five_papers_in_the_order_of_their_numbers() -> None:
    assert list(lessons()) == [
        "sixteen_heads", "specialised_heads", "layer_wise", "subset_pruning", "admixture_of_keys"
    ]  # fmt: skip
    assert [lesson.number for lesson in lessons().values()] == [1, 2, 3, 4, 5]


def test_an_unknown_lesson_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(KeyError, match=r"no lesson 'seven'; known: .*sixteen_heads"):
        lesson_of("seven")


@EVERY_LESSON
def test_a_lesson_has_six_to_ten_steps_on_a_specimen(lesson: type[Lesson]) -> None:
    assert 6 <= len(lesson.steps) <= 10
    assert lesson.model in specimen_names()
    assert len({step.title for step in lesson.steps}) == len(lesson.steps)


@EVERY_LESSON
def test_every_step_says_asks_and_explains_something_in_short_sentences(lesson: type[Lesson]) -> None:
    for step in lesson.steps:
        assert step.question.endswith("?")
        assert max(words(step.text) + words(step.notice)) <= LONGEST_SENTENCE, step.title
        assert sum(words(step.text)) <= LONGEST_TEXT, step.title


@EVERY_LESSON
def test_every_control_exists_and_takes_the_settings_of_its_step(lesson: type[Lesson]) -> None:
    for step in lesson.steps:
        assert control_with(step.control, step.settings).key == step.control


def test_every_control_is_used_by_a_lesson() -> None:
    assert {step.control for lesson in lessons().values() for step in lesson.steps} == set(controls())


@EVERY_LESSON
def test_a_lesson_states_what_its_paper_found_and_ends_with_a_task(lesson: type[Lesson]) -> None:
    figures = [step.paper for step in lesson.steps if step.paper is not None]
    assert figures
    assert all(figure.text and figure.where for figure in figures)
    assert lesson.steps[-1].title.startswith("Your turn")


def all_texts(step: Step) -> str:
    return f"{step.text}\n\n{step.notice}"


def test_every_word_of_the_glossary_is_used_and_those_that_must_be_there_are() -> None:
    texts = [all_texts(step) for lesson in lessons().values() for step in lesson.steps]
    used = {word.name for text in texts for _, _, word in spotted(text)}
    assert used == set(glossary())
    assert {"head", "gate", "relevance", "BLEU", "L0", "prior", "perplexity", "mask", "bank", "calibration"} <= used


def test_a_word_is_found_once_in_any_form_and_not_inside_of_others() -> None:
    text = "Overhead: Heads, a head; L0 gates; a random order, key-hole."
    found = [(text[start:end], word.name) for start, end, word in spotted(text)]
    assert found == [("Heads", "head"), ("L0", "L0"), ("gates", "gate"), ("random order", "random order")]


def test_no_two_words_share_a_form() -> None:
    forms = [form.lower() for word in glossary().values() for form in word.spellings]
    assert len(forms) == len(set(forms))


def test_lessons_are_plain_data() -> None:
    code = """
import sys
from headscope.web.lessons.lesson import lessons
from headscope.web.lessons.glossary import glossary
assert len(lessons()) == 5 and glossary()
assert not {"torch", "streamlit", "headscope.runs"} & set(sys.modules), "lessons reach for more than they need"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
