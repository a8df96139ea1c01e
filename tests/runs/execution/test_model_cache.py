"""Which models a worker keeps in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.runs.execution import model_cache
from headscope.runs.execution.model_cache import LARGE, ModelCache
from tests.families import family


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """One model more than large ones stay, in folders of their own."""
    family("bert").model.save_pretrained(tmp_path / "0")
    for number in range(1, LARGE + 1):
        shutil.copytree(tmp_path / "0", tmp_path / str(number))
    return [str(tmp_path / str(number)) for number in range(LARGE + 1)]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was loaded from the disk."""
    names: list[str] = []

    def note(name: str, **rest: object) -> HeadModel:
        del rest
        names.append(name)
        return load(name)

    monkeypatch.setattr("headscope.pruning.fiak.model_folder.load_model", note)
    return names


def use(shelf: ModelCache, names: list[str]) -> None:
    for name in names:
        shelf.get(name)
        shelf.beside(name)["used"] = name


def test_small_models_stay_however_many_are_used_in_turn(folders: list[str], loaded: list[str]) -> None:
    shelf = ModelCache()
    use(shelf, folders * 3)
    assert loaded == folders
    assert shelf.beside(folders[0]) == {"used": folders[0]}


def test_of_large_models_the_last_used_stay(
    folders: list[str], loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_cache, "ROOM", 0)
    shelf = ModelCache()
    use(shelf, folders[:LARGE])
    use(shelf, folders[:1])  # so that the second is the one that was used longest ago
    use(shelf, folders[LARGE:])
    loaded.clear()
    use(shelf, folders[:1])
    assert loaded == []
    assert shelf.beside(folders[1]) == {}, "what lay beside the model went with it"
    use(shelf, folders[1:2])
    assert loaded == folders[1:2]


def test_small_models_stay_only_up_to_a_number(
    folders: list[str], loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_cache, "SMALL", LARGE)
    shelf = ModelCache()
    use(shelf, folders)
    use(shelf, folders[:1])
    assert loaded == [*folders, folders[0]]


def test_a_model_whose_files_changed_is_loaded_anew(folders: list[str], loaded: list[str]) -> None:
    shelf = ModelCache()
    use(shelf, folders[:1])
    config = Path(folders[0]) / "config.json"
    config.write_text(config.read_text() + "\n")
    use(shelf, folders[:1])
    assert loaded == [folders[0]] * 2
