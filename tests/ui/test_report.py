from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.kinds.importance import ImportanceRun
from jobs.kinds.sweep import SweepRun
from jobs.run import DONE, Run
from jobs.store import Store
from ui.compared_runs import Compared, compared
from ui.report import Reported, csv_rows, report_html
from ui.run_facts import spared

HOSTILE = "</script><img src=x onerror=alert(1)>"


def point(removed: int, value: float, series: str = "order") -> dict[str, Any]:
    return {
        "removed": removed, "mask": "encoder.0.1" if removed else "", "metric": "accuracy", "value": value,
        "low": value - 0.01, "high": value + 0.01, "n": 100, "loss": 1 - value, "parameters": 1000 - removed,
        "flops": 2000 - removed, "p": 0.5, "worse": value < 0.7, "series": series,
    }  # fmt: skip


POINTS = [point(0, 0.9), point(5, 0.8), point(10, 0.6), point(5, 0.5, "random 0"), point(5, 0.4, "random 1")]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def stored(store: Store, kind: Any, points: list[dict[str, Any]], result: dict[str, Any], title: str = "") -> Run:
    run = store.submit(kind.as_run(store.folder))
    store.advance(run.id, 1, 1, points)
    store.end(run.id, DONE, result=result)
    if title:
        store.rename(run.id, title)
    return store.get(run.id)


def sweep(store: Store, method: str = "gradient", model: str = "looker", title: str = "") -> Run:
    return stored(store, SweepRun(model, method=method), POINTS, {"higher_is_better": True}, title)


def test_runs_of_one_model_and_metric_are_compared_and_the_others_named(store: Store) -> None:
    first, second, other = sweep(store), sweep(store, "taylor"), sweep(store, model="reader")
    scores = stored(
        store, ImportanceRun("looker"), [], {"scores": {"encoder.0.0": 1.0}, "errors": {"encoder.0.0": 0.1}}
    )
    together = compared(store, [first, second, other, scores])
    assert together.runs == (first, second)
    assert [len(curve.points) for curve in together.curves] == [3, 3]
    assert together.full == POINTS[0]
    assert len(together.random) == 2
    assert ["another model" in sentence for sentence in together.left_out] == [True, False]
    assert "no curve" in together.left_out[1]


def test_what_can_go_is_counted_up_to_the_first_point_that_is_worse() -> None:
    order = POINTS[:3]
    assert spared(order) == 5
    assert spared(order[:2]) == 5
    assert spared([order[0], point(3, 0.2), point(5, 0.8)]) == 0


def test_the_report_holds_numbers_circumstances_and_the_command(store: Store) -> None:
    run = sweep(store)
    report = report_html([Reported(run, POINTS, "python cli.py sweep looker")], compared(store, [run]), "today")
    assert "80.0\N{NO-BREAK SPACE}% (79.0 to 81.0\N{NO-BREAK SPACE}%)" in report
    assert "python cli.py sweep looker" in report
    assert run.fingerprint in report
    assert "5 heads go before the first point that is significantly worse" in report
    assert report.count('class="plotly-graph-div"') == 2


def test_the_report_asks_for_nothing_from_outside_and_is_under_eight_megabytes(store: Store) -> None:
    run = sweep(store)
    report = report_html([Reported(run, POINTS, "")], compared(store, [run]), "today")
    own = re.sub(r"<script>.*?</script>", "", report, count=1, flags=re.DOTALL)  # plotly's own source names addresses
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", own)
    assert "default-src 'none'" in report
    assert len(report.encode()) < 8_000_000


def test_a_hostile_title_stays_text_in_the_report(store: Store) -> None:
    run = sweep(store, title=HOSTILE)
    report = report_html([Reported(run, POINTS, HOSTILE)], compared(store, [run]), HOSTILE)
    assert HOSTILE not in report


def test_the_table_has_every_point_of_every_run(store: Store) -> None:
    run = sweep(store)
    rows = csv_rows([Reported(run, POINTS, ""), Reported(replace(run, id="other"), [{"gates": [1]}], "")])
    assert [row["removed"] for row in rows] == [0, 5, 10, 5, 5]
    assert {row["run"] for row in rows} == {run.id}


def test_a_report_of_runs_without_curves_has_no_charts(store: Store) -> None:
    scores = {"scores": {"encoder.0.0": 1.0, "encoder.0.1": 3.0}, "errors": {"encoder.0.0": 0.1, "encoder.0.1": 0.2}}
    run = stored(store, ImportanceRun("looker"), [], scores)
    report = report_html([Reported(run, [], run.title)], Compared((), (), (), None, ()), "today")
    assert 'class="plotly-graph-div"' not in report
    assert report.index("encoder.0.1") < report.index("<td>encoder.0.0")
