"""Commands that list what there is: specimens, methods, tasks."""

from __future__ import annotations

import pytest

from headscope.analysis.importance.method import methods
from headscope.tasks.task_catalog import TASKS
from tests.cli.conftest import Run


def test_the_specimens_are_listed_with_what_their_cards_say(recorded: Run, printed: Run) -> None:
    assert recorded("specimens")["specimens"]["looker"]["heads"] == "encoder 6 x 6"
    assert "handwritten digits" in printed("specimens")


def test_every_method_is_listed_with_its_options(recorded: Run, printed: Run) -> None:
    listed = recorded("methods")["methods"]
    assert list(listed) == list(methods())
    assert listed["gradient"] == {
        "about": methods()["gradient"].about,
        "reference": "Michel et al. 2019",
        "needs_run": "",
        "options": {"estimator": "example", "scale": "raw", "group": 32},
    }
    told = printed("methods")
    assert "--option estimator=example scale=raw group=32" in told
    assert [told.count(f"needs {method.needs_run}\n") for method in methods().values() if method.needs_run] == [1] * 4
    assert told.count(" needs ") == 4


def test_every_task_is_listed_with_its_title(recorded: Run, printed: Run) -> None:
    assert list(recorded("tasks")["tasks"]) == [*TASKS, "fidelity"]
    assert "Handwritten digits" in printed("tasks")


@pytest.mark.parametrize("command", ["specimens", "methods", "tasks"])
def test_a_word_too_many_is_refused(command: str, refused: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        refused(command, "more")
    assert ended.value.code == 2
    assert "unrecognized arguments: more" in capsys.readouterr().err
