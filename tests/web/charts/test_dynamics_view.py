from __future__ import annotations

import pytest

from headscope.models.heads import HeadId, grid_of_addresses
from headscope.models.loading.known_models import specimen_folder, specimen_names
from headscope.pruning.search.dynamics import Moment, read_history
from headscope.web.charts.dynamics_view import curves_figure, dynamics_title, metric_figure, prunable_figure

SHARES = (0.0, 0.5, 0.9)
EARLY = Moment("a-10", 10, "accuracy", True, {"encoder.0.0": 1.0}, SHARES, (0.5, 0.2, 0.1))
LATE = Moment("a-20", 20, "accuracy", True, {"encoder.0.0": 2.0}, SHARES, (0.8, 0.8, 0.4))
WRITER = Moment("b", None, "perplexity", False, {"encoder.0.0": 2.0}, SHARES, (10.0, 20.0, 100.0))


def test_each_curve_is_a_share_of_its_own_moment() -> None:
    early, late = curves_figure([EARLY, LATE], "light").data
    assert list(early.y) == pytest.approx([100, 40, 20])
    assert list(late.y) == pytest.approx([100, 100, 50])
    (falling,) = curves_figure([WRITER], "light").data
    assert list(falling.y) == pytest.approx([100, 50, 10])


def test_what_can_go_is_read_off_each_curve() -> None:
    traces = prunable_figure([EARLY, LATE], "dark").data
    ninety = next(trace for trace in traces if trace.name.startswith("90 %"))
    assert list(ninety.y) == pytest.approx([100 * EARLY.prunable(0.9), 100 * LATE.prunable(0.9)])
    assert ninety.y[1] > 50 > ninety.y[0]
    assert dynamics_title([EARLY, LATE]) == "At 90 % of the metric, 8 % of the heads could go at first, 58 % in the end"


def test_the_metric_is_that_of_all_heads() -> None:
    (line,) = metric_figure([EARLY, LATE], "light").data
    assert list(line.y) == pytest.approx([50, 80])


@pytest.mark.parametrize("name", specimen_names())
def test_the_history_of_every_specimen_can_be_drawn_on_its_own_grid(name: str) -> None:
    moments = read_history(specimen_folder(name) / "history.json")
    assert len(moments) >= 6
    heads = [HeadId.parse(address) for address in moments[-1].scores]
    assert grid_of_addresses(heads).heads == tuple(heads)
    assert len(curves_figure(moments, "light").data) == len(moments)
