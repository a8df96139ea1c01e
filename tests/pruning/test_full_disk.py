"""A disk that is full while a model is written: an error as Python has it, in one sentence, and nothing half."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from headscope.cli import main as cli
from headscope.models.heads import HeadId
from headscope.models.writing import writing
from headscope.pruning.export import proof
from headscope.pruning.export.exporter import export
from headscope.pruning.masks import HeadMask
from headscope.runs.execution.execute import _end
from headscope.runs.run import STOPPED
from headscope.runs.store import Store
from tests.bad_input.mutations import check_sentence
from tests.families import family
from tests.runs.counting import Counting

FULL = "I/O error: No space left on device (os error 28)"


def full(*_: Any, **__: Any) -> None:
    raise SafetensorError(f"Error while serializing: {FULL}")


@pytest.mark.parametrize(("said", "number"), [(FULL, errno.ENOSPC), ("something else", errno.EIO)])
def test_what_safetensors_cannot_write_is_an_error_of_the_disk(said: str, number: int, tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, writing(tmp_path):
        raise SafetensorError(said)
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path))


@pytest.mark.parametrize("site", ["proof.save_file", "save_pretrained"])
def test_an_export_to_a_full_disk_is_one_sentence_and_leaves_nothing(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = family("bert")
    if site == "proof.save_file":
        monkeypatch.setattr(proof, "save_file", full)
    else:
        monkeypatch.setattr(type(model.model), "save_pretrained", full)
    with pytest.raises(ValueError, match=r"could not write .*No space left on device") as caught:
        export(model, HeadMask(model.grid, frozenset({HeadId("encoder", 0, 0)})), tmp_path / "smaller")
    check_sentence(str(caught.value))
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def begin(path: Path, *_: Any, **__: Any) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", begin)
    assert cli.main(["attention", "looker", "--image", "1", "--html", str(tmp_path / "picture.html")]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert not logging.raiseExceptions, "a log that cannot be written says nothing of it"


def test_an_end_that_cannot_be_written_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_TRIES", 0.0)
    store = Store(tmp_path)
    run = store.submit(Counting("a").as_run(tmp_path))

    def never(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "end", never)
    with pytest.raises(OSError):
        _end(store, run, STOPPED)
    assert len(caplog.records) == 1
