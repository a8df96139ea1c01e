from __future__ import annotations

from pathlib import Path

import pytest

from headscope.runs.client import run_here
from headscope.runs.kinds.error_analysis import BreaksRun
from headscope.runs.run import DONE, FAILED, SHORT
from headscope.runs.store import Store

MASK = "encoder.0.0 encoder.0.1 encoder.0.2 encoder.0.3"


def test_a_run_tells_which_images_are_read_differently(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = run_here(store, BreaksRun("looker", mask=MASK, n=60))
    assert (run.state, run.lane) == (DONE, SHORT)
    assert run.result is not None
    listed = run.result["examples"]
    assert listed
    assert all(one["before"] != one["after"] for one in listed)
    assert all(len(one["image"]) == 8 and len(one["image"][0]) == 8 for one in listed)
    assert sum(run.result["counts"].values()) == 60 == run.result["whole"]["n"]
    lost, won = (run.result["counts"].get(kind, 0) for kind in ("lost", "won"))
    assert run.result["whole"]["change"]["difference"] == pytest.approx((won - lost) / 60)
    assert {bucket["family"] for bucket in run.result["buckets"]} == {"label"}
    assert sum(bucket["n"] for bucket in run.result["buckets"]) == 60


def test_two_masks_are_compared_with_each_other(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = run_here(store, BreaksRun("looker", mask=MASK, n=60)).result
    turned = run_here(store, BreaksRun("looker", mask="", against=MASK, n=60)).result
    assert first is not None
    assert turned is not None
    swapped = {"lost": "won", "won": "lost", "changed": "changed", "same": "same"}
    assert {swapped[kind]: count for kind, count in turned["counts"].items()} == first["counts"]
    assert turned["whole"]["before"] == first["whole"]["after"]


def test_a_head_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), BreaksRun("looker", mask="encoder.99.0", n=20))
    assert run.state == FAILED
    assert "no head encoder.99.0" in run.message
