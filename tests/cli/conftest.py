"""What every test of a command shares: a store of its own, and the two ways in which a command ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers.utils import logging as transformers_logging

from headscope.cli.main import main
from tests.families import family
from tests.tasks.tiny import tiny

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs are kept."""
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What the settings of the command line do to libraries that are imported later than here."""
    transformers_logging.disable_progress_bar()
    yield
    transformers_logging.enable_progress_bar()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with three banks and no tokenizer."""
    path = tmp_path_factory.mktemp("marian") / "model"
    family("marian").model.save_pretrained(path)
    return str(path)


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that predicts the next token, of which it reads 64 at once."""
    path, head_model = tmp_path_factory.mktemp("gpt2") / "model", tiny("gpt2")
    head_model.model.float().save_pretrained(path)
    head_model.tokenizer.save_pretrained(path)
    return str(path)


@pytest.fixture
def recorded(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that succeeds and gives what --json prints."""

    def run(*arguments: str) -> Any:
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that succeeds and gives what people read."""

    def run(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on bad input and gives the one sentence that it says."""

    def run(*arguments: str) -> str:
        assert main(list(arguments)) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("headscope: ")
        assert captured.err.count("\n") == 1
        return captured.err

    return run
