"""Uploads that are broken in 10,000 ways: a result or one sentence, and no file where none belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.runs.policy.uploads import keep, path_of
from headscope.tasks.own_data import Columns, read_task, read_text_task
from headscope.tasks.readers import FORMATS, BrokenRow, Source, preview, read_table, read_trees
from tests.bad_input.mutations import FILES, N_FILES, N_KEPT, broken_files, check_sentence, sentence_of


def rows_of(source: Source) -> None:
    """What is skipped is told in one sentence, too."""
    for row in read_table(source, ["text"], ["label"]).broken:
        check_sentence(str(row))


def look_at(source: Source) -> None:
    """What the form shows before a file is used."""
    seen = preview(source)
    assert all(len(row) == len(seen.columns) for row in seen.rows)


def trees_of(source: Source) -> None:
    for row in read_trees(source).broken:
        assert isinstance(row, BrokenRow)
        check_sentence(str(row))


READERS = (
    rows_of,
    look_at,
    trees_of,
    read_text_task,
    lambda source: read_task(source, Columns("text", label="label")),
)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_broken_file_is_read_or_refused_in_one_sentence(suffix: str) -> None:
    outcomes = set()
    for name, content in broken_files(suffix, seed=1, n=N_FILES):
        for read in READERS:
            outcomes.add(bool(sentence_of(lambda read=read, name=name, content=content: read(Source(name, content)))))
    assert outcomes == {True, False}, "some are refused and some are read"


@pytest.mark.parametrize("suffix", FILES)
def test_a_broken_file_is_kept_in_its_own_folder_or_refused(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "deep" / "home"
    monkeypatch.setenv("HEADSCOPE_HOME", str(home))
    n_kept = 0
    for name, content in broken_files(suffix, seed=2, n=N_KEPT):

        def kept(name: str = name, content: bytes = content) -> None:
            path = Path(path_of(keep(name, content)))
            assert path.read_bytes() == content
            assert path.parent.parent == home / "uploads"

        n_kept += not sentence_of(kept)
    assert 0 < n_kept < N_KEPT
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert all(path.parent.parent == home / "uploads" for path in written)
