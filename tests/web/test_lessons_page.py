"""Every step of every lesson, by Streamlit's own test harness; what only a browser shows is in tests/browser."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from headscope.web.lessons.lesson import lesson_of, lessons
from tests.web.working import html_of, opened

MEASURED = re.compile(r"<b>Here:</b> (?!measuring)")
JUDGED = re.compile(r"(Holds|Does not hold) here:")
VERDICT = re.compile(r'class="hl-verdict-line[^>]*>([^<]*)<')
STEPS = [(key, number) for key, lesson in lessons().items() for number in range(1, len(lesson.steps) + 1)]
LIMIT = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lessons")


def step_of(patch: pytest.MonkeyPatch, folder: Path, lesson: str, number: int, **more: str) -> AppTest:
    link = {"lesson": lesson, "step": str(number), "model": lesson_of(lesson).model, **more}
    return opened(patch, folder, "pages/lessons.py", **link)


def run_of(folder: Path, lesson: str, kind: str) -> Run:
    """The newest finished run that the lesson has started."""
    return next(run for run in Store(folder).runs((DONE,), kind=kind) if run.model == lesson_of(lesson).model)


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize(("key", "number"), STEPS)
def test_a_step_shows_its_number_beside_that_of_the_paper_and_judges_its_claim(
    monkeypatch: pytest.MonkeyPatch, folder: Path, key: str, number: int
) -> None:
    step = lesson_of(key).steps[number - 1]
    app = step_of(monkeypatch, folder, key, number)
    shown = html_of(app)
    assert [one.value for one in app.error] == []
    assert f'<h1 class="hl-title">{escape(step.title)}</h1>' in shown
    assert f'aria-label="step {number} of {len(lesson_of(key).steps)}"' in shown
    assert MEASURED.search(shown)
    if step.claim and step.control != "clicking":  # that waits for a click
        assert JUDGED.search(shown)
    if step.paper is not None:
        assert escape(step.paper.text) in shown
