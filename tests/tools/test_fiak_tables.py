from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reproductions import fiak_tables, learned_runs
from reproductions.fiak_tables import compared, sections

DOCUMENT = """# FiAK

Words.

## Table 1: images

| a | b |

More.

## Table 3: text

Its words.

## Not done

Nothing.
"""


def test_tables_are_found_by_number_without_what_comes_after() -> None:
    assert sections(DOCUMENT) == {1: "## Table 1: images\n\n| a | b |\n\nMore.", 3: "## Table 3: text\n\nIts words."}
    assert sections("") == {}


def test_one_table_is_written_again_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fiak_tables, "DOCUMENTS", tmp_path)
    monkeypatch.setattr(learned_runs, "DOCUMENTS", tmp_path)
    monkeypatch.setitem(fiak_tables.PARTS, 3, lambda: ["## Table 3: text", "Other words."])
    monkeypatch.setattr(sys, "argv", ["fiak_tables", "3"])
    (tmp_path / "fiak.md").write_text(DOCUMENT)
    assert fiak_tables.main() == 0
    written = (tmp_path / "fiak.md").read_text()
    assert sections(written) == sections(DOCUMENT) | {3: "## Table 3: text\n\nOther words."}
    assert written.endswith("Not run yet, the same command goes on with it: table 2, table 4.\n")
    fiak_tables.main()
    assert (tmp_path / "fiak.md").read_text() == written


def test_whether_scores_cost_anything_after_heads_is_told_by_the_interval() -> None:
    assert compared([0.5, 0.51, 0.49], [0.9, 0.9, 0.9]).startswith("Pruning scores as well costs accuracy")
    assert compared([0.5, 0.9, 0.1], [0.6, 0.6, 0.6]).startswith("Pruning scores as well cannot be told from")
