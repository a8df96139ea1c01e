"""The numbers of docs/first-five-minutes.md are those of the looker."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid
from headscope.runs.client import run_here
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.live import LiveQuery
from headscope.runs.store import Store
from headscope.web.charts.metric_text import metric_text
from headscope.web.grid.presets import least_important
from tools.first_minutes import DARK, MEASURING, PALE, check_told, part_of

MANY = 9
"""Heads of the preset, as the document says."""


def test_the_walk_states_the_accuracy_of_every_mask(tmp_path: Path) -> None:
    store = Store(tmp_path)
    scores = Scores.from_json(run_here(store, ImportanceRun("looker")).result).values
    grid = HeadGrid.from_json(run_here(store, FactsQuery("looker")).result["grid"])
    pale = grid.spell(least_important(grid, scores, MANY))
    for name, mask in zip(MEASURING, (PALE, f"{DARK} {PALE}", pale), strict=True):
        point = run_here(store, LiveQuery("looker", mask)).result
        value = metric_text(point["metric"], point["value"]).replace("\N{NO-BREAK SPACE}", " ")
        assert value in part_of(name), name
    assert f"*Least important*, {MANY} heads" in part_of(MEASURING[-1])


def test_a_picture_that_shows_another_number_than_the_document_is_refused() -> None:
    check_told("walk-5-remove-another", "Heads kept\n34 / 36\nTop-1 accuracy\n91.0\N{NO-BREAK SPACE}%")
    with pytest.raises(ValueError, match=r"does not state the 90\.5 % that walk-5"):
        check_told("walk-5-remove-another", "Top-1 accuracy\n90.5\N{NO-BREAK SPACE}%")
