from __future__ import annotations

from contextlib import suppress

import pytest

from headscope.cli.main import main
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.store import Store
from tests.cli.conftest import Run


@pytest.fixture
def run_id() -> str:
    """A run that waits."""
    store = Store()
    return store.submit(EvaluationRun("looker", n=3).as_run(store.folder)).id


def test_an_empty_store_is_said_to_be_empty(recorded: Run, printed: Run) -> None:
    assert recorded("runs") == {"runs": []}
    assert printed("runs") == "no runs yet\n"


def test_runs_are_listed_shown_cancelled_and_deleted(run_id: str, recorded: Run, printed: Run) -> None:
    title = "Evaluation of looker on development"
    assert recorded("runs") == {"runs": [{"id": run_id, "state": "queued", "share": 0.0, "title": title}]}
    shown = recorded("runs", run_id)
    assert set(shown) == {"id", "kind", "state", "share", "spec", "record", "message", "result"}
    assert (shown["kind"], shown["spec"]["n"]) == ("evaluation", 3)
    assert recorded("runs", run_id, "cancel")["state"] == "cancelled"
    assert title in printed("runs")
    assert recorded("runs", run_id, "delete") == {"deleted": 1}
    assert recorded("runs") == {"runs": []}


def test_old_runs_are_pruned_and_young_ones_stay(run_id: str, recorded: Run) -> None:
    Store().cancel(run_id)
    assert recorded("runs", "--prune", "1") == {"deleted": 0, "uploads": 0}
    assert recorded("runs", "--prune", "0") == {"deleted": 1, "uploads": 0}


@pytest.mark.parametrize(
    ("days", "sentence"),
    [
        ("-5", "--prune -5; allowed is a number of days from 0 on"),
        ("nan", "'nan' is not allowed; allowed are numbers up to 1000000"),
        ("inf", "'inf' is not allowed; allowed are numbers up to 1000000"),
    ],
)
def test_a_number_of_days_that_is_none_prunes_nothing(
    run_id: str, days: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Store().cancel(run_id)
    with suppress(SystemExit):  # argparse ends the program itself
        assert main(["runs", "--prune", days]) == 2
    assert sentence in capsys.readouterr().err
    assert [run.id for run in Store().runs()] == [run_id]


def test_bad_input_is_one_sentence(run_id: str, refused: Run) -> None:
    assert "no run 'nothing'" in refused("runs", "nothing")
    assert "is queued; cancel it before it is deleted" in refused("runs", run_id, "delete")
