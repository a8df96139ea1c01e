"""What a stranger's tokenizer does to a process is found out in one that may be lost."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from headscope.models.loading import loader, tokenizer_trial
from headscope.models.loading.known_models import specimen_folder
from headscope.models.loading.loader import load
from headscope.models.loading.tokenizer_trial import passes
from tests.models.test_tokenizer_growth import rewrite, template


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    return Path(shutil.copytree(specimen_folder("reader"), tmp_path / "reader"))


def test_a_sound_tokenizer_passes_and_is_tried_once(reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert passes(reader)
    monkeypatch.setattr(tokenizer_trial, "_passes", lambda _: False)
    assert passes(reader)
    rewrite(reader, {"decoder": None})
    assert not passes(reader)


def test_the_tokenizers_of_the_specimens_are_not_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tokenizer_trial, "_passes", lambda _: False)
    assert passes(Path(specimen_folder("reader")))
    assert passes(tmp_path), "there is none"


POISON: dict[str, dict[str, Any]] = {
    "all memory": {"post_processor": template(20_000, 4_000, "single")},
    "all time": {
        "normalizer": {
            "type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "e" * 10**6}] * 50
        }
    },
    "far too many tokens": {"post_processor": template(100, 100, "single")},
}  # fmt: skip


@pytest.mark.parametrize("kind", POISON)
def test_what_takes_too_much_is_ended_by_the_limits(kind: str, reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_trial, "MOST_BYTES", 2**29)
    monkeypatch.setattr(tokenizer_trial, "MOST_SECONDS", 1)
    rewrite(reader, POISON[kind])
    started = time.process_time()
    assert not passes(reader)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("kind", ["gives up", "garbage"])
def test_a_tokenizer_that_fails_its_trial_is_none_and_nothing_else_is_said(
    kind: str, reader: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = reader / "tokenizer.json"
    if kind == "garbage":
        path.write_text("garbage")
    else:  # Rust panics on an id that the vocabulary has not
        told = json.loads(path.read_text())
        path.write_text(json.dumps(told | {"post_processor": {"type": "RobertaProcessing"}}))
    assert load(reader).tokenizer is None
    assert "panicked" not in capfd.readouterr().err


def test_every_model_that_reads_is_tried_before_it_is_loaded(reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "passes", lambda _: False)
    assert load(reader).tokenizer is None
