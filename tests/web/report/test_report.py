from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headscope.runs.client import run_here
from headscope.runs.kind import kind_of
from headscope.runs.kinds.ablations import AblationsRun
from headscope.runs.kinds.budget import BudgetRun
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.runs.kinds.error_analysis import BreaksRun
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.export import ExportRun
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.finetune import FinetuneRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.kinds.speed import SpeedRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE, FAILED, Run
from headscope.runs.store import Store
from headscope.web.report import report as report_module
from headscope.web.report.report import MOST_BYTES, Reported, file_name, report_html, tables_zip
from headscope.web.report.report_figures import figures_of
from headscope.web.report.report_tables import Table, flattened, tables_of
from headscope.web.report.report_words import repeat_command, version
from headscope.web.runs.compared_runs import Compared, compared
from headscope.web.runs.run_facts import headline, spared

HOSTILE = "</script><img src=x onerror=alert(1)>"
NOTHING = Compared((), (), (), None, ())
MASK = "encoder.0.1 encoder.1.4"
KINDS = (
    EvaluationRun("looker", n=16),
    ImportanceRun("looker", n=8),
    SweepRun("looker", step=0.5, n_scoring=8, n=16),
    RolesRun("looker", n=10),
    SpeedRun("looker", MASK, batches=[1], lengths=[32]),
    BudgetRun("looker", budgets=["accuracy within 5 points"], n=16, n_scoring=8),
    ExportRun("looker", MASK),
    BreaksRun("looker", MASK, n=16),
    LearnRun("looker", n_steps=4, finetune=2),
    FiakRun("looker", steps_priors=2, steps_tuning=2, n=16),
    FinetuneRun("looker", MASK, training={"steps": 2, "every": 1, "n_judged": 16}),
    AblationsRun("looker", n=4, n_scoring=4, step=0.5),
    DynamicsRun("looker", checkpoints=["looker", "looker"], n=4),
)
WITH_FIGURES = {"ablations", "budget", "dynamics", "fiak", "finetune", "importance", "learn", "speed", "sweep"}
TABLES = {
    "ablations": {"whole", "alone", "layers", "second", "banks"},
    "breaks": {"groups", "examples"},
    "budget": {"models", "costs", "trials"},
    "dynamics": {"curves", "scores"},
    "evaluation": {"metrics"},
    "export": {"facts"},
    "fiak": {"stages", "changes", "savings", "priors", "diversity"},
    "finetune": {"models", "changes", "history"},
    "importance": {"scores"},
    "learn": {"models", "changes", "gates"},
    "roles": {"roles", "evidence"},
    "speed": {"timings", "sizes"},
    "sweep": {"curve", "points", "order"},
}
N_ROWS = {
    ("ablations", "alone"): 36, ("ablations", "layers"): 12, ("fiak", "priors"): 36, ("importance", "scores"): 36,
    ("learn", "gates"): 36, ("roles", "roles"): 36, ("sweep", "order"): 36, ("dynamics", "scores"): 72,
    ("fiak", "stages"): 8, ("learn", "models"): 8, ("finetune", "models"): 3, ("budget", "models"): 4,
}  # fmt: skip


def point(removed: int, value: float, series: str = "order") -> dict[str, Any]:
    return {
        "removed": removed, "mask": "encoder.0.1" if removed else "", "metric": "accuracy", "value": value,
        "low": value - 0.01, "high": value + 0.01, "n": 100, "loss": 1 - value, "parameters": 1000 - removed,
        "flops": 2000 - removed, "p": 0.5, "worse": value < 0.7, "series": series,
    }  # fmt: skip


POINTS = [point(0, 0.9), point(5, 0.8), point(10, 0.6), point(5, 0.5, "random 0"), point(5, 0.4, "random 1")]
SWEPT = {"higher_is_better": True, "order": ["encoder.0.1"], "points": POINTS[:3], "random": []}


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
    return stored(store, SweepRun(model, method=method), POINTS, SWEPT, title)


def written(store: Store, *runs: Run, **more: Any) -> str:
    return report_html([Reported.of(store, run) for run in runs], compared(store, runs), **more)


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, dict[str, Run]]:
    """A finished run of each kind, as small as can be."""
    store = Store(tmp_path_factory.mktemp("kinds"))
    runs = [run_here(store, kind) for kind in KINDS]
    assert [run.message for run in runs if run.state != DONE] == []
    return store, {run.kind: run for run in runs}


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_a_run_of_any_kind_has_a_section_with_its_numbers(every_kind: tuple[Store, dict[str, Run]], kind: str) -> None:
    store, runs = every_kind
    run = runs[kind]
    tables = {table.name: table for table in tables_of(run, store.points(run.id))}
    assert TABLES[kind] <= set(tables)
    assert {key: len(tables[key[1]].rows) for key in N_ROWS if key[0] == kind} == {
        key: n for key, n in N_ROWS.items() if key[0] == kind
    }
    report = written(store, run)
    assert bool(re.search('class="plotly-graph-div"', report)) == (kind in WITH_FIGURES or bool(figures_of(run, [])))
    assert run.fingerprint in report
    for name in ("python", "torch", "transformers"):
        assert f"{name} {run.record['versions'][name]}" in report
    assert f"<tr><th>Seed</th><td>{run.record['seed']}</td></tr>" in report
    assert "Repeat it with" in report
    assert headline(run) or kind == "breaks"


