"""What a run found as plain tables, for the report and for CSV files; every kind of run gives some."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.runs.run import Run
from headscope.web.charts.metric_text import point_text

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""

Record = Mapping[str, Any]
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Table:
    """Rows of plain values under named columns; `name` is that of its file."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Rows

    @classmethod
    def of_records(cls, name: str, title: str, records: Iterable[Record]) -> Table:
        """A row a record, a column for every entry that any of them has."""
        flat = [flattened(record) for record in records]
        columns = tuple(dict.fromkeys(column for record in flat for column in record))
        return cls(name, title, columns, [[record.get(column) for column in columns] for record in flat])

    def to_csv(self) -> str:
        """As text that spreadsheets read as numbers and words, never as formulas."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(value) for value in row] for row in self.rows)
        return file.getvalue()


def tables_of(run: Run, points: Sequence[Record]) -> list[Table]:
    """The tables of a run; those without a row are left out.

    A result that an older version stored in another form is told in plain.
    """
    found = FROM_POINTS[run.kind](points) if run.kind in FROM_POINTS else []
    if run.result is not None:
        try:
            found += FROM_RESULT.get(run.kind, _plain)(run.result)
        except (KeyError, TypeError):
            found += _plain(run.result)
    return [table for table in found if table.rows]


def flattened(record: Record, before: str = "") -> dict[str, Any]:
    """Nested entries as `outer inner`; lists as JSON, but for those with nothing in them."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{before}{name} ")
        else:
            flat[f"{before}{name}"] = (json.dumps(value) if value else "") if isinstance(value, list) else value
    return flat


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _estimates(name: str, title: str, label: str, estimates: Mapping[str, Record]) -> Table:
    """Metrics with their intervals, one a row under its label."""
    columns = (label, "metric", "value (95 %)", "value", "low", "high", "n")
    rows = [
        [key, one["metric"], point_text(dict(one)), one["value"], one["low"], one["high"], one["n"]]
        for key, one in estimates.items()
    ]
    return Table(name, title, columns, rows)


def _changes(name: str, title: str, changes: Mapping[str, Record]) -> Table:
    return Table.of_records(name, title, ({"change": key, **one} for key, one in changes.items()))


def _by_head(name: str, title: str, columns: Mapping[str, Mapping[str, float]]) -> Table:
    """Numbers by head, the highest of the first column on top."""
    first = next(iter(columns.values()))
    ranked = sorted(first, key=first.__getitem__, reverse=True)
    rows = [[head, *(own.get(head) for own in columns.values())] for head in ranked]
    return Table(name, title, ("head", *columns), rows)


def _sweep(points: Sequence[Record]) -> list[Table]:
    order = sorted((point for point in points if "series" in point), key=lambda one: (one["series"], one["removed"]))
    shown = [point for point in order if point["series"] == "order"]
    columns = ("heads removed", "metric", "value (95 %)", "loss", "parameters", "p", "significantly worse")
    rows = [
        [one["removed"], one["metric"], point_text(dict(one)), one["loss"], one["parameters"], one["p"], one["worse"]]
        for one in shown
    ]
    return [
        Table("curve", "The curve", columns, rows),
        Table.of_records("points", "All points, random orders among them", order),
    ]


def _order(result: Record) -> list[Table]:
    return [Table("order", "The order in which heads go", ("head",), [[head] for head in result["order"]])]


def _trials(points: Sequence[Record]) -> list[Table]:
    tried = [{"fits": one["fits"], "mask": one["mask"], **(one.get("point") or {})} for one in points if "fits" in one]
    return [Table.of_records("trials", "What was tried", tried)]


def _evaluation(result: Record) -> list[Table]:
    return [_estimates("metrics", "Metrics", "of", {one["metric"]: one for one in result["metrics"]})]


def _importance(result: Record) -> list[Table]:
    columns = {"score": result["scores"]} | ({"standard error": result["errors"]} if result.get("errors") else {})
    return [_by_head("scores", "Score of every head", columns)]


def _ablations(result: Record) -> list[Table]:
    layers = [
        {"layer keeps only": one["head"], "split": split, **_but(one[split], "table", "head")}
        for one in result["layers"]
        for split in ("development", "test")
    ]
    alone, second = (
        [_but(one, "table") for one in effects]
        for effects in (result["alone"], result["second"]["alone"] if result["second"] else [])
    )
    curves = [
        {"bank": bank, **point}
        for bank, curve in result["banks"].items()
        for point in (*curve["points"], *(one for order in curve["random"] for one in order))
    ]
    return [
        _estimates("whole", "The unpruned model", "split", result["whole"]),
        Table.of_records("alone", "Every head removed alone, development", alone),
        Table.of_records("layers", "Every layer with its best head only", layers),
        Table.of_records("second", "Every head removed alone, second data", second),
        Table.of_records("banks", "Each bank pruned alone", curves),
    ]


