"""Documents of reproductions: means over seeds, and parts that are written as they come."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from reproductions import learned_runs
from reproductions.learned_runs import interval, table, told, write_growing


def test_the_interval_over_seeds_is_that_of_student() -> None:
    values = [0.2, 0.5, 0.8]
    mean, low, high = interval(values)
    half = 4.303 * statistics.stdev(values) / math.sqrt(3)
    assert (mean, low, high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert told([1.0, 1.0, 1.0], 3) == "1.000 (1.000 to 1.000)"


def test_a_document_is_there_after_every_part_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_runs, "DOCUMENTS", tmp_path)
    seen: list[str] = []

    def second() -> list[str]:
        seen.append((tmp_path / "page.md").read_text(encoding="utf-8"))
        return [table(["a"], [[2]])]

    write_growing("page.md", "# Page", {"one": lambda: ["first"], "two": second}, "The end.")
    assert seen == ["# Page\n\nfirst\n\nThe end.\n\nNot run yet, the same command goes on with it: two.\n"]
    assert (tmp_path / "page.md").read_text(
        encoding="utf-8"
    ) == "# Page\n\nfirst\n\n| a |\n| --- |\n| 2 |\n\nThe end.\n"