def test_the_section_of_a_training_tells_split_value_and_interval(every_kind: tuple[Store, dict[str, Run]]) -> None:
    store, runs = every_kind
    run = runs["finetune"]
    told = run.result["report"]["tuned"]  # type: ignore[index]
    (table,) = (table for table in tables_of(run, store.points(run.id)) if table.name == "models")
    row = dict(zip(table.columns, table.rows[2], strict=True))
    assert (row["model"], row["value"], row["low"], row["high"], row["n"]) == (
        "tuned", told["value"], told["low"], told["high"], told["n"],
    )  # fmt: skip


def test_the_report_of_all_kinds_is_under_eight_megabytes_and_its_tables_are_in_it(
    every_kind: tuple[Store, dict[str, Run]],
) -> None:
    store, runs = every_kind
    report = written(store, *runs.values())
    assert len(report.encode()) < 8_000_000
    packed = dict(re.findall(r'<a download="([^"]+)" href="data:text/csv;charset=utf-8;base64,([^"]+)">', report))
    with zipfile.ZipFile(io.BytesIO(tables_zip([Reported.of(store, run) for run in runs.values()]))) as archive:
        assert set(archive.namelist()) == set(packed)
        assert len(packed) >= sum(len(names) for names in TABLES.values())
        for name, encoded in packed.items():
            assert archive.read(name) == base64.b64decode(encoded)


def test_the_same_runs_give_the_same_bytes_at_any_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sweep(store)
    before = written(store, run), tables_zip([Reported.of(store, run)])
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    assert (written(store, run), tables_zip([Reported.of(store, run)])) == before


def test_reports_that_differ_in_one_number_differ_in_their_last_bytes(store: Store) -> None:
    """Streamlit knows large files by length, beginning, middle and end."""
    run = sweep(store)
    other = [*POINTS[:1], point(5, 0.81), *POINTS[2:]]
    ends = {
        report_html([Reported(run, points, "")], NOTHING)[-100:]
        for points in (POINTS, other)
    }  # fmt: skip
    assert len(ends) == 2


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


def test_curves_that_compare_are_drawn_together_and_any_other_by_itself(store: Store) -> None:
    first, second, other = sweep(store), sweep(store, "taylor"), sweep(store, model="reader")
    assert written(store, first).count('class="plotly-graph-div"') == 1
    report = written(store, first, second, other)
    assert re.findall(r'<div id="([^"]+)" class="plotly-graph-div"', report) == ["together", "front", "run-2-0"]


def test_what_can_go_is_counted_up_to_the_first_point_that_is_worse() -> None:
    order = POINTS[:3]
    assert spared(order) == 5
    assert spared(order[:2]) == 5
    assert spared([order[0], point(3, 0.2), point(5, 0.8)]) == 0


def test_the_report_holds_numbers_circumstances_and_the_command(store: Store) -> None:
    run = sweep(store)
    report = written(store, run)
    assert "80.0\N{NO-BREAK SPACE}% (79.0 to 81.0\N{NO-BREAK SPACE}%)" in report
    assert "headscope sweep looker" in report
    assert run.fingerprint in report
    assert f"Headscope {version()}" in report
    assert "5 heads go before the first point that is significantly worse" in report


def test_the_report_says_what_a_method_is_where_that_is_known(store: Store) -> None:
    run = sweep(store)
    known = {"gradient": {"title": "Gradient", "reference": "Somebody 2019", "about": "How much it matters."}}
    assert "Gradient (Somebody 2019): How much it matters." in written(store, run, methods=known)
    assert "Somebody" not in written(store, run)


def test_the_report_asks_for_nothing_from_outside(store: Store) -> None:
    report = written(store, sweep(store), sweep(store, "taylor"))
    own = re.sub(r"<script>.*?</script>", "", report, count=1, flags=re.DOTALL)  # plotly's own source names addresses
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:|#run-)", own)
    assert "default-src 'none'" in report