def _roles(result: Record) -> list[Table]:
    told = [
        {"head": head, "roles": ", ".join(one["clauses"]), "in words": result["sentences"][head]}
        for head, one in result["told"].items()
    ]
    found = [
        {"role": role, "head": head, **_but(one, "detail"), **_words(one["detail"])}
        for role, own in result["roles"].items()
        for head, one in own.items()
    ]
    return [
        Table.of_records("roles", "What each head is for", told),
        Table.of_records("evidence", "The evidence for every role and head", found),
    ]


def _words(detail: Record) -> dict[str, Any]:
    return {name: detail[name] for name in ("case", "control", "p") if name in detail}


def _learn(result: Record) -> list[Table]:
    gone = set(result["mask"].split())
    kept = {head: 0.0 if head in gone else 1.0 for head in result["gates"]}
    models = {
        f"{split}, {name.replace('_', ' ')}": one
        for split, report in result["report"].items()
        for name, one in report.items()
        if "value" in one
    }
    changes = {split: report["change"] for split, report in result["report"].items() if "change" in report}
    return [
        _estimates("models", "The models on the way", "split and model", models),
        _changes("changes", "Smaller model against the full one", changes),
        _by_head("gates", "Every gate", {"gate": result["gates"], "score": result["scores"], "kept": kept}),
    ]


def _finetune(result: Record) -> list[Table]:
    report = result["report"]
    models = {key: report[key] for key in ("unpruned", "pruned", "rescaled", "tuned") if key in report}
    changes = {key: report[key] for key in ("rescaling", "gain", "loss") if key in report}
    return [
        _estimates("models", "The models on test", "model", models),
        _changes("changes", "What the repair changed", changes),
        Table.of_records("history", "The metric on development, step by step", result["history"]),
    ]


def _fiak(result: Record) -> list[Table]:
    stages = {f"{split}, {stage}": one for stage, own in result["measured"].items() for split, one in own.items()}
    layers = [
        {"stage": stage, "layer": layer, "diversity": value}
        for stage, own in result["diversity"].items()
        for layer, value in own.items()
    ]
    return [
        _estimates("stages", "The model at every stage", "split and stage", stages),
        _changes("changes", "Pruned and tuned against dense", result["change"]),
        Table.of_records("savings", "What is saved", [result["savings"]]),
        _by_head("priors", "Mean prior of every head", {"prior": result["heads"]}),
        Table.of_records("diversity", "How unlike the attention of different inputs is", layers),
    ]


def _dynamics(result: Record) -> list[Table]:
    moments = result["moments"]
    curves = [
        {"checkpoint": one["name"], "step": one["step"], "share removed": share, one["metric"]: value}
        for one in moments
        for share, value in zip(one["shares"], one["curve"], strict=True)
    ]
    scores = [
        {"checkpoint": one["name"], "step": one["step"], "head": head, "score": score}
        for one in moments
        for head, score in one["scores"].items()
    ]
    return [
        Table.of_records("curves", "The metric as heads go, at every checkpoint", curves),
        Table.of_records("scores", "Score of every head at every checkpoint", scores),
    ]


def _speed(result: Record) -> list[Table]:
    sizes = {"parameters": result["parameters"], "bytes": result["bytes"]}
    return [
        Table.of_records("timings", "Seconds a batch, memory in bytes", result["timings"]),
        Table.of_records("sizes", "What both models hold", ({"of": name, **one} for name, one in sizes.items())),
    ]


def _budget(result: Record) -> list[Table]:
    splits = {result["split"]: result, "test": result["test"]}
    models = {f"{split}, {name}": one[name] for split, one in splits.items() for name in ("unpruned", "point")}
    costs = ({"model": name, **one} for name, one in result["cost"].items())
    return [
        _estimates("models", "Before and after", "split and model", models),
        Table.of_records("costs", "What it costs", costs),
        Table.of_records("timings", "Measured time", result["timings"]),
        Table("removed", "Heads that go", ("head",), [[head] for head in result["mask"].split()]),
    ]


def _breaks(result: Record) -> list[Table]:
    return [
        Table.of_records("groups", "Groups of examples", [result["whole"], *result["buckets"]]),
        Table.of_records("examples", "Examples that come out differently", result["examples"]),
    ]


def _plain(result: Record) -> list[Table]:
    """For any other kind: what is a number or a word by name, and every list of records as a table of its own."""
    lists = {
        name: value
        for name, value in result.items()
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
    }
    facts = flattened(_but(result, *lists))
    return [
        Table("facts", "Result", ("what", "value"), [[name, value] for name, value in facts.items()]),
        *(Table.of_records(name.replace(" ", "-"), name.capitalize(), value) for name, value in lists.items()),
    ]


def _but(record: Record, *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


FROM_POINTS: dict[str, Callable[[Sequence[Record]], list[Table]]] = {"budget": _trials, "sweep": _sweep}
"""Kinds of which something can be told before they have ended."""

FROM_RESULT: dict[str, Callable[[Record], list[Table]]] = {
    "ablations": _ablations,
    "breaks": _breaks,
    "budget": _budget,
    "dynamics": _dynamics,
    "evaluation": _evaluation,
    "fiak": _fiak,
    "finetune": _finetune,
    "importance": _importance,
    "learn": _learn,
    "roles": _roles,
    "speed": _speed,
    "sweep": _order,
}
