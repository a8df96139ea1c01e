"""A task made of somebody's own rows, or of a Hugging Face data set."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.hub_names import check_hub_files, split_hub_name
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.readers import BrokenRow, Row, Source, read_table
from headscope.tasks.task import SPLITS, Splits, Task
from headscope.tasks.translation import TextPair, Translation

SHARES = (0.3, 0.3, 0.4)
"""Of own rows, those for calibration, development and test."""

FEWEST = 10
"""Examples that every split needs."""

MAX_HUB_ROWS = 5000

E = TypeVar("E")


@dataclass(frozen=True)
class Columns:
    """Which columns hold what: with a label the task is classification, with a target translation, else prediction."""

    text: str
    pair: str | None = None
    label: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        if self.label is not None and self.target is not None:
            raise ValueError(f"columns {self.label!r} as label and {self.target!r} as target; only one can be learned")
        if self.pair is not None and self.label is None:
            raise ValueError(f"column {self.pair!r} as second text without a label; a pair of texts needs a label")

    @property
    def texts(self) -> list[str]:
        """The columns that hold texts."""
        return [column for column in (self.text, self.pair, self.target) if column is not None]

    @property
    def labels(self) -> list[str]:
        """The columns that hold labels."""
        return [] if self.label is None else [self.label]


def read_task(source: Source, columns: Columns) -> tuple[Task, tuple[BrokenRow, ...]]:
    """The task that a file makes, and the rows that were skipped."""
    table = read_table(source, columns.texts, columns.labels)
    return own_task(source.name, table.rows, columns), table.broken


def read_text_task(source: Source) -> LanguageModelling:
    """The prediction of a plain text file: of its paragraphs, or of its lines where it has too few of those."""
    text = source.text()
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen = paragraphs if len(paragraphs) >= FEWEST * len(SPLITS) else lines
    return LanguageModelling(source.name, source.name, split_by_hash(source.name, chosen, lambda line: line))


def own_task(name: str, rows: Sequence[Row], columns: Columns) -> Task:
    """The task that rows make; which split a row is in depends on its text alone."""
    if columns.label is not None:
        examples = [_labelled(row, columns) for row in rows]
        return Classification(name, name, split_by_hash(name, examples, lambda one: f"{one.text}\n{one.pair or ''}"))
    if columns.target is not None:
        pairs = [TextPair(row.values[columns.text], row.values[columns.target]) for row in rows]
        return Translation(name, name, split_by_hash(name, pairs, lambda pair: pair.source))
    texts = [row.values[columns.text] for row in rows]
    return LanguageModelling(name, name, split_by_hash(name, texts, lambda text: text))


def hub_rows(name: str, columns: Columns, part: str = "train") -> tuple[Row, ...]:
    """The first rows of a part of a Hugging Face data set, at most MAX_HUB_ROWS.

    A name may have a configuration, as in `nyu-mll/glue:sst2`. Needs the package `datasets` and a network.
    """
    path, configuration = split_hub_name(name)
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise ValueError(
            f"data set {name!r} needs the package datasets, which is not installed: pip install datasets"
        ) from error
    builder = datasets.load_dataset_builder(path, configuration)
    listed = builder.config.data_files or {}
    check_hub_files(path, [file for files in listed.values() for file in files] or [""])
    found = builder.as_streaming_dataset(split=part)
    features = found.features or {}
    rows = list(islice(found, MAX_HUB_ROWS))
    known = list(features or (rows[0] if rows else ()))
    wanted = columns.texts + columns.labels
    missing = [column for column in wanted if column not in known]
    if missing:
        raise ValueError(f"data set {name!r} has no column {missing[0]!r}; it has {', '.join(known)}")
    return tuple(
        Row(number, {column: _spelt(features.get(column), row[column]) for column in wanted})
        for number, row in enumerate(rows, start=1)
    )


def _spelt(feature: Any, value: Any) -> str:
    """A value of a data set as text; a numbered class by its name."""
    return str(feature.int2str(value)) if hasattr(feature, "int2str") and value >= 0 else str(value)


def split_by_hash(name: str, examples: Iterable[E], text: Callable[[E], str]) -> Splits[E]:
    """The three splits; equal texts are in the same one, and more rows never move those that were there."""
    parts: tuple[list[E], ...] = ([], [], [])
    for example in examples:
        parts[_part(text(example))].append(example)
    sizes = ", ".join(f"{len(part)} for {split}" for split, part in zip(SPLITS, parts, strict=True))
    if min(map(len, parts)) < FEWEST:
        raise ValueError(
            f"{name} has {sum(map(len, parts))} usable rows: {sizes}; "
            f"every split needs {FEWEST}, so about {5 * FEWEST} rows of different text are needed"
        )
    return Splits.of(*parts)


def _part(text: str) -> int:
    """The number of the split that a text belongs to."""
    share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
    return 0 if share < SHARES[0] else 1 if share < SHARES[0] + SHARES[1] else 2


def _labelled(row: Row, columns: Columns) -> LabelledText:
    values = row.values
    pair = None if columns.pair is None else values[columns.pair]
    return LabelledText(values[columns.text], values[columns.label or ""], pair)