def test_a_selection_that_is_too_large_is_told_in_brief_and_stays_under_the_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sweep(store), sweep(store, "taylor")
    whole = report_html([Reported.of(store, one) for one in (first, second)], NOTHING)
    limit = len(whole.encode()) - 5_000
    monkeypatch.setattr(report_module, "MOST_BYTES", limit)
    report = report_html([Reported.of(store, one) for one in (first, second)], NOTHING)
    assert len(report.encode()) < limit + 200
    assert report.count("would make this file too large") == 1
    assert report.index("plotly-graph-div") < report.index("would make this file too large")
    assert report.count("Repeat it with") == 2
    assert MOST_BYTES + 200 < 8_000_000


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_hostile_words_anywhere_in_a_run_stay_text(every_kind: tuple[Store, dict[str, Run]], kind: str) -> None:
    store, runs = every_kind
    run = runs[kind]
    wicked = replace(run, title=HOSTILE, message=HOSTILE, result=_poisoned(run.result), model=HOSTILE)
    report = report_html([Reported(wicked, store.points(run.id), HOSTILE)], NOTHING)
    assert HOSTILE not in report
    assert "<img" not in report.partition("</head>")[2]


def _poisoned(value: Any) -> Any:
    """Every text that is no key, metric or head replaced by something hostile."""
    free = {"sentence", "text", "task", "snippet", "about", "before", "after", "name", "sample", "title", "remark"}
    if isinstance(value, dict):
        return {
            name: HOSTILE if name in free and isinstance(one, str) else _poisoned(one) for name, one in value.items()
        }
    return [_poisoned(one) for one in value] if isinstance(value, list) else value


def test_a_name_that_plotly_would_read_as_markup_is_shown_as_it_is(store: Store) -> None:
    first, second = sweep(store, title='<a href="http://evil.example">x</a>'), sweep(store, "taylor")
    names = [curve.name for curve in compared(store, [first, second]).curves]
    assert names[0] == '&lt;a href="http://evil.example"&gt;x&lt;/a&gt;'
    assert figures_of(first, POINTS)[0].figure.data[-1].name != first.title


def test_a_cell_that_looks_like_a_formula_is_text_in_the_table() -> None:
    table = Table("t", "T", ("word", "number"), [["=1+2", -1.5], ["@x", 2], ["plain, with comma", None]])
    rows = list(csv.reader(io.StringIO(table.to_csv())))
    assert rows == [["word", "number"], ["'=1+2", "-1.5"], ["'@x", "2"], ["plain, with comma", ""]]


def test_the_name_of_a_table_file_cannot_leave_its_folder(store: Store) -> None:
    run = replace(sweep(store), model="../../etc/pass wd\N{LATIN SMALL LETTER U WITH DIAERESIS}")
    assert file_name(run, Table("curve", "", (), [])) == f"sweep-pass_wd-{run.id[:6]}-curve.csv"


def test_nested_records_become_columns() -> None:
    table = Table.of_records("t", "T", [{"a": 1, "b": {"c": 2}}, {"a": 3, "d": [4]}])
    assert (table.columns, table.rows) == (("a", "b c", "d"), [[1, 2, None], [3, None, "[4]"]])
    assert flattened({"a": {"b": {"c": 1}}, "e": []}) == {"a b c": 1, "e": ""}


def test_a_result_in_a_form_that_nobody_knows_is_told_in_plain(store: Store) -> None:
    run = stored(store, LearnRun("looker"), [], {"sentence": "an older one", "rows": [{"x": 1}, {"x": 2}]})
    tables = {table.name: table.rows for table in tables_of(run, [])}
    assert tables == {"facts": [["sentence", "an older one"]], "rows": [[1], [2]]}
    assert "an older one" in written(store, run)


def test_a_run_that_failed_says_why_and_how_to_repeat_it(store: Store) -> None:
    run = store.submit(LearnRun("looker").as_run(store.folder))
    store.end(run.id, FAILED, "no such gates")
    report = written(store, store.get(run.id))
    assert "no such gates" in report
    assert "headscope learn looker" in report


def test_a_kind_without_a_command_is_repeated_by_a_line_of_python() -> None:
    kind = BreaksRun("looker", mask=MASK)
    line = repeat_command(kind)
    assert line.startswith("python -c ")
    assert "BreaksRun(model=" in line
    assert "most=" not in line  # what is as usual is left out
    assert repeat_command(SweepRun("looker")) == SweepRun("looker").command


def test_every_run_can_be_repeated_from_its_stored_form(every_kind: tuple[Store, dict[str, Run]]) -> None:
    _, runs = every_kind
    assert [run.kind for run in runs.values() if not repeat_command(kind_of(run))] == []


def test_scores_stand_with_the_highest_first_and_their_errors_where_there_are_any(store: Store) -> None:
    scores = {"scores": {"encoder.0.0": 1.0, "encoder.0.1": 3.0}, "errors": {"encoder.0.0": 0.1, "encoder.0.1": 0.2}}
    (with_errors,) = tables_of(stored(store, ImportanceRun("looker"), [], scores), [])
    assert with_errors.rows == [["encoder.0.1", 3.0, 0.2], ["encoder.0.0", 1.0, 0.1]]
    (without,) = tables_of(stored(store, ImportanceRun("reader"), [], {"scores": {"encoder.0.0": 1.0}}), [])
    assert without.rows == [["encoder.0.0", 1.0]]
